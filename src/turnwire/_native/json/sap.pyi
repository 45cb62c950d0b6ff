from typing import Any

from typing_extensions import disjoint_base

from turnwire.sap.spec import VERSION as VERSION
from turnwire.sap.spec import Field as Field
from turnwire.sap.spec import Table

@disjoint_base
class Plan:
    def __init__(self, table: Table) -> None: ...

def sound(fields: Any, plan: Plan, /) -> bool: ...
def quiet(value: Any, /) -> bool: ...
def clean_task(fields: Any, plan: Plan, /) -> bool: ...
