from turnwire.json._codec_py import (
    Codec as Codec,
    Maker as Maker,
    Rules as Rules,
    copied as copied,
    member as member,
    quiet as quiet,
)
