"""One tokenizer: counts what a model would be charged for a text, as ordinary text whatever it looks like.

Text that looks like a special token (``<|endoftext|>``, ``<|think|>``) is text: it is counted by its characters, as
``encode_ordinary`` of tiktoken does, since what agents write must not turn into control tokens.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, pairwise
from threading import Lock, Thread, current_thread, main_thread
from typing import Any, TypeVar
from unicodedata import normalize

from turnwire.errors import EncodeError, Reason, expect_number

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

    native: a splintr tokenizer. specials: the special tokens that it recognises in text. careful: creates the same
    tokenizer with slower, more exact regular expressions. composed: whether text is first normalised to NFC. symbols:
    whether some tags are always one token.

    Attributes:
        name: the name that ``count`` accepts, or the path of your file.
        provenance: how its ids were verified, as text.
    """

    def __init__(
        self,
        native: Any,
        name: str,
        provenance: str,
        specials: Iterable[str],
        careful: Callable[[], Any],
        composed: bool = False,
        symbols: bool = False,
    ) -> None:
        if not hasattr(native, "encode_ordinary"):
            raise TypeError(f"a Tokenizer must be created by turnwire.tokens.load, not from {type(native).__name__}")
        self.name = name
        self.provenance = provenance
        self._native = native
        self._careful = careful
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
