from turnwire.nslip.protocol import *  # noqa: F403
