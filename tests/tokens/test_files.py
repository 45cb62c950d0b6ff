"""Your own vocabularies: a tokenizer.json of Hugging Face, a .tiktoken file."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from tests.tokens.test_counting import HOSTILE, rank_file
from turnwire import tokens

pytestmark = pytest.mark.once

pytest.importorskip("splintr")
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
    path = tmp_path / "mine.tiktoken"
    path.write_bytes(rank_file("cl100k_base", 100256))
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
    with pytest.raises(ValueError, match="of its own"):
        tokens.load("o200k_base", pattern="cl100k_base")


def test_a_changed_file_is_read_again(trained: tuple[Path, Any], tmp_path: Path) -> None:
    path = tmp_path / "a.tiktoken"
    lines = [b"%s %d\n" % (base64.b64encode(bytes([byte])), byte) for byte in range(256)]
    path.write_bytes(b"".join(lines))
    assert tokens.load(path, pattern="cl100k_base").count("ab") == 2
    path.write_bytes(b"".join(lines) + base64.b64encode(b"ab") + b" 256\n")
    assert tokens.load(path, pattern="cl100k_base").count("ab") == 1


def test_what_is_no_vocabulary_is_refused(tmp_path: Path) -> None:
    for name, data in (("a.json", b"{}"), ("b.json", b"not JSON"), ("c.tiktoken", b"YQ== x\n"), ("d.tiktoken", b"")):
        path = tmp_path / name
        path.write_bytes(data)
        with pytest.raises(ValueError, match=r"."):
            tokens.load(path, **({} if name.endswith("json") else {"pattern": "cl100k_base"}))
    with pytest.raises(FileNotFoundError):
        tokens.load(tmp_path / "none.json")
