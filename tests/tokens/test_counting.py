"""Counts are the references' counts, whatever the text looks like."""

from __future__ import annotations

import base64
import copy
import hashlib
import json
import signal
import sys
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from tests.conftest import SHARED, put, raised
from turnwire import tokens
from turnwire.errors import EncodeError, Reason
from turnwire.tokens import tokenizer as counting

pytestmark = pytest.mark.once
pytest.importorskip("splintr")
HERE = Path(__file__).parent
KEPT = json.loads((HERE / "golden.json").read_text("utf-8"))
GOLDEN = KEPT["cases"]
ALPHABET = [*"abXZ 019'\"|#@\\{}[]:,.\n\r\t<>/", "  ", "\xa0", "\u2028", "é", "e\u0301", "ß", "İ", "ſ", "'ſ", "漢"]
ALPHABET += ["🙂", "\u200d", "\ufeff", "ǅ", "'S", "'LL", "'re", "<|endoftext|>", "<|think|>", "<s>", "[INST]", "\x00"]
HOSTILE = st.lists(st.sampled_from(ALPHABET) | st.characters(exclude_categories=["Cs"]), max_size=30).map("".join)
OPENAI = {
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
}
"""SHA-256 of the .tiktoken files as tiktoken expects them."""


@cache
def rank_file(name: str, size: int) -> bytes:
    """The packed vocabulary in the form in which OpenAI publishes it."""
    native: Any = tokens.load(name)._native
    return b"".join(b"%s %d\n" % (base64.b64encode(native.decode_token_bytes(at)), at) for at in range(size))


@pytest.fixture(scope="module")
def references(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """tiktoken itself, with vocabularies whose digests it checks; no network."""
    tiktoken = pytest.importorskip("tiktoken")
    folder = tmp_path_factory.mktemp("tiktoken")
    for name, size in (("o200k_base", 199998), ("cl100k_base", 100256)):
        address = f"https://openaipublic.blob.core.windows.net/encodings/{name}.tiktoken"
        (folder / hashlib.sha1(address.encode()).hexdigest()).write_bytes(rank_file(name, size))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIKTOKEN_CACHE_DIR", str(folder))
        return {name: tiktoken.get_encoding(name) for name in OPENAI}


@pytest.mark.parametrize("name", list(GOLDEN[0])[1:])
@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: ascii(case["text"])[:30])
def test_golden_ids(case: dict[str, Any], name: str) -> None:
    tokenizer = tokens.load(name)
    assert tokenizer.ids(case["text"]) == case[name]
    assert tokens.count(case["text"], name) == len(case[name])


@pytest.mark.parametrize("name", ["llama3", "qwen3", "gemma3"])
def test_golden_counts(name: str) -> None:
    texts = [case["text"] for case in KEPT["counts"]]
    expected = [case[name] for case in KEPT["counts"]]
    assert [tokens.count(text, name) for text in texts] == expected == tokens.count_many(texts, name)


def test_tags_that_gemma_has_as_one_token() -> None:
    """They are cut out first; what only looks like one, or is a control token, is text."""
    counter = tokens.load("gemma3")
    for tag in ("<b>", "</strong>", "<h1>", "<unused7>", "[multimodal]"):
        assert counter.count(tag) == 1 and counter.count(f"a{tag}b") == 3
    for text in ("<bos>", "<start_of_turn>", "<nonsense>", "<b"):
        assert counter.count(text) > 1
    assert counter.count("<s><nonsense><b>") == 2 + counter.count("<nonsense>")


@pytest.mark.parametrize(("name", "size"), [("o200k_base", 199998), ("cl100k_base", 100256)])
def test_vocabularies_are_those_that_openai_publishes(name: str, size: int) -> None:
    assert hashlib.sha256(rank_file(name, size)).hexdigest() == OPENAI[name]


@pytest.mark.parametrize("name", OPENAI)
@given(text=HOSTILE)
def test_ids_are_tiktokens(references: dict[str, Any], name: str, text: str) -> None:
    assert tokens.load(name).ids(text) == references[name].encode_ordinary(text)


@pytest.mark.parametrize("text", ["\u6f22'\u017f'Sa", "'LL\u6f22'\u017f'ree\u0301", "K'\u017f'SK'\u017f'LL's"])
def test_a_long_s_behind_an_apostrophe(references: dict[str, Any], text: str) -> None:
    """splintr 0.22.0 alone counts these wrongly with o200k's pattern."""
    for name in OPENAI:
        expected = references[name].encode_ordinary(text)
        assert tokens.load(name).ids(text) == expected
        assert tokens.count_many([text, "a"], name) == [len(expected), 1]


@given(text=HOSTILE)
def test_harmony_reads_ordinary_text_as_o200k_does(text: str) -> None:
    assert tokens.load("o200k_harmony").ids(text) == tokens.load("o200k_base").ids(text)


