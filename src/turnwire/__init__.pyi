from turnwire import (
    contract as contract,
    csp as csp,
    distributed as distributed,
    errors as errors,
    json as json,
    kick as kick,
    ledger as ledger,
    log as log,
    nslip as nslip,
    polars as polars,
    report as report,
    sap as sap,
    session as session,
    slip as slip,
    sstp as sstp,
    tokens as tokens,
)
from turnwire.contract import LIMITS as LIMITS, Limits as Limits, Wire as Wire
from turnwire.conversion import Context as Context, Converted as Converted, Converter as Converter, convert as convert
from turnwire.errors import (
    ConvertError as ConvertError,
    DecodeError as DecodeError,
    EncodeError as EncodeError,
    Issue as Issue,
    MissingDependency as MissingDependency,
    Reason as Reason,
    RuleError as RuleError,
    UnknownName as UnknownName,
    WireError as WireError,
)
from turnwire.log import Batch as Batch, Scan as Scan, scan as scan
from turnwire.message import Message as Message, dec_hook as dec_hook, enc_hook as enc_hook
from turnwire.read.decoder import Decoder as Decoder
from turnwire.read.extraction import explain as explain, extract as extract
from turnwire.registry import (
    check as check,
    decode as decode,
    detect as detect,
    encode as encode,
    prompt as prompt,
    register as register,
    wires as wires,
)

WIRES: tuple[str, ...]
backend: str
__version__: str
