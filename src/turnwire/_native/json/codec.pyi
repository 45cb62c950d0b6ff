from turnwire.json._codec_py import Codec as Codec, Rules as Rules, quiet as quiet
