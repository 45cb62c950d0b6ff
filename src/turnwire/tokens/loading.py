"""Tokenizers that work offline: those that splintr-rs brings along, and those in files of your own."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from turnwire.errors import UnknownName, needs
from turnwire.tokens.tokenizer import Tokenizer

DEFAULT = "o200k_base"
CHECKED = "vocabulary and ids equal the reference's"
PACKAGED = "as splintr-rs packages it; not verified against the reference"
NEARLY = "ids equal the reference's, except for U+2581 next to a space"
YOURS = "your own file"


class Vocabulary(NamedTuple):
    """A tokenizer that comes with splintr-rs.

    name: the name that ``count`` accepts. packed: splintr's name for it. models: the models that use it. provenance:
        how its ids were verified.
    composed: whether its reference first normalises text to NFC; splintr's packed vocabulary does not. symbols: whether
    it has symbols in angle brackets (HTML tags) that are always one token; splintr's ``encode_ordinary`` treats them as
    text, its ``encode`` does not.
    """

    name: str
    packed: str
    models: str
    provenance: str
    composed: bool = False
    symbols: bool = False


VOCABULARIES: dict[str, Vocabulary] = {
    each.name: each
    for each in (
        Vocabulary("o200k_base", "o200k_base", "GPT-4o and later", CHECKED),
        Vocabulary("o200k_harmony", "gpt-oss", "gpt-oss", CHECKED),
        Vocabulary("cl100k_base", "cl100k_base", "GPT-4, GPT-3.5 Turbo", CHECKED),
        Vocabulary("llama3", "llama3", "Llama 3 to 3.3", CHECKED),
        Vocabulary("qwen3", "qwen3", "Qwen 2, Qwen 3", CHECKED, composed=True),
        Vocabulary("deepseek_v3", "deepseek_v3", "DeepSeek V3, R1", CHECKED),
        Vocabulary("gemma3", "gemma3", "Gemma 3", NEARLY, symbols=True),
        Vocabulary("gemma4", "gemma4", "Gemma 4", PACKAGED),
        Vocabulary("gemma2", "gemma2", "Gemma 2", PACKAGED),
        Vocabulary("mistral_v3", "mistral_v3", "Mistral NeMo, Large 2, Pixtral (Tekken)", CHECKED),
        Vocabulary("mistral_v2", "mistral_v2", "Mistral 7B v0.3, Codestral", CHECKED),
        Vocabulary("mistral_v1", "mistral_v1", "Mistral 7B v0.1 and v0.2", CHECKED),
        Vocabulary("glm4", "glm4", "GLM-4, GLM-4.5", PACKAGED),
        Vocabulary("kimi_k2", "kimi_k2", "Kimi K2", PACKAGED),
        Vocabulary("kimi_k3", "kimi_k3", "Kimi K3", PACKAGED),
        Vocabulary("phi4", "phi4", "Phi-4", PACKAGED),
        Vocabulary("olmo2", "olmo2", "OLMo 2", PACKAGED),
        Vocabulary("llama2", "llama2", "Llama 2", PACKAGED),
        Vocabulary("codellama", "codellama", "Code Llama", PACKAGED),
    )
}
"""The names that work offline. None is a reconstruction of a vocabulary that its maker keeps to itself."""

PUBLISHED: dict[str, str] = {
    "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d": "O200K_BASE_PATTERN",
    "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7": "CL100K_BASE_PATTERN",
    "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069": "GPT2_PATTERN",
    "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930": "GPT2_PATTERN",
}
"""SHA-256 of a published .tiktoken file -> splintr's name of the pattern that it is to be cut with: a rank file holds
no pattern of its own."""

PATTERNS: dict[str, str] = {
    "o200k_base": "O200K_BASE_PATTERN",
    "cl100k_base": "CL100K_BASE_PATTERN",
    "r50k_base": "GPT2_PATTERN",
    "p50k_base": "GPT2_PATTERN",
    "llama3": "LLAMA3_PATTERN",
    "qwen2": "QWEN2_PATTERN",
    "kimi": "KIMI_PATTERN",
    "mistral_v3": "MISTRAL_V3_PATTERN",
}
"""Patterns of a .tiktoken file by the name that ``load(path, pattern=)`` takes."""

CAREFUL = frozenset({"o200k_base", "gpt-oss"})
"""Packed vocabularies whose pattern takes a contraction into the word before it. On a long s after an apostrophe
splintr's own regular expressions (0.22.0) then go on at the wrong place; PCRE2, in the same wheel, does as tiktoken."""

MODELS: dict[str, str] = {
    **dict.fromkeys(("gpt-4o", "chatgpt-4o", "gpt-4.1", "gpt-4.5", "gpt-5", "o1", "o3", "o4"), "o200k_base"),
    **dict.fromkeys(("gpt-4", "gpt-3.5", "text-embedding"), "cl100k_base"),
    **dict.fromkeys(("llama-3", "meta-llama-3"), "llama3"),
    **{"gpt-oss": "o200k_harmony", "llama-2": "llama2", "deepseek": "deepseek_v3", "gemma-3": "gemma3"},
    **{"gemma-2": "gemma2", "qwen2": "qwen3", "qwen-2": "qwen3", "qwen-3": "qwen3", "phi-4": "phi4", "kimi": "kimi_k2"},
}
"""How the names of models begin -> their tokenizer, for who names the model instead."""

