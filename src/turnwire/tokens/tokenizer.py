"""Tokenizers that work offline: those that splintr-rs brings along, and those in files of your own.

A tokenizer counts what a model would be charged for a text. Text that looks like a special token (``<|endoftext|>``,
``<|think|>``) is text: it is counted by its characters, as ``encode_ordinary`` of tiktoken does, since what agents
write must not turn into control tokens.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache, partial
from itertools import chain, pairwise
from pathlib import Path
from threading import Lock, Thread, current_thread, main_thread
from types import ModuleType
from typing import Any, NamedTuple, TypeVar
from unicodedata import normalize

from turnwire.errors import EncodeError, Reason, UnknownName, expect_number, needs

Ids = TypeVar("Ids")

CHUNK = 1 << 13
"""Characters that are handed over at once: few calls, and so few bytes that splintr starts no threads of its own."""
LONG_S = "\u017f"
"""The only character beyond ASCII that a contraction ('s) matches without regard to case: see CAREFUL."""
_TAGGED = re.compile(r"(</?[a-z0-9]+>|\[multimodal\])")
"""A text that looks like a symbol that a vocabulary has as one token wherever it is."""
LONG = 1 << 20
"""Characters of a text that takes so long to count that somebody may want to end it."""
SLOW = 1 << 17
"""The same where each token is looked for on its own, as SentencePiece does."""
_PAUSE = 0.1
"""Seconds between two looks at the thread that counts it: some systems tell Python of a signal in between alone."""
_KNOWN = 10_000
"""Tags that are remembered."""
_LOOKS = 64
"""Places where a special token may begin that are looked at one by one."""


class Tokenizer:
    """Counts tokens. Created by :func:`turnwire.tokens.load`; thread-safe.

    make: creates a splintr tokenizer. careful: whether some texts need one with slower, more exact regular expressions.
    special: whether it has special tokens, which a file of ranks has not. composed: whether text is first normalised to
    NFC. symbols: whether some tags are always one token.

    Attributes:
        name: the name that ``count`` accepts, or the path of your file.
        provenance: how its ids were verified, as text.
    """

    def __init__(
        self,
        make: Callable[[], Any],
        name: str,
        provenance: str,
        *,
        careful: bool = False,
        special: bool = True,
        composed: bool = False,
        symbols: bool = False,
    ) -> None:
        if not callable(make):
            raise TypeError(f"a Tokenizer must be created by turnwire.tokens.load, not from {type(make).__name__}")
        native = make()
        specials: list[str] = list(native.special_tokens()) if special else []
        self.name = name
        self.provenance = provenance
        self._native = native
        self._careful = cache(lambda: make().pcre2() if careful else native)
        self._composed = composed
        self._specials = frozenset(specials)
        self._symbols: dict[str, list[int] | None] | None = {} if symbols else None
        self._around: list[int] = native.encode_ordinary("")  # what a template puts around any text is not counted
        longest_first = sorted(filter(None, specials), key=len, reverse=True)
        self._special = re.compile("|".join(map(re.escape, longest_first)) or "(?!)").search
        self._begin = beginning(longest_first)
        # SentencePiece promotes more than it lists; a template stands around each text.
        self._in_batches = getattr(native, "family", "BPE") == "BPE" and not self._around

    def __repr__(self) -> str:
        return f"<Tokenizer {self.name}>"

    def ids(self, text: str) -> list[int]:
        """Returns the token ids of a text, without added special tokens. Raises EncodeError(lone_surrogate,
        wrong_type)."""
        text = self._normalized(_checked(text))
        native = self._careful() if LONG_S in text else self._native
        if self._symbols is not None:
            return self._with_symbols(text, self._symbols)
        ids: list[int] = _ended_by_signals(native.encode_ordinary, text, SLOW)
        if not self._around:
            return ids
        pairs = zip(ids, self._around, strict=False)
        lead = next((place for place, (one, other) in enumerate(pairs) if one != other), len(self._around))
        return ids[lead : len(ids) - (len(self._around) - lead)]

    def _with_symbols(self, text: str, known: dict[str, list[int] | None]) -> list[int]:
        """As the reference does: the text is cut at symbols first, each is its token. ``known``: tags tried before."""
        ids: list[int] = []
        held = ""
        for part in _TAGGED.split(text):
            if part and part not in known and _TAGGED.fullmatch(part):
                found: list[int] = self._native.encode(part)
                if len(known) >= _KNOWN:
                    known.clear()
                known[part] = found if len(found) == 1 and part not in self._specials else None
            symbol = known.get(part)
            if symbol is None:
                held += part
                continue
            ids += _ended_by_signals(self._native.encode_ordinary, held, SLOW) if held else []
            ids += symbol
            held = ""
        return ids + (_ended_by_signals(self._native.encode_ordinary, held, SLOW) if held else [])

    def _normalized(self, text: str) -> str:
        return normalize("NFC", text) if self._composed and not text.isascii() else text

    def _promoted(self, text: str) -> bool:
        """True if a special token is in a text. Their common beginning is looked for by its first letter, which is
        faster where that is rare."""
        at = -1
        for _ in range(_LOOKS):
            at = text.find(self._begin[:1], at + 1)
            if at < 0:
                return False
            if text.startswith(self._begin, at):
                break
        return self._special(text, at) is not None

    def count(self, text: str) -> int:
        """Returns the number of tokens of a text. Raises EncodeError(lone_surrogate, wrong_type)."""
        return self._count([text])[0]

    def count_many(self, texts: Iterable[str], threads: int = 1) -> list[int]:
        """Counts the tokens of each text with this number of threads; texts are read as needed.

        Raises EncodeError like ``count`` (``path`` is the number of the text), ValueError for less than one thread.
        """
        expect_number(threads, "threads", 1)
        chunks = _chunks(texts)
        if threads == 1:
            return list(chain.from_iterable(map(self._count_chunk, chunks)))
        with ThreadPoolExecutor(threads) as pool:
            return list(chain.from_iterable(_in_order(pool, self._count_chunk, chunks, 2 * threads)))

    def _count_chunk(self, chunk: tuple[int, list[str]]) -> list[int]:
        first, texts = chunk
        try:
            return self._count(texts)
        except EncodeError:
            for number, text in enumerate(texts, first):
                _checked(text, number)
            raise

    def _count(self, texts: list[str]) -> list[int]:
        """The tokens of some texts, all in one call where none has a special token in it."""
        if self._in_batches:
            try:
                whole = list(map(self._normalized, texts))
                joined = "\n".join(whole)
                if not self._promoted(joined) and LONG_S not in joined:
                    _, ends = _ended_by_signals(self._native.encode_batch_flat, whole, LONG, len(joined))
                    return [end - start for start, end in pairwise(memoryview(ends).cast("Q"))]
            except (TypeError, AttributeError, UnicodeEncodeError):
                pass  # which text that is, and why, ``ids`` says
        return [len(self.ids(text)) for text in texts]


def _ended_by_signals(call: Callable[[Any], Ids], given: Any, long: int, size: int | None = None) -> Ids:
    """The result of a call of splintr with a text, or with texts of ``size`` characters. No signal ends such a call;
    waiting for a thread that makes it, one does. Ctrl-C raises at once, and the thread ends when it is through. Where
    no thread can be had, as in functions of ``atexit`` from Python 3.12 on, the call is made here."""
    if (len(given) if size is None else size) < long or current_thread() is not main_thread():
        return call(given)
    found: Future[Ids] = Future()
    running = Lock()  # a signal while a Future is waited for may leave it locked for the thread, too
    running.acquire()

    def run() -> None:
        try:
            found.set_result(call(given))
        except BaseException as error:
            found.set_exception(error)
        running.release()

    try:
        Thread(target=run).start()
    except RuntimeError:
        return call(given)
    while not running.acquire(timeout=_PAUSE):
        pass
    return found.result()


def beginning(texts: Sequence[str]) -> str:
    """The beginning that all texts have: that of the first and the last of them in order."""
    least, most = min(texts, default=""), max(texts, default="")
    size = next((at for at, letter in enumerate(least) if letter != most[at]), len(least))
    return least[:size]


def _checked(text: str, number: int | None = None) -> str:
    """The text, when it can be counted; ``number`` is its place among others."""
    path = None if number is None else str(number)
    if not isinstance(text, str):
        raise EncodeError(Reason.WRONG_TYPE, f"count expects text, not {type(text).__name__}", path=path)
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            offset = len(text[: error.start].encode())
            raise EncodeError(
                Reason.LONE_SURROGATE, f"U+{ord(text[error.start]):04X} is not a character", offset=offset, path=path
            ) from None
    return text


def _chunks(texts: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
    """The texts in pieces of about CHUNK characters, each with the number of its first text."""
    first, size = 0, 0
    held: list[str] = []
    for number, text in enumerate(texts):
        held.append(text if isinstance(text, str) else _checked(text, number))
        size += len(text) + 1
        if size >= CHUNK:
            yield first, held
            first, size, held = number + 1, 0, []
    if held:
        yield first, held


def _in_order(
    pool: ThreadPoolExecutor,
    count: Callable[[tuple[int, list[str]]], list[int]],
    chunks: Iterator[tuple[int, list[str]]],
    ahead: int,
) -> Iterator[list[int]]:
    """The results of ``pool.map``, but no more than ``ahead`` chunks are held, however many there are."""
    waiting: deque[Future[list[int]]] = deque()
    for chunk in chunks:
        waiting.append(pool.submit(count, chunk))
        if len(waiting) > ahead:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


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
    return Tokenizer(
        lambda: splintr().Tokenizer.from_pretrained(wanted.packed),
        wanted.name,
        wanted.provenance,
        careful=wanted.packed in CAREFUL,
        composed=wanted.composed,
        symbols=wanted.symbols,
    )


@cache
def _file(name: str, pattern: str | None, state: tuple[int, ...]) -> Tokenizer:
    """``state`` tells versions of a file apart."""
    data = Path(name).read_bytes()
    package = splintr()
    if name.endswith(".tiktoken"):
        chosen = _pattern(package, data, pattern)
        _expect_ranks(data, name)
        careful = chosen == package.O200K_BASE_PATTERN
        of_ranks = partial(package.Tokenizer.from_bytes, data, chosen, {})
        return Tokenizer(of_ranks, name, YOURS, careful=careful, special=False)
    if pattern is not None:
        raise ValueError("a tokenizer.json has its own pattern; pattern= is only for .tiktoken files")
    return Tokenizer(partial(package.from_json_bytes, data), name, YOURS)


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
