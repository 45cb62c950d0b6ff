"""Messages of one wire as messages of another, with nothing lost unnamed and nothing invented."""

from turnwire.conversion.context import Context
from turnwire.conversion.conversation import Converter
from turnwire.conversion.converting import Converted, convert

__all__ = ["Context", "Converted", "Converter", "convert"]
