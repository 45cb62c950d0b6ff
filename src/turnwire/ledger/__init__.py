"""The ledger: an append-only, tamper-evident store in one SQLite file, with proofs (RFC 9162)."""

from turnwire.ledger.checkpoint import Checkpoint, ConsistencyProof, InclusionProof
from turnwire.ledger.tree import Fault
from turnwire.ledger.schema import Entry
from turnwire.ledger.store import Ledger
from turnwire.ledger.verify import Verdict, require, verify_file
from turnwire.ledger.writing import Batch

__all__ = [
    "Batch",
    "Checkpoint",
    "ConsistencyProof",
    "Entry",
    "Fault",
    "InclusionProof",
    "Ledger",
    "Verdict",
    "require",
    "verify_file",
]
