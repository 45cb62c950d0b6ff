"""What diffs, patterns of paths, templates, routing laws and stores answer, of many generated ones: kept as sentences
and a digest, as ``tests/test_words.py`` has it.

After a change that is meant, ``python -m tests.csp.test_words_of_rules`` writes tests/data/words/csp-*.txt anew.
"""

from __future__ import annotations

import difflib
import itertools
import random
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

import turnwire
from tests.above import backend  # noqa: F401  (a fixture)
from tests.test_words import FOLDER, summed
from turnwire import csp
from turnwire.csp import diff, laws, lints, paths, states, template
from turnwire.csp.rules import by_subject
from turnwire.errors import Reason
from turnwire.ledger import Ledger

Said = Iterator[str]
Chance = random.Random


def _asked(call: Callable[..., Any], *given: Any, **named: Any) -> str:
    try:
        found = call(*given, **named)
        if isinstance(found, csp.Store):
            found = found.dump(), found.skipped
        return f"gives\t\t{found!r}"
    except turnwire.RuleError as error:
        said = f"raises {error.rule}\t{error.reason}\t{error.path}\t{error}"
        return said.encode("utf-8", "backslashreplace").decode()
    except (TypeError, ValueError) as error:
        return f"raises {type(error).__name__}\t\t\t{error}"


# --- diffs ------------------------------------------------------------------------------------------------------------

LINES = (b"a\n", b"b\n", b"\n", b"c\r\n", b"\r\n", b"+d\n", b"@@\n")
NAMED = (
    b"f.txt",
    b"a/f.txt",
    b"./f.txt",
    b"f.txt.orig",
    b"f.txt~",
    b'"a/f.txt"',
    b'"b/\\146.txt"',
    b"f.txt\t2026",
    b"g",
)
NAMED += (
    b'"\\t\\"\\n\\\\"',
    b'"\\303\\251\\377.txt"',
    b'"\xff"',
    b"\xe9",
    b'"',
    b"b/f.txt.bak",
    b"c/f.txt",
    b'"f.\\txt"',
)
PATHS = ("f.txt", "./f.txt", '\t"\n\\', "é\udcff.txt", "\udcff", "\udce9", "g", "f.\txt")
OTHER = (b"Binary files \xff differ\n", b"new file mode\n", b"index 1..2\n", b"rename from a\n", b"diff --git a b\n")
HEADS = (
    b"@@ -1 +1 @@\n",
    b"@@ -0,0 +1 @@\n",
    b"@@ -1,0 +2 @@ f\n",
    b"@@ -9,2 +1 @@\n",
    b"@@ -1,2 +1,2 @@\n",
    b"@@ x\n",
)
SIGNED = (
    b" a\n",
    b"-a\n",
    b"+b\n",
    b"\n",
    b"\r\n",
    b"\\ No newline at end of file\n",
    b"x\n",
    b" b",
    b"-b\n",
    b" a",
    b"",
)


