from turnwire import contract as contract
from turnwire import csp as csp
from turnwire import distributed as distributed
from turnwire import duckdb as duckdb
from turnwire import errors as errors
from turnwire import json as json
from turnwire import kick as kick
from turnwire import ledger as ledger
from turnwire import log as log
from turnwire import nslip as nslip
from turnwire import polars as polars
from turnwire import report as report
from turnwire import sap as sap
from turnwire import session as session
from turnwire import slip as slip
from turnwire import sstp as sstp
from turnwire import tokens as tokens
from turnwire.contract import LIMITS as LIMITS
from turnwire.contract import Limits as Limits
from turnwire.contract import Wire as Wire
from turnwire.conversion import Context as Context
from turnwire.conversion import Converted as Converted
from turnwire.conversion import Converter as Converter
from turnwire.conversion import convert as convert
from turnwire.errors import (
    ConvertError as ConvertError,
)
from turnwire.errors import (
    DecodeError as DecodeError,
)
from turnwire.errors import (
    EncodeError as EncodeError,
)
from turnwire.errors import (
    Issue as Issue,
)
from turnwire.errors import (
    MissingDependency as MissingDependency,
)
from turnwire.errors import (
    Reason as Reason,
)
from turnwire.errors import (
    RuleError as RuleError,
)
from turnwire.errors import (
    UnknownName as UnknownName,
)
from turnwire.errors import (
    WireError as WireError,
)
from turnwire.log import Batch as Batch
from turnwire.log import Scan as Scan
from turnwire.log import scan as scan
from turnwire.message import Message as Message
from turnwire.message import dec_hook as dec_hook
from turnwire.message import enc_hook as enc_hook
from turnwire.prompts import prompt as prompt
from turnwire.read.decoder import Decoder as Decoder
from turnwire.read.explaining import explain as explain
from turnwire.read.extraction import extract as extract
from turnwire.registry import (
    check as check,
)
from turnwire.registry import (
    decode as decode,
)
from turnwire.registry import (
    detect as detect,
)
from turnwire.registry import (
    encode as encode,
)
from turnwire.registry import (
    register as register,
)
from turnwire.registry import (
    wires as wires,
)

WIRES: tuple[str, ...]
backend: str
__version__: str
