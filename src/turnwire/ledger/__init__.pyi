from turnwire.ledger.checkpoint import (
    Checkpoint as Checkpoint,
)
from turnwire.ledger.checkpoint import (
    ConsistencyProof as ConsistencyProof,
)
from turnwire.ledger.checkpoint import (
    InclusionProof as InclusionProof,
)
from turnwire.ledger.schema import Entry as Entry
from turnwire.ledger.store import Ledger as Ledger
from turnwire.ledger.tree import Fault as Fault
from turnwire.ledger.verify import Verdict as Verdict
from turnwire.ledger.verify import require as require
from turnwire.ledger.verify import verify_file as verify_file
from turnwire.ledger.writing import Batch as Batch
