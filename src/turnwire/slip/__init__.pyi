from turnwire.nslip import *  # noqa: F403
from turnwire.nslip import __version__ as __version__, base62 as base62, protocol as protocol