@pytest.mark.parametrize("name", ["o200k_base", "gpt-oss", "qwen3", "gemma3", "gemma2", "mistral_v1", "phi4"])
@SHARED
@given(texts=st.lists(HOSTILE, max_size=8))
def test_many_texts_count_as_each_does(name: str, texts: list[str]) -> None:
    expected = [tokens.count(text, name) for text in texts]
    assert tokens.count_many(texts, name) == expected
    assert tokens.count_many(iter(texts), name, threads=2) == expected


def test_qwen_composes_characters_first() -> None:
    assert tokens.load("qwen3").ids("e\u0301") == tokens.load("qwen3").ids("é")
    assert tokens.count_many(["e\u0301", "\u212a", "é"], "qwen3") == [tokens.count("é", "qwen3"), 1, 1]
    assert tokens.load("cl100k_base").ids("e\u0301") != tokens.load("cl100k_base").ids("é")


def test_texts_of_many_chunks_keep_their_order() -> None:
    texts = ["word " * number for number in range(1500)]
    expected = [tokens.count(text) for text in texts]
    assert tokens.count_many(texts, threads=3) == expected == tokens.count_many(texts)


def test_what_looks_like_a_special_token_is_text(references: dict[str, Any]) -> None:
    for name, reference in references.items():
        special = "<|endoftext|>"
        assert reference.encode(special, allowed_special="all") != reference.encode_ordinary(special)
        assert tokens.count(special, name) == len(reference.encode_ordinary(special)) > 1
        assert tokens.count_many(["a", special, "b"], name) == [1, tokens.count(special, name), 1]


def test_only_text_is_counted() -> None:
    """Of several, which one is wrong is told with its number (test_compare)."""
    with pytest.raises(EncodeError) as caught:
        tokens.count("é\ud800")
    assert (caught.value.reason, caught.value.offset, caught.value.path) == (Reason.LONE_SURROGATE, 2, None)
    for wrong in (b"bytes", None, 3):
        with pytest.raises(EncodeError) as caught:
            tokens.count(wrong)  # type: ignore[arg-type]
        assert caught.value.reason is Reason.WRONG_TYPE
    assert tokens.count_many("abc") == [1]
    with pytest.raises(ValueError, match="threads"):
        tokens.count_many(["a"], threads=0)


def test_a_name_may_have_another() -> None:
    assert tokens.load("gpt-oss") is tokens.load("o200k_harmony")


