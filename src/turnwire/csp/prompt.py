# ruff: noqa: E501  (a rule of a text is one line)
"""A short text that teaches an LLM CSP/1, made from the tables that its reader and writer use."""

from __future__ import annotations

from turnwire.csp import spec
from turnwire.showing import listed

_BLOCKS = {
    "PLAN": "PLAN L1\nTEXT fix T1, then T2",
    "TASK": "TASK T1\nREQ fix the parser\nIN src/parser.py\nOUT PATCH\nOWNER CODER\nPRIORITY P1",
    "RESULT": "RESULT T1\nSTATUS OK\nPRODUCED F1\nDATA src/parser.py:10-24",
    "ERROR": "ERROR E1\nAT T1\nCAUSE the file is missing\nNEXT name another file",
    "QUERY": "QUERY Q1\nTEXT which branch",
    "PATCH": "PATCH P1\nBASE C0\n+ DEF PARSER = src/parser.py\n~ DEF OWNER := CODER\n- DEF DRAFT\nAPPLY -> C1",
    "FILE": "FILEOP F1 CREATE\nPATH src/new.py\nCONTENT\n<<<\nprint(1)\n>>>",
    "MEM": "MEM M1\nTEXT the parser is slow",
}


def examples() -> dict[str, str]:
    """A message of each intent; those after the PATCH refer to the state that it creates."""
    found: dict[str, str] = {}
    for intent in spec.INTENTS:
        ends = "CODER\nTO MAIN" if intent in ("RESULT", "ERROR") else "MAIN\nTO CODER"
        ctx = "C1" if "PATCH" in found else "C0"
        found[intent] = f"{spec.MAGIC}\nFROM {ends}\nCTX {ctx}\nINTENT {intent}\n\n{_BLOCKS[intent]}\n"
    return found


def prompt(short: bool = False) -> str:
    """The text that teaches CSP/1, made from the tables of ``spec``; unless ``short`` with a message of each intent."""
    return _rules() + ("" if short else "One of each intent:\n\n" + "\n".join(examples().values()))


def _rules() -> str:
    blocks = "\n".join(_csp_block(intent) for intent in spec.INTENTS if spec.BLOCK_WORD[intent] in spec.FIELDS)
    free = listed(word for word in spec.INTENTS if spec.BLOCK_WORD[word] not in spec.FIELDS and word != "PATCH")
    headers = "\n".join(f"{name} <{name.lower()}>" for name in spec.HEADERS[:-1])
    renamed = listed(f"{intent} has {word}" for intent, word in spec.BLOCK_WORD.items() if intent != word)
    enums = "; ".join(f"{key} is {' or '.join(str(word) for word in words)}" for key, words in spec.ENUMS.items())
    return f"""\
Send every message in CSP/1: the header lines in this order, an empty line, one block, and nothing around them.
{spec.MAGIC}
{headers}
INTENT <{"|".join(spec.INTENTS)}>

<block>
Rules:
- CTX names the state you speak about (C0, C1, ...). FROM and TO are agent ids without spaces.
- The first line of the block is the word of the intent ({renamed}) and an id, such as TASK T1. Then come its lines "KEY value", all of them text, each key once; [KEY] may be left out:
{blocks}
  PATCH P<number>, then BASE C<number>, lines "+ DEF NAME = value", "~ DEF NAME := value", "- DEF NAME", then "APPLY -> C<number>"
  {free} <id>, then any "KEY value" lines
- A KEY and a NAME are capitals, digits and _, a capital first.
- {enums}.
- A value of several lines is written as the KEY alone, then a line {"<" * spec.MIN_HEREDOC}, the lines, and a line \
{">" * spec.MIN_HEREDOC}; use more of both when a line of the value looks like the closing one. CONTENT is always written so.
- Send changes only, never the whole state again; name things by id; no filler, no synonyms, no Markdown.
"""


def _csp_block(intent: str) -> str:
    word = spec.BLOCK_WORD[intent]
    needed = spec.REQUIRED.get(word, {})
    keys = " ".join(key if key in needed else f"[{key}]" for key in spec.FIELDS[word])
    operation = " <" + "|".join(spec.FILE_OPS) + ">" if word == "FILEOP" else ""
    return f"  {word} {spec.ID_LETTER[word]}<number>{operation}, then {keys}"
