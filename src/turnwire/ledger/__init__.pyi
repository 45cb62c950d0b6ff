from turnwire.ledger.checkpoint import (
    Checkpoint as Checkpoint,
    ConsistencyProof as ConsistencyProof,
    InclusionProof as InclusionProof,
)
from turnwire.ledger.connection import Verdict as Verdict, require as require, verify_file as verify_file
from turnwire.ledger.rows import Entry as Entry, Fault as Fault
from turnwire.ledger.store import Ledger as Ledger
