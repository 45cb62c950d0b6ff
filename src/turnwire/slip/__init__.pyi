from turnwire.nslip import *  # noqa: F403
from turnwire.nslip import __version__ as __version__
from turnwire.nslip import base62 as base62
from turnwire.nslip import protocol as protocol