_ALIASES = {each.packed: each.name for each in VOCABULARIES.values()}


def splintr() -> ModuleType:
    """The package that tokenizes. Raises MissingDependency without the extra ``tokens``."""
    with needs("tokens", "counting tokens needs splintr-rs"):
        import splintr as package
    module: ModuleType = package
    return module


def tokenizers() -> tuple[str, ...]:
    """Returns the names of the tokenizers that work offline. Raises MissingDependency without the extra."""
    splintr()
    return tuple(VOCABULARIES)


def vocabulary(name: str) -> Vocabulary:
    """Returns a tokenizer's entry: the models that use it, and how it was verified. Raises UnknownName for an unknown
    name."""
    try:
        return VOCABULARIES[_ALIASES.get(name, name)]
    except KeyError:
        model = str(name).rpartition("/")[2].lower()  # "openai/gpt-4o"
        begins = max((known for known in MODELS if model.startswith(known)), key=len, default=None)
        if begins is not None:
            found = MODELS[begins]
            text = f"there is no tokenizer {name!r}; the tokenizer of that model is {found!r}"
            raise UnknownName("tokenizer", name, [found], text) from None
        text = f"there is no tokenizer {name!r}; the tokenizers are {', '.join(VOCABULARIES)}, or your own file"
        raise UnknownName("tokenizer", name, VOCABULARIES, text) from None


def load(tokenizer: str | os.PathLike[str] | Tokenizer, *, pattern: str | None = None) -> Tokenizer:
    """Loads a tokenizer by name, or from your own ``tokenizer.json`` (Hugging Face) or ``.tiktoken`` file.

    pattern: splits text for a .tiktoken file, which does not contain it: a name (``o200k_base``, ``cl100k_base``,
    ``r50k_base``, ``llama3``, ``qwen2``, ``kimi``, ``mistral_v3``) or a regular expression. The files that OpenAI
    publishes are recognised by their digest and need no pattern. Raises UnknownName, ValueError (no pattern, a file
    that is not a vocabulary), OSError, and MissingDependency without the extra ``tokens``.
    """
    if isinstance(tokenizer, Tokenizer):
        return tokenizer
    name = os.fspath(tokenizer)
    if isinstance(tokenizer, str) and not name.endswith((".json", ".tiktoken")):
        if pattern is not None:
            raise ValueError(f"{name} has its own pattern; pattern= is only for .tiktoken files")
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
        _expect_ranks(data, name)
        careful = chosen == package.O200K_BASE_PATTERN
        return _tokenizer(lambda: package.Tokenizer.from_bytes(data, chosen, {}), name, YOURS, careful, special=False)
    if pattern is not None:
        raise ValueError("a tokenizer.json has its own pattern; pattern= is only for .tiktoken files")
    return _tokenizer(lambda: package.from_json_bytes(data), name, YOURS, False)


def _tokenizer(
    make: Callable[[], Any],
    name: str,
    provenance: str,
    careful: bool,
    wanted: Vocabulary | None = None,
    special: bool = True,
) -> Tokenizer:
    """special: whether there are special tokens, which a file of ranks has not."""
    native = make()

    @cache
    def exact() -> Any:
        return make().pcre2() if careful else native

    composed, symbols = (False, False) if wanted is None else (wanted.composed, wanted.symbols)
    return Tokenizer(native, name, provenance, native.special_tokens() if special else (), exact, composed, symbols)


def _pattern(package: ModuleType, data: bytes, pattern: str | None) -> str:
    """The regular expression that a rank file is cut with."""
    if pattern is None:
        known = PUBLISHED.get(hashlib.sha256(data).hexdigest())
        if known is None:
            names = ", ".join(PATTERNS)
            raise ValueError(f"a .tiktoken file has no pattern: load(path, pattern=...), one of {names}, or your own")
        return str(getattr(package, known))
    return str(getattr(package, PATTERNS[pattern])) if pattern in PATTERNS else pattern


def _expect_ranks(data: bytes, name: str) -> None:
    try:
        max(int(line.split()[1]) for line in data.splitlines() if line)  # none: ValueError
    except (IndexError, ValueError):
        raise ValueError(
            f"{name} is not a .tiktoken file: each line must be a token in base64, a space and its rank"
        ) from None


def count(text: str, tokenizer: str | os.PathLike[str] | Tokenizer = DEFAULT) -> int:
    """Counts the tokens of a text; special tokens count as ordinary text.

    tokenizer: a name from ``tokenizers()``, the path of your own vocabulary, or a result of ``load``. Raises
    EncodeError(lone_surrogate, wrong_type), the errors of ``load``, and MissingDependency without the extra ``tokens``.
    """
    return load(tokenizer).count(text)


def count_many(
    texts: Iterable[str], tokenizer: str | os.PathLike[str] | Tokenizer = DEFAULT, threads: int = 1
) -> list[int]:
    """Counts the tokens of each text, in order; many times faster than calling ``count``, with the same errors.

    threads: the number of threads that count, without Python's global lock. An EncodeError's ``path`` is the number of
    the text.
    """
    if isinstance(texts, str):
        texts = [texts]
    return load(tokenizer).count_many(texts, threads)
