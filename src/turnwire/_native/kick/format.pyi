from turnwire.kick._format_py import parse as parse
