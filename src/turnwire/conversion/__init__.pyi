from turnwire.conversion.context import Context as Context
from turnwire.conversion.conversation import Converter as Converter
from turnwire.conversion.converting import Converted as Converted, convert as convert
