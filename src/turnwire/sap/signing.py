"""Signatures of tasks and results: Ed25519 over canonical JSON (section 11). Extra: ``sign``.

A signature is a member ``meta.signature`` of a message, ``{"signer", "ed25519"}`` (base64), over the canonical JSON of
the message without that member. Verifying needs the public keys of those one trusts.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from turnwire.errors import Reason, RuleError
from turnwire.json.text import canonical
from turnwire.ledger.checkpoint import is_signature, private_key, require_cryptography
from turnwire.sap.messages import Result, Task
from turnwire.sap.spec import WIRE

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    Key = Ed25519PrivateKey | bytes

require_cryptography()
MEMBER = "signature"
M = TypeVar("M", Task, Result)


def sign(data: bytes, key: Key) -> str:
    """The Ed25519 signature of bytes, in base64. key: a private key, or its 32 raw bytes."""
    return base64.b64encode(private_key(key).sign(data)).decode()


def verify(data: bytes, signature: str, public: bytes) -> bool:
    """True if the signature (in base64) of bytes is that of a public key (32 raw bytes)."""
    try:
        return is_signature(public, base64.b64decode(signature, validate=True), data)
    except ValueError:  # no base64
        return False


def signed_message(message: M, signer: str, key: Key) -> M:
    """A copy of a Task or Result with a signature in its meta. Raises EncodeError without canonical form."""
    made: M = _unsigned(message)
    made.meta = {**(made.meta or {}), MEMBER: {"signer": signer, "ed25519": sign(canonical(made.to_dict()), key)}}
    return made


def verify_message(message: Task | Result, keys: Mapping[str, bytes]) -> str:
    """The name of a message's signer. Raises RuleError(bad_signature) if none, an unknown one or a wrong one signed.

    keys: name -> public key, 32 raw bytes. Who signed is not yet who issued or produced it: compare the names.
    """
    said = (message.meta or {}).get(MEMBER)
    signer = said.get("signer") if isinstance(said, dict) else None
    if not isinstance(said, dict) or not isinstance(signer, str) or signer not in keys:
        raise _bad("the message has no signature" if said is None else "the signer of the message is unknown")
    if not verify(canonical(_unsigned(message).to_dict()), str(said.get("ed25519", "")), keys[signer]):
        raise _bad("the signature does not match the message")
    return signer


def _unsigned(message: Any) -> Any:
    left = {name: value for name, value in (message.meta or {}).items() if name != MEMBER}
    return message.replace(meta=left or None)


def _bad(text: str) -> RuleError:
    return RuleError(Reason.BAD_SIGNATURE, text, rule="signature", wire=WIRE)
