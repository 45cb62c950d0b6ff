"""The tokenizers that work offline: whose they are, and how far each was checked against its reference."""

from __future__ import annotations

from typing import NamedTuple

SPLINTR = "0.22.0"
"""The version of splintr-rs that the golden ids of the tests were made with (pyproject.toml pins it)."""

CHECKED = "vocabulary and ids equal the reference's"
PACKAGED = "as splintr-rs packs it, not checked against its reference here"
NEARLY = "ids equal the reference's, but for U+2581 beside a space"
YOURS = "your own file"


class Vocabulary(NamedTuple):
    """A tokenizer that comes with splintr-rs.

    name: as ``count`` takes it. packed: splintr's name of it. models: who uses it. provenance: how sure its ids are.
    composed: whether its reference composes characters first (Unicode form NFC); splintr's packed vocabulary does not.
    symbols: whether it has symbols in angle brackets (tags of HTML) that are one token wherever they are; splintr's
    ``encode_ordinary`` takes them for text, its ``encode`` does not.
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
