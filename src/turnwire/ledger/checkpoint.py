"""Checkpoints (heads kept outside the ledger), their Ed25519 signatures, and the two kinds of proof."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from turnwire.errors import Reason, RuleError, expect, needs
from turnwire.json.text import canonical
from turnwire.ledger.rows import root_from_inclusion, roots_from_consistency

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

_SIGNED_AS = b"turnwire checkpoint 1\n"  # what is signed starts with this, so the key signs nothing else by accident
_WITNESSED_AS = b"turnwire witness 1\n"


class _CheckpointText(msgspec.Struct, forbid_unknown_fields=True):
    """The fields of a checkpoint as it is written."""

    ledger: str
    size: int
    root: str
    chain: str
    time: str
    key: str = ""
    signature: str = ""
    witnesses: tuple[tuple[str, str], ...] = ()


class Checkpoint(NamedTuple):
    """The state of a ledger at one moment. Keep it elsewhere: only a saved head reveals that the ledger was truncated.

    ledger: id of the ledger (hex). size: entries. root: RFC 9162 tree head over them (hex). chain: last link of the
    hash chain (hex). time: UTC, ``YYYY-MM-DDTHH:MM:SSZ``. key, signature: Ed25519 (hex), or None.
    witnesses: (key, signature) of each countersigner, in hex.
    """

    ledger: str
    size: int
    root: str
    chain: str
    time: str
    key: str | None = None
    signature: str | None = None
    witnesses: tuple[tuple[str, str], ...] = ()

    def to_json(self) -> str:
        """One line of canonical JSON."""
        return canonical({name: value for name, value in self._asdict().items() if value not in (None, ())}).decode()

    @classmethod
    def from_json(cls, text: str | bytes) -> Checkpoint:
        """Reads the checkpoint that :meth:`to_json` wrote. Raises RuleError(bad_checkpoint)."""
        try:
            found = msgspec.json.decode(text, type=_CheckpointText)
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:  # a lone surrogate has no bytes
            raise _bad_checkpoint(str(error)) from None
        key, signature = found.key or None, found.signature or None
        return cls(found.ledger, found.size, found.root, found.chain, found.time, key, signature, found.witnesses)

    def signed(self, key: Ed25519PrivateKey | bytes) -> Checkpoint:
        """Returns this checkpoint with a signature. ``key``: an Ed25519 private key, or its 32 raw bytes. Extra:
        ``sign``."""
        private = private_key(key)
        named = self._replace(key=private.public_key().public_bytes_raw().hex())
        return named._replace(signature=private.sign(named._bytes(_SIGNED_AS)).hex())

    def countersigned(
        self, key: Ed25519PrivateKey | bytes, *, after: Checkpoint | None = None, proof: ConsistencyProof | None = None
    ) -> Checkpoint:
        """Returns this checkpoint with the signature of a witness.

        ``after``: the last head of this ledger that the witness countersigned, None for its first; ``proof``: the proof
        that this one continues it. Thus a witness guarantees a single history. Raises RuleError(bad_checkpoint) if the
        proof fails.
        """
        if after is not None and not self._continues(after, proof):
            raise _bad_checkpoint("this does not continue the checkpoint that was countersigned last")
        private = private_key(key)
        public = private.public_key().public_bytes_raw().hex()
        others = tuple(pair for pair in self.witnesses if pair[0] != public)
        return self._replace(witnesses=(*others, (public, private.sign(self._bytes(_WITNESSED_AS)).hex())))

    def _continues(self, after: Checkpoint, proof: ConsistencyProof | None) -> bool:
        if after.ledger != self.ledger or after.size > self.size:
            return False
        if after.size == self.size:
            return (after.root, after.chain) == (self.root, self.chain)
        return proof is not None and (proof.old, proof.new) == (after.size, self.size) and proof.holds(after, self)

    def witnessed_by(self, keys: Iterable[Ed25519PublicKey | bytes | str]) -> int:
        """Returns how many of these keys countersigned it."""
        trusted, text = {public_key(key).public_bytes_raw().hex() for key in keys}, self._bytes(_WITNESSED_AS)
        return len({key for key, signature in self.witnesses if key in trusted and _good(key, signature, text)})

    def signed_by(self, key: Ed25519PublicKey | bytes | str) -> bool:
        """True if the signature is valid and made with ``key`` (a public key, its 32 bytes, or their hex)."""
        if self.signature is None or self.key is None:
            return False
        public = public_key(key).public_bytes_raw().hex()
        return public == self.key and _good(public, self.signature, self._bytes(_SIGNED_AS))

    def _bytes(self, purpose: bytes) -> bytes:
        """The bytes that are signed for this purpose."""
        return purpose + self._replace(signature=None, witnesses=()).to_json().encode()


def _good(key: str, signature: str, text: bytes) -> bool:
    """True if a signature (hex) of a text is one of a public key (hex)."""
    try:
        return is_signature(key, bytes.fromhex(signature), text)
    except ValueError:  # no hex
        return False


def is_signature(key: Ed25519PublicKey | bytes | str, signature: bytes, text: bytes) -> bool:
    """True if a signature of a text is one of a public key. Raises ValueError for what is no key."""
    public = public_key(key)  # which says what to install
    from cryptography.exceptions import InvalidSignature

    try:
        public.verify(signature, text)
    except InvalidSignature:
        return False
    return True


def _bad_checkpoint(text: str) -> RuleError:
    return RuleError(Reason.BAD_CHECKPOINT, text, rule="checkpoint")


def require_cryptography() -> Any:
    """The module of Ed25519. Raises MissingDependency without the extra ``sign``."""
    with needs("sign", "signatures need the package cryptography"):
        from cryptography.hazmat.primitives.asymmetric import ed25519
    return ed25519


def private_key(key: Ed25519PrivateKey | bytes) -> Ed25519PrivateKey:
    """An Ed25519 private key from itself or from its 32 raw bytes."""
    ed25519 = require_cryptography()
    made: Ed25519PrivateKey = ed25519.Ed25519PrivateKey.from_private_bytes(key) if isinstance(key, bytes) else key
    return made


def public_key(key: Ed25519PublicKey | bytes | str) -> Ed25519PublicKey:
    """An Ed25519 public key from itself, its 32 raw bytes, or their hex digits."""
    ed25519 = require_cryptography()
    raw = bytes.fromhex(key) if isinstance(key, str) else key
    made: Ed25519PublicKey = ed25519.Ed25519PublicKey.from_public_bytes(raw) if isinstance(raw, bytes) else raw
    return made


class InclusionProof(NamedTuple):
    """Proof that entry ``seq`` (1-based) is in the ledger of ``size`` entries. leaf, root, path: 32-byte hashes."""

    seq: int
    size: int
    leaf: bytes
    path: tuple[bytes, ...]
    root: bytes

    def holds(self, head: Checkpoint | None = None, *, leaf: bytes | None = None) -> bool:
        """True if the proof is valid; with ``head``, also for that checkpoint; with ``leaf``, also for that entry."""
        found = root_from_inclusion(self.leaf, self.seq - 1, self.size, self.path)
        if found is None or found != self.root or (leaf is not None and leaf != self.leaf):
            return False
        return head is None or (head.size == self.size and head.root == self.root.hex())

    def to_dict(self) -> dict[str, Any]:
        """Returns the proof as JSON values, with hashes in hex."""
        return _in_hex(self._asdict())

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> InclusionProof:
        """Restores the proof from the result of :meth:`to_dict`. Raises ValueError if a field is missing or is not
        hex."""
        return cls(**_from_hex(fields, cls._fields))


class ConsistencyProof(NamedTuple):
    """Proof that the ledger of ``new`` entries continues that of ``old`` entries. path and roots: 32-byte hashes."""

    old: int
    new: int
    path: tuple[bytes, ...]
    old_root: bytes
    new_root: bytes

    def holds(self, old: Checkpoint | None = None, new: Checkpoint | None = None) -> bool:
        """True if the proof leads to both roots and, if checkpoints are given, these are theirs."""
        found = roots_from_consistency(self.old, self.new, self.old_root, self.path)
        if found is None or found[0] != self.old_root or found[1] not in (b"", self.new_root):
            return False
        return all(
            head is None or (head.size == size and head.root == top.hex())
            for head, size, top in ((old, self.old, self.old_root), (new, self.new, self.new_root))
        )

    def to_dict(self) -> dict[str, Any]:
        """Returns the proof as JSON values, with hashes in hex."""
        return _in_hex(self._asdict())

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> ConsistencyProof:
        """Restores the proof from the result of :meth:`to_dict`. Raises ValueError if a field is missing or is not
        hex."""
        return cls(**_from_hex(fields, cls._fields))


_NUMBERS = ("seq", "size", "old", "new")


def _in_hex(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields of a proof as JSON values."""
    values = {name: value.hex() if isinstance(value, bytes) else value for name, value in fields.items()}
    return {**values, "path": [step.hex() for step in fields["path"]]}


def _from_hex(fields: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """The fields of a proof of these names. Raises ValueError if one is missing or is not hex."""
    expect(fields, Mapping, "the fields of a proof must be a mapping")
    if not set(names) <= fields.keys():
        raise ValueError(f"a proof has the fields {', '.join(names)}")
    hashes = {name: bytes.fromhex(fields[name]) for name in names if name not in (*_NUMBERS, "path")}
    numbers = {name: fields[name] for name in names if name in _NUMBERS}
    return {**numbers, **hashes, "path": tuple(bytes.fromhex(step) for step in fields["path"])}
