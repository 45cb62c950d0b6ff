"""L9 of ioc-protocols-models: what became of SSTP."""

from turnwire.formats.parts import PartRule
from turnwire.formats.table import Format, Item, Layout, Loose, Words

_KINDS = ("intent", "exchange", "contingency", "commit", "knowledge")

TABLE = Format(
    "l9",
    "L9 messages of ioc-protocols-models",
    (
        Layout(
            signs={"header/protocol": ("SSTP", "sstp", "L9", "l9"), "header/kind": (), "header/message": ()},
            kind="message",
            kinds=(Words("header/kind", {kind: kind for kind in _KINDS}),),
            columns={
                "id": "header/message/id",
                "conversation": "header/message/episode",
                "sender": Loose("header/participants/actors/[role=sender:id]"),
                "receiver": Loose("header/participants/actors/[role=receiver:id]"),
                "parent": (Loose("header/message/parents"), Item("header/message/parents")),
                "subject": Loose("header/context/topic"),
                "stop_reason": Loose("header/subkind"),
                "time": Loose("header/attributes/msg_created"),
                "text": Loose("payload/*/content"),
            },
            needs={"header/message": ("object",), "header/message/id": ("string",)},
            marks=(2, ("subprotocol", "subkind", "epistemic")),
            nested="protocol",
        ),
    ),
    copy_of=("id",),
    keys=("header/message/id",),
    parts=(
        PartRule("payload/*", "text", text="content", name="type"),
        PartRule("payload/*", "data"),
        PartRule("payload", "data", name="payload", unless="payload/*"),
    ),
)
DESCRIPTOR = TABLE.descriptor()
