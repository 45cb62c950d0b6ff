"""turnwire: read, write, check, count and search agents' messages in five wire formats, at speed."""

from turnwire._backend import NAME as backend
from turnwire.contract import LIMITS, WIRES, Limits
from turnwire.errors import DecodeError, EncodeError, Issue, MissingDependency, Reason, RuleError, WireError

__version__ = "0.1.0"
