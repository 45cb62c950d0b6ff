from turnwire.conversion.context import Context as Context
from turnwire.conversion.converting import Converted as Converted, Converter as Converter, convert as convert
