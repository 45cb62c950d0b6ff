"""Signatures of tasks and results: Ed25519 over canonical JSON (section 11). Extra: ``sign``.

A signature is a member ``meta.signature`` of a message, ``{"signer", "ed25519"}`` (base64), over the canonical JSON of
the message without that member. Verifying needs the public keys of those one trusts.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from turnwire.errors import MissingDependency, Reason, RuleError
from turnwire.json.canonical import canonical
from turnwire.sap.messages import Result, Task
from turnwire.sap.spec import WIRE

try:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
except ImportError as missing:
    raise MissingDependency(
        "signatures need cryptography: pip install 'turnwire[sign]', or '.[sign]' in a checkout"
    ) from missing

if TYPE_CHECKING:
    Key = Ed25519PrivateKey | bytes

MEMBER = "signature"
M = TypeVar("M", Task, Result)


def sign(data: bytes, key: Key) -> bytes:
    """The Ed25519 signature of bytes. key: a private key, or its 32 raw bytes."""
    private = Ed25519PrivateKey.from_private_bytes(key) if isinstance(key, bytes) else key
    return private.sign(data)


def verify(data: bytes, signature: bytes, public: bytes) -> bool:
    """True if the signature of bytes is that of a public key (32 raw bytes)."""
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, data)
    except (InvalidSignature, ValueError):
        return False
    return True


def signed_message(message: M, signer: str, key: Key) -> M:
    """A copy of a Task or Result with a signature in its meta. Raises EncodeError without canonical form."""
    made = message.replace()
    made.meta = _unsigned(made.meta)
    signature = base64.b64encode(sign(canonical(made.to_dict()), key)).decode()
    made.meta = {**(made.meta or {}), MEMBER: {"signer": signer, "ed25519": signature}}
    return made


def verify_message(message: Task | Result, keys: Mapping[str, bytes]) -> str:
    """The name of whoever signed a message. Raises RuleError(bad_signature): none, of somebody unknown, or not right.

    keys: name -> public key, 32 raw bytes. Who signed is not yet who issued or produced it: compare the names.
    """
    said = (message.meta or {}).get(MEMBER)
    signer = said.get("signer") if isinstance(said, dict) else None
    if not isinstance(said, dict) or not isinstance(signer, str) or signer not in keys:
        raise _bad("the message has no signature" if said is None else "nobody knows who signed the message")
    try:
        signature = base64.b64decode(str(said.get("ed25519", "")), validate=True)
    except ValueError:
        raise _bad("the signature is not base64") from None
    bare = message.replace()
    bare.meta = _unsigned(bare.meta)
    if not verify(canonical(bare.to_dict()), signature, keys[signer]):
        raise _bad("the signature does not fit the message")
    return signer


def _unsigned(meta: dict[str, Any] | None) -> dict[str, Any] | None:
    left = {name: value for name, value in (meta or {}).items() if name != MEMBER}
    return left or None


def _bad(text: str) -> RuleError:
    return RuleError(Reason.BAD_SIGNATURE, text, rule="signature", wire=WIRE)