class _Waiting:
    """A tokenizer of splintr whose calls last until they are let go."""

    def __init__(self, native: Any, begun: Callable[[], None]) -> None:
        self._native, self._begun = native, begun
        self.let_go = threading.Event()

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._native, name)
        if name not in ("encode_ordinary", "encode_batch_flat"):
            return call

        def waiting(text: Any) -> Any:
            if not self.let_go.is_set():
                self._begun()
                assert self.let_go.wait(300)
            return call(text)

        return waiting


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="there are no signals to a thread here")
@pytest.mark.parametrize(("name", "special"), [("o200k_base", ""), ("o200k_base", "<|endoftext|>"), ("gemma3", "")])
def test_a_signal_ends_the_count_of_a_long_text(name: str, special: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def raises(*_: object) -> None:
        raise InterruptedError

    main = threading.get_ident()
    tokenizer = copy.copy(tokens.load(name))
    native = _Waiting(tokenizer._native, lambda: signal.pthread_kill(main, signal.SIGUSR1))
    monkeypatch.setattr(tokenizer, "_native", native)
    before = signal.signal(signal.SIGUSR1, raises)
    monkeypatch.setattr(counting, "LONG", 1000)
    monkeypatch.setattr(counting, "SLOW", 1000)
    text = special + "ab " * 400
    try:
        for count in (tokenizer.count, tokenizer.ids, lambda text: tokenizer.count_many([text])):
            raised(InterruptedError, count, text)
    finally:
        native.let_go.set()
        signal.signal(signal.SIGUSR1, before)
    assert tokenizer.count_many([text, "a"]) == [tokenizer.count(text), 1] == [len(tokenizer.ids(text)), 1]


def test_a_long_text_is_counted_where_no_thread_can_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(thread: threading.Thread) -> None:
        raise RuntimeError("can't create new thread at interpreter shutdown")

    tokenizer = tokens.load("o200k_base")
    text = "ab " * 400
    expected = tokenizer.count(text), tokenizer.ids(text)
    monkeypatch.setattr(counting, "LONG", 1000)
    monkeypatch.setattr(threading.Thread, "start", refused)
    assert (tokenizer.count(text), tokenizer.ids(text)) == expected
    assert tokenizer.count_many([text, "a"]) == [expected[0], 1]


def test_a_signal_while_a_result_is_asked_for_leaves_no_thread_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """As Python leaves the lock of a Condition where a signal comes right behind it."""
    tokenizer = copy.copy(tokens.load("o200k_base"))
    native = _Waiting(tokenizer._native, lambda: None)
    monkeypatch.setattr(tokenizer, "_native", native)
    enter, main, locked = threading.Condition.__enter__, threading.get_ident(), []

    def interrupted(self: threading.Condition) -> bool:
        entered = enter(self)
        if threading.get_ident() == main and sys._getframe(1).f_code.co_name == "result":
            locked.append(self)
            raise InterruptedError
        return entered

    class Lock:
        """One by which the call is let go as soon as somebody waits for it."""

        def __init__(self) -> None:
            self._lock = threading.Lock()
            self.release = self._lock.release

        def acquire(self, timeout: float = -1) -> bool:
            if timeout > 0:
                native.let_go.set()
            return self._lock.acquire(timeout=timeout)

    monkeypatch.setattr(counting, "LONG", 1000)
    monkeypatch.setattr(counting, "Lock", Lock)
    monkeypatch.setattr(threading.Condition, "__enter__", interrupted)
    before = set(threading.enumerate())
    raised(InterruptedError, tokenizer.count, "ab " * 400)
    native.let_go.set()
    begun = set(threading.enumerate()) - before
    for thread in begun:
        thread.join(120)
    left = [thread for thread in begun if thread.is_alive()]
    for condition in locked:
        condition.release()
    assert left == []


WORDS = Path(__file__).read_text("utf-8").split("\n")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """A small byte-level tokenizer.json that Hugging Face's own package made, and that package's tokenizer."""
    reference = pytest.importorskip("tokenizers")
    made = reference.Tokenizer(reference.models.BPE())
    made.pre_tokenizer = reference.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = reference.decoders.ByteLevel()
    alphabet = reference.pre_tokenizers.ByteLevel.alphabet()
    trainer = reference.trainers.BpeTrainer(
        vocab_size=600, special_tokens=["<|endoftext|>", "<s>"], initial_alphabet=alphabet, show_progress=False
    )
    made.train_from_iterator(WORDS, trainer)
    path = tmp_path_factory.mktemp("mine") / "tokenizer.json"
    made.save(str(path))
    made.encode_special_tokens = True
    return path, made


@given(text=HOSTILE)
def test_a_tokenizer_json_counts_as_hugging_face_does(trained: tuple[Path, Any], text: str) -> None:
    path, reference = trained
    mine = tokens.load(path)
    assert mine.ids(text) == reference.encode(text, add_special_tokens=False).ids
    assert mine.count_many([text, "", text]) == [mine.count(text), 0, mine.count(text)]


def test_a_template_around_the_text_is_not_counted(trained: tuple[Path, Any], tmp_path: Path) -> None:
    path, reference = trained
    package = pytest.importorskip("tokenizers")
    changed = package.Tokenizer.from_file(str(path))
    changed.post_processor = package.processors.TemplateProcessing(
        single="<s> $A <|endoftext|>", special_tokens=[("<s>", 1), ("<|endoftext|>", 0)]
    )
    other = tmp_path / "templated.json"
    changed.save(str(other))
    for text in ("", "plain text", "<s>", "a <|endoftext|>"):
        expected = reference.encode(text, add_special_tokens=False).ids
        assert tokens.load(str(other)).ids(text) == expected
        assert tokens.count_many([text, text], other) == [len(expected)] * 2


def test_a_published_rank_file_needs_no_pattern(tmp_path: Path) -> None:
    path = put(tmp_path / "mine.tiktoken", rank_file("cl100k_base", 100256))
    texts = ["Hello, world!", "<|endoftext|> 12345", "\u6f22'\u017f'Sa", ""]
    expected = tokens.count_many(texts, "cl100k_base")
    assert tokens.count_many(texts, path) == expected == [tokens.count(text, str(path)) for text in texts]
    assert tokens.load(path).provenance == "your own file"


def test_another_rank_file_needs_a_pattern(tmp_path: Path) -> None:
    path = tmp_path / "bytes.tiktoken"
    path.write_bytes(b"".join(b"%s %d\n" % (base64.b64encode(bytes([byte])), byte) for byte in range(256)))
    with pytest.raises(ValueError, match="pattern"):
        tokens.load(path)
    with pytest.raises(ValueError, match="no tokenizer"):
        tokens.load("nothing")
    for pattern in ("o200k_base", "cl100k_base", r"\S+|\s+"):
        assert tokens.load(path, pattern=pattern).count("héllo") == 6
    with pytest.raises(ValueError, match="its own pattern"):
        tokens.load("o200k_base", pattern="cl100k_base")


def test_what_is_no_vocabulary_is_refused(tmp_path: Path) -> None:
    for name, data in (("a.json", b"{}"), ("b.json", b"not JSON"), ("c.tiktoken", b"YQ== x\n"), ("d.tiktoken", b"")):
        path = put(tmp_path / name, data)
        with pytest.raises(ValueError, match=r"."):
            tokens.load(path, **({} if name.endswith("json") else {"pattern": "cl100k_base"}))
    with pytest.raises(FileNotFoundError):
        tokens.load(tmp_path / "none.json")
