from turnwire.nslip.base62 import *  # noqa: F403
