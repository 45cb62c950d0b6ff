"""Finds tokenizers: those that come with splintr-rs, and your own files."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from turnwire.errors import MissingDependency, UnknownName
from turnwire.tokens.tokenizer import Tokenizer
from turnwire.tokens.vocabularies import CAREFUL, PATTERNS, PUBLISHED, VOCABULARIES, YOURS, Vocabulary

_ALIASES = {each.packed: each.name for each in VOCABULARIES.values()}
_SEPARATOR = "<|turnwire-separator|>"


def splintr() -> ModuleType:
    """The package that tokenizes. Raises MissingDependency without the extra ``tokens``."""
    try:
        import splintr as package
    except ImportError as missing:
        raise MissingDependency(
            "counting tokens needs splintr-rs: pip install 'turnwire[tokens]'", name="splintr"
        ) from missing
    module: ModuleType = package
    return module


def tokenizers() -> tuple[str, ...]:
    """Names of the tokenizers that work here without a network. Raises MissingDependency without the extra."""
    splintr()
    return tuple(VOCABULARIES)


def vocabulary(name: str) -> Vocabulary:
    """Who uses a tokenizer, and how far it was checked. Raises UnknownName for a name that there is not."""
    try:
        return VOCABULARIES[_ALIASES.get(name, name)]
    except KeyError:
        text = f"there is no tokenizer {name!r}; those are {', '.join(VOCABULARIES)}, or a file of yours"
        raise UnknownName("tokenizer", name, VOCABULARIES, text) from None


def load(tokenizer: str | os.PathLike[str] | Tokenizer, *, pattern: str | None = None) -> Tokenizer:
    """A tokenizer by its name, or from your own ``tokenizer.json`` (Hugging Face) or ``.tiktoken`` file.

    pattern: what a .tiktoken file is cut with, a name (``o200k_base``, ``cl100k_base``, ``r50k_base``, ``llama3``,
    ``qwen2``, ``kimi``, ``mistral_v3``) or a regular expression: the file does not say. The files that OpenAI publishes
    are known by their digest and need none. Raises UnknownName, ValueError (no pattern, a file that is
    no vocabulary), OSError, and MissingDependency without the extra ``tokens``.
    """
    if isinstance(tokenizer, Tokenizer):
        return tokenizer
    name = os.fspath(tokenizer)
    if isinstance(tokenizer, str) and not name.endswith((".json", ".tiktoken")):
        if pattern is not None:
            raise ValueError(f"{name} has a pattern of its own; pattern= is for .tiktoken files")
        return _packed(vocabulary(name))
    state = os.stat(name)
    return _file(name, pattern, (state.st_ino, state.st_size, state.st_mtime_ns))


@cache
def _packed(wanted: Vocabulary) -> Tokenizer:
    def make() -> Any:
        return splintr().Tokenizer.from_pretrained(wanted.packed)

    return _tokenizer(make, wanted.name, wanted.provenance, wanted.packed in CAREFUL, wanted=wanted)


@cache
def _file(name: str, pattern: str | None, state: tuple[int, ...]) -> Tokenizer:
    """``state`` tells versions of a file apart."""
    data = Path(name).read_bytes()
    package = splintr()
    if name.endswith(".tiktoken"):
        chosen = _pattern(package, data, pattern)
        number = _highest_rank(data, name) + 1
        specials = {_SEPARATOR: number}

        def make() -> Any:
            return package.Tokenizer.from_bytes(data, chosen, specials)

        return _tokenizer(make, name, YOURS, chosen == package.O200K_BASE_PATTERN, specials)
    if pattern is not None:
        raise ValueError("a tokenizer.json has a pattern of its own; pattern= is for .tiktoken files")
    return _tokenizer(lambda: package.from_json_bytes(data), name, YOURS, False)


def _tokenizer(
    make: Callable[[], Any],
    name: str,
    provenance: str,
    careful: bool,
    specials: dict[str, int] | None = None,
    wanted: Vocabulary | None = None,
) -> Tokenizer:
    native = make()
    known = dict(sorted(native.special_tokens().items())) if specials is None else specials

    @cache
    def exact() -> Any:
        return make().pcre2() if careful else native

    composed, symbols = (False, False) if wanted is None else (wanted.composed, wanted.symbols)
    return Tokenizer(native, name, provenance, known, exact, composed, symbols)


def _pattern(package: ModuleType, data: bytes, pattern: str | None) -> str:
    """The regular expression that a rank file is cut with."""
    if pattern is None:
        known = PUBLISHED.get(hashlib.sha256(data).hexdigest())
        if known is None:
            names = ", ".join(PATTERNS)
            raise ValueError(f"a .tiktoken file holds no pattern: load(path, pattern=...), one of {names}, or your own")
        return str(getattr(package, known))
    return str(getattr(package, PATTERNS[pattern])) if pattern in PATTERNS else pattern


def _highest_rank(data: bytes, name: str) -> int:
    try:
        return max(int(line.split()[1]) for line in data.splitlines() if line)
    except (IndexError, ValueError):
        raise ValueError(
            f"{name} is not a .tiktoken file: its lines are the base64 of a token, a space, its rank"
        ) from None