def _made(before: list[bytes], after: list[bytes], context: int) -> bytes:
    """The diff that Python's difflib writes, with what it leaves out of lines that have no end."""
    found = difflib.diff_bytes(difflib.unified_diff, before, after, b"a/f.txt", b"b/f.txt", n=context, lineterm=b"\n")
    return b"".join(line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n" for line in found)


def _content(chance: Chance) -> list[bytes]:
    lines = [chance.choice(LINES) for _ in range(chance.randrange(9))]
    return [*lines, b"e"] if chance.random() < 0.3 else lines


def diffs() -> Said:
    chance = random.Random("diffs")
    for _ in range(1500):
        content = b"".join(_content(chance))
        header = b"".join(b"--- " + chance.choice(NAMED) + b"\n" for _ in range(chance.randrange(2)))
        if chance.random() < 0.2:
            header += chance.choice(OTHER)
        hunks = b"".join(
            chance.choice(HEADS) + b"".join(chance.choice(SIGNED) for _ in range(chance.randrange(4)))
            for _ in range(chance.randrange(3))
        )
        for recount in (False, True):
            yield _asked(diff.apply_diff, content, header + hunks, chance.choice(PATHS), recount)
            yield _asked(diff.parse_diff, hunks, "f.txt", recount)
    for name, path in itertools.product(NAMED, PATHS):
        yield _asked(diff.apply_diff, b"a\n", b"+++ " + name + b"\n@@ -1 +1 @@\n-a\n+b\n", path)
    yield _asked(diff.apply_diff, b"a\n", b"--- a/e\n+++ b/e\n@@ -1 +1 @@\n-a\n+b\n", "f.txt")


@pytest.mark.parametrize("context", [0, 1, 3])
def test_diffs_that_python_writes_are_applied(context: int) -> None:
    chance = random.Random(context)
    for _ in range(500):
        before, after = _content(chance), _content(chance)
        if before == after:
            continue
        made = _made(before, after, context)
        assert diff.apply_diff(b"".join(before), made, "f.txt") == b"".join(after), made
        hunks = diff.parse_diff(made, "f.txt")
        assert all(hunk.new == sum(sign != b"-" for sign, _ in hunk.lines) for hunk in hunks)
        if b"@@\n" not in (*before, *after):
            assert [hunk.lines for hunk in diff.parse_diff(made, "f.txt", recount=True)] == [one.lines for one in hunks]


# --- paths ------------------------------------------------------------------------------------------------------------

PARTS = (".git", ".GIT", "git~1", "GIT~2", "svn~1", ".svn", "a", "a.b", "A", "*", "?", "**", "CVS", "cvs~1", "_darcs")
PARTS += ("git~x", ".g\u200cit", ".git:x", ".git . ", "．git", "git", "darcs~1", "", "fslcko~1", "x\\.git", "pijul~3")
PATTERNS = ("*", "a", "a/", "/a", "a/*", "a/**", "**/a", "a/**/b", "?", "*.b", ".git", "A", "a/.svn/x", "", "/", "a?b")
PATTERNS += ("[a]", "**", "*/a", "a.b")


def of_paths() -> Said:
    yield from (f"plain\t\t{one!r}\t{paths.plain(one)!r}" for one in PARTS)
    ways = [[one] for one in PARTS] + [list(two) for two in itertools.product(("a", "A", "b", "a.b", ".git"), repeat=2)]
    ways += [["a", "b", "a"], ["a", "x", "y", "b"], ["b", "a", ".svn", "x"], []]
    for pattern, way in itertools.product(PATTERNS, ways):
        for fold in (False, True):
            yield _asked(paths.matches, pattern, way, fold=fold)
    allowed = (None, (), ("a",), ("*",), (".git", "a/b"), ("**", "a/.svn"))
    for allow, deny in itertools.product(allowed, ((), ("A",), ("b", "*.B"), (".svn/x",))):
        rules = paths.Rules(allow, deny)
        yield from (_asked(rules.refused, way) for way in ways)
    for one in ("a", b"a"):
        yield _asked(paths.Rules, one, ())
        yield _asked(paths.Rules, None, one)


# --- templates --------------------------------------------------------------------------------------------------------

ORDERS = (
    "TASK",
    "RESULT",
    "FILEOP",
    "REQ <req>",
    "IN [a,b]",
    "OUT",
    "DATA [file:line]",
    "STATUS",
    "IN x OUT:y",
    "req x",
)
ORDERS += ("TASK REQ:<req> IN:<scope> OUT:<type>", "RESULT{STATUS,DATA[file:line]}", "TASK REQ:", "RESULT{}", "PLAN{A}")
ORDERS += ("QUERY A:b c D:e", "MEM{KEY,", "", "REQ ", "IN ]", "OUT [", "DATA a]", "DATA [a")


def templates() -> Said:
    chance = random.Random("templates")
    for _ in range(2000):
        lines = [chance.choice(ORDERS) for _ in range(chance.randrange(1, 7))]
        short, long = template.compact(lines), template.expand(lines)
        assert template.expand(short) == long, lines
        yield f"template\t{lines}\t{short} {long} {template.compact(long)}\t"


# --- laws and lints ---------------------------------------------------------------------------------------------------

SUBJECTS = (
    "Codebase exploration",
    "tests",
    "the parser",
    "fix/fixing tests",
    "-",
    "an a",
    "reading logs/files",
    "a\nb",
)
ENDS = ("-> B only", "-> C first", "->  B  first", "-> B", "only B", "-> B only please", "-> X_1 only")
ASKED = ("explore codebase now", "testing the parser", "parser", "fix tests", "read files", "logs reading", "", "a the")


def routed() -> Said:
    chance = random.Random("routed")
    for _ in range(400):
        given = {f"L{n}": f"{chance.choice(SUBJECTS)} {chance.choice(ENDS)}" for n in range(chance.randrange(4))}
        found = laws.routing_laws(given)
        yield f"laws\t{found}\t{sorted(laws.first_stems(found))} {sorted(laws.first_stems(given.values()))}\t"
        messages = []
        for number in range(chance.randrange(1, 6)):
            fields = {"REQ": chance.choice(ASKED)}
            if chance.random() < 0.4:
                fields["OWNER"] = chance.choice("BC")
            messages.append(csp.message("A", chance.choice("BCD"), "C0", csp.Task(f"T{number}", fields)))
        document = csp.parse("".join(map(csp.encode, messages)))
        defs = chance.choice((None, {"B": "D"}, {"X_1": "C", "C": "B"}))
        for one in csp.judge_laws(document, given, by_subject, defs):
            yield f"{one.severity}\t{one.reason}\t{one.where}\t{one.text}"
        for one in csp.judge_laws(document, given, lambda _, known: ["L9"] + [law.id for law in known], defs):
            yield f"{one.severity}\t{one.reason}\t{one.where}\t{one.text}"
        yield f"board\t{csp.board(document)}\t{csp.board(messages)}\t"
    for call in (csp.lint, lambda one: csp.board([one]), lambda one: csp.judge_laws(one, {}, by_subject)):
        yield from (_asked(call, one) for one in (7, None))
    yield _asked(laws.routing_laws, "a -> B only")


STATED = """DEF AB = the parser

CSP/1\nFROM A\nTO B\nCTX C0\nINTENT TASK\n\nTASK T1\nREQ x

CSP/1\nFROM B\nTO A\nCTX C0\nINTENT RESULT\n\nRESULT T{0}\nSTATUS OK\nPRODUCED ONE {0}, TWO{0},,X{0}

CSP/1\nFROM A\nTO B\nCTX C{1}\nINTENT PATCH\n\nPATCH P{0}\nBASE C{1}\n+ DEF N{0} = v{0}\nAPPLY -> C{0}

CSP/1\nFROM D{0}\nTO B\nCTX C{0}\nINTENT TASK\n\nTASK T{0}\nREQ x\nIN N{0},N{1},{2}

CSP/1\nFROM A\nTO B\nCTX C{1}\nINTENT FILEOP\n\nFILEOP F{0} CREATE\nPATH {0}.py\nCONTENT\n<<<\n>>>

"""


def forgotten() -> Said:
    """What a context forgets: the oldest tasks first, states from which nothing can come, and what is too much."""
    for room in (None, 1, 2, 5):
        linter = lints.Linter()
        for number in range(1, 20):
            named = "ONE,TWO1,X1,C0" if room is None else "N1"  # of others it is left open which are forgotten
            for record in csp.parse(STATED.format(number, number - 1, named), mode="lenient").records:
                yield from (f"{one.severity}\t{one.reason}\t{one.where}\t{one.text}" for one in linter.feed(record))
                one = linter.context
                if room is None:
                    continue
                one.forget(room)
                left = [len(names) for names in (one.agents, one.produced, one.files, one.local)]
                assert max(left[:3]) <= room and left[3] <= 2 * (room + 1)
                passed = [f"C{at}" for at in range(number + 1) if f"C{at}" in one.passed]
                yield f"state\t{room}\t{list(one.tasks)} {sorted(one.final)} {sorted(one.local)} {left} {passed}\t"


# --- stores -----------------------------------------------------------------------------------------------------------


class Entry(NamedTuple):
    """An entry of a journal."""

    seq: int
    kind: str
    body: bytes


def _patch(chance: Chance, number: int, head: str) -> csp.CspMessage:
    """A patch of one of three names; now and then one that is refused."""
    ops = [csp.Op("+~-"[(at := chance.randrange(3))], chance.choice("PQR"), "" if at == 2 else chance.choice("uv"))]
    if chance.random() < 0.3:
        ops.append(csp.Op("+", chance.choice("RST"), "w"))
    base = head if chance.random() < 0.8 else chance.choice(("C0", "C9"))
    ops = [csp.Op(one.sign, one.name) if one.sign == "-" else one for one in ops]
    return csp.message("A", "B", chance.choice(("C0", head)), csp.Patch(f"P{number}", base, ops, f"C{number}"))


def _of_store(store: csp.Store) -> Said:
    yield f"dump\t{store.dump()!r}\t{store.verify()} {store.skipped}\t"
    for name in ("P", "Q", "R", "L1", "L2"):
        for at in (None, "C0", "C2", "C9"):
            yield _asked(store.explain, name, at=at)
    for number in (1, 2, 3):
        yield _asked(store.inverse, f"P{number}")
        yield _asked(store.inverse, f"P{number}", id="P77", base="C0", apply="C88")
        yield _asked(store.inverse, csp.Patch(f"P{number}", "C0", [csp.Op("~", "Z", "a")], "C1"))
    yield from (_asked(store.inverse, one) for one in (7, csp.message("A", "B", "C0", csp.Task("T1", {"REQ": "x"}))))
    yield _asked(store.at, "C44")


def _of_another() -> list[Entry]:
    """What another store writes to a journal that is its own."""
    written: list[Any] = []
    journal = type("Journal", (), {"append": lambda _, *one: written.append(one)})
    csp.Store({"Z": "z"}, journal=journal()).apply(_patch(random.Random(2), 1, "C0"))
    return [Entry(11 + at, *one) for at, one in enumerate(written)]


def stores() -> Said:
    chance = random.Random("stores")
    for round_ in range(60):
        kept = (chance.choice(({}, {"P": "p"})), chance.choice(({}, {"L1": "a -> B only", "P": "law"})))
        forks = round_ % 3 == 0
        with Ledger(":memory:") as book:
            store, late = (csp.Store(*kept, forks=forks, journal=book) for _ in range(2))
            for number in range(1, chance.randrange(2, 7)):
                writer = chance.choice((store, store, late))
                yield _asked(writer.apply, _patch(chance, number, writer.head))
            yield f"late\t{store.catch_up()}\t{late.catch_up()}\t"
            assert store.dump() == late.dump()
            yield from _of_store(store)
            again = csp.Store.reopen(book)
            assert again.dump() == store.dump() and again.forks == forks and again.skipped == store.skipped
            entries = [Entry(one.seq, one.kind, one.body) for one in book.entries()]
            dumped = store.dump()
        with Ledger(":memory:") as book:
            loaded = csp.Store.load(dumped, journal=book)
            assert csp.Store.reopen(book).forks == forks and loaded.dump() == dumped
            yield _asked(csp.Store.load, csp.Store({"Z": "z"}).dump(), journal=book)
            yield _asked(csp.Store, {"Z": "z"}, journal=book)
        odd = [Entry(8, "csp-init", b"{}"), Entry(9, "csp", b"CSP/1"), Entry(7, "note", b""), entries[0], 7]
        odd.append(Entry(6, "csp-init", entries[0].body.replace(b'"forks":', b'"forks": ')))
        odd += _of_another()
        for one in odd:
            yield _asked(csp.Store.reopen, [*entries, one])
            yield _asked(csp.Store.reopen, [one, *entries])
        for _ in range(10):
            lines = dumped.split(b"\n")
            lines[chance.randrange(len(lines))] = chance.choice((b"", b"{}", b"x", lines[-2], lines[0]))
            bent = b"\n".join(lines)
            yield f"verdict\t\t\t{csp.verify_dump(bent)}"
    yield _asked(csp.Store.load, "text")
    yield _asked(csp.Store.reopen, [])


def test_a_store_reopened_from_a_ledger_of_others_is_refused_by_name() -> None:
    with Ledger(":memory:") as book:
        csp.Store({"A": "a"}, journal=book)
        with pytest.raises(turnwire.RuleError) as caught:
            csp.Store({"B": "b"}, journal=book)
    assert caught.value.reason is Reason.BAD_LEDGER and caught.value.path == "entry 1"


def test_what_a_state_becomes_is_foreseen() -> None:
    """In plain maps, which cost less, as in the state itself."""
    chance = random.Random("later")
    for _ in range(200):
        before = state = states.state_of(
            {chance.choice("ABC"): chance.choice("uvw") for _ in range(chance.randrange(4))}
        )
        later = states.Later(state)
        assert later.added_to(state) is state
        for _ in range(8):
            name, value = chance.choice("ABCD"), chance.choice(("u", "v", "w", "x", ""))
            if chance.random() < 0.3:
                state = state.remove(name)
                later.remove(name)
            else:
                state = state.set(name, value)
                later.set(name, value)
            assert [later.name_of(one) for one in "uvwx"] == [state.names.get(one) for one in "uvwx"]
            made = later.added_to(before)
            assert (dict(made.defs), dict(made.names), made.size) == (dict(state.defs), dict(state.names), state.size)


def test_what_preambles_define_is_the_first_checkpoint() -> None:
    context = lints.Context(None)
    context.learn(csp.messages.Preamble({"A": "x"}))
    context.learn(csp.messages.Preamble({"B": "y"}))
    context.learn(csp.decode("CSP/1\nFROM A\nTO B\nCTX C0\nINTENT TASK\n\nTASK T1\nREQ x\n"))
    context.learn(csp.messages.Preamble({"C": "z"}))
    assert dict(context.at("C0").defs) == {"A": "x", "B": "y"}
    assert dict(context.state.defs) == dict(context.at("C7").defs) == {"A": "x", "B": "y", "C": "z"}


KEPT: dict[str, Callable[[], Said]] = {
    "diffs": diffs,
    "paths": of_paths,
    "templates": templates,
    "laws": routed,
    "forgotten": forgotten,
    "stores": stores,
}


@pytest.mark.parametrize("name", KEPT)
def test_the_words_are_those_that_are_kept(name: str) -> None:
    assert summed(list(KEPT[name]())) == (FOLDER / f"csp-{name}.txt").read_text("utf-8")


if __name__ == "__main__":
    for kind, call in KEPT.items():
        (FOLDER / f"csp-{kind}.txt").write_text(summed(list(call())), "utf-8")
