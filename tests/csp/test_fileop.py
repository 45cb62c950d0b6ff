"""FILEOP on real files: what is done, what is refused, and that a refusal changes nothing; and the diffs it applies."""

from __future__ import annotations

import errno
import os
import random
import re
import shutil
import stat
import subprocess
from collections.abc import Callable
from hashlib import sha256

import pytest

from tests import vectors
from tests.above import backend  # noqa: F401  (a fixture)
from tests.conftest import raised
from turnwire import csp
from turnwire.csp.fileop import FileOp, apply, matches
from turnwire.errors import NotFlushed, RuleError

pytestmark = pytest.mark.once


def op(word, path, content=None, base=None):
    fields = [("PATH", path)]
    if base is not None:
        fields.append(("BASE", base))
    if content is not None:
        fields.append(("CONTENT", content))
    return FileOp("F1", word, fields)


def refused(block, root, **options):
    """Why a dry run refuses it, and the real one, too; neither changes anything, times included."""
    before, told = (snapshot(root), root.stat().st_mtime_ns), set()
    for dry_run in (True, False):
        caught = raised(RuleError, block.apply, root, dry_run=dry_run, **options)
        assert (snapshot(root), root.stat().st_mtime_ns) == before and caught.wire == "csp"
        told.add(str(caught.reason))
    assert len(told) == 1
    return told.pop()


def done(block, root):
    """The plan of what is done, which a dry run says in the same words."""
    before = snapshot(root)
    planned = str(block.apply(root, dry_run=True))
    assert snapshot(root) == before
    plan = block.apply(root)
    assert str(plan).removeprefix("did ") == planned.removeprefix("would ")
    return plan


def snapshot(root):
    return {
        os.path.relpath(os.path.join(folder, name), root): (
            os.path.join(folder, name),
            os.lstat(os.path.join(folder, name)).st_mtime_ns,
        )
        for folder, folders, files in os.walk(root)
        for name in folders + files
    }


def test_create_patch_delete(tmp_path):
    plan = done(op("CREATE", "a/b/c.txt", "one\ntwo\n"), tmp_path)
    file = tmp_path / "a/b/c.txt"
    assert file.read_bytes() == b"one\ntwo\n"
    made = ("CREATE", "a/b/c.txt", None, True, ("a", "a/b"))
    assert (plan.op, str(plan.path), plan.before, plan.done, plan.directories) == made
    file.chmod(0o750)
    base = sha256(b"one\ntwo\n").hexdigest()
    plan = done(op("PATCH", "a/b/c.txt", "@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n", f"sha256:{base}"), tmp_path)
    assert file.read_bytes() == b"one\nTWO\n"
    assert (plan.added, plan.removed) == (1, 1)
    assert file.stat().st_mode & 0o777 == 0o750
    done(op("DELETE", "a/b/c.txt", base=plan.after[:14]), tmp_path)
    assert not file.exists()
    assert file.parent.exists()
    assert [entry.name for entry in file.parent.iterdir()] == []


@pytest.mark.parametrize(
    "path",
    [
        *("../x", "a/../../x", "/etc/passwd", "", "a/", ".", "C:\\x", "\\x", "\\\\host\\x", "..\\x", "a\0b"),
        *("out/x", "out", "loop/x", "./.."),
    ],
)
def test_nothing_leaves_the_root(tmp_path, path):
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "elsewhere").mkdir()
    (root / "out").symlink_to(tmp_path / "elsewhere")
    (root / "loop").symlink_to(root / "loop")
    assert refused(op("CREATE", path, "x\n"), root) in ("unsafe_path", "not_a_file")
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert {entry.name for entry in tmp_path.iterdir()} == {"root", "elsewhere"}


def test_links_that_stay_inside_are_followed(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    op("CREATE", "link/x", "a\n").apply(tmp_path)
    assert (tmp_path / "real/x").read_bytes() == b"a\n"
    for deny in ("link/", "real/"):  # what it is called, and where it leads
        with pytest.raises(RuleError, match="unsafe_path"):
            op("CREATE", "./link/y", "a\n").apply(tmp_path, deny=[deny])
    (tmp_path / "file").symlink_to("real/x")
    op("PATCH", "file", "@@ -1 +1 @@\n-a\n+b\n").apply(tmp_path)
    assert (tmp_path / "file").is_symlink()
    assert (tmp_path / "real/x").read_bytes() == b"b\n"


@vectors.cases("csp_forms", kind="fileop")
def test_what_is_done_to_files(tmp_path, case):
    """A refusal changes nothing, whatever is asked; a diff may be counted again."""
    for name, text in case["files"].items():
        (tmp_path / name).write_bytes(text.encode())
    for name in case.get("directories", ()):
        (tmp_path / name).mkdir()
    block = FileOp("F1", case["op"], [tuple(field) for field in case["fields"]])
    if "error" in case:
        assert refused(block, tmp_path, recount="recount" in case) == case["error"]
    else:
        block.apply(tmp_path, recount="recount" in case)
    found = {path.name: path.read_bytes().decode() for path in tmp_path.iterdir() if path.is_file()}
    assert found == case.get("after", case["files"])


def test_base_may_be_a_prefix_or_resolved_by_the_caller(tmp_path):
    (tmp_path / "f").write_bytes(b"a\n")
    digits = sha256(b"a\n").hexdigest()
    for base in (digits, digits[:7], "sha256:" + digits[:7].upper()):
        assert op("DELETE", "f", base=base).apply(tmp_path, dry_run=True).after is None
    asked = []
    apply(op("DELETE", "f", base="rev9"), tmp_path, resolve=lambda file, base: asked.append((file.name, base)) or True)
    assert asked == [("f", "rev9")]


def _directories_fail(monkeypatch, number):
    """From here on directories are not flushed, with an error of this number; files are."""
    fsync = os.fsync

    def failing(descriptor):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(number, os.strerror(number))
        fsync(descriptor)

    monkeypatch.setattr("turnwire.atomic.os.fsync", failing)


@pytest.mark.skipif(os.name != "posix", reason="directories are flushed on POSIX systems")
@pytest.mark.parametrize(
    ("block", "left"),
    [
        (op("CREATE", "new/a", "x\n"), {"f": "a\n", "new/a": "x\n"}),
        (op("PATCH", "f", "@@ -1 +1 @@\n-a\n+b\n"), {"f": "b\n"}),
        (op("DELETE", "f"), {}),
    ],
)
def test_what_is_done_but_not_flushed_is_told_as_done(tmp_path, monkeypatch, block, left):
    (tmp_path / "f").write_bytes(b"a\n")
    _directories_fail(monkeypatch, errno.EIO)
    with pytest.raises(NotFlushed, match=r"the file was written, but .*Input/output error") as caught:
        block.apply(tmp_path)
    assert (caught.value.errno, caught.value.filename) == (errno.EIO, str(tmp_path / block.get("PATH")))
    assert {str(path.relative_to(tmp_path)): path.read_text() for path in tmp_path.rglob("*") if path.is_file()} == left


@pytest.mark.skipif(os.name != "posix", reason="directories are flushed on POSIX systems")
def test_a_file_system_that_cannot_flush_directories_is_none_that_fails(tmp_path, monkeypatch):
    _directories_fail(monkeypatch, errno.EINVAL)
    assert op("CREATE", "new/a", "x\n").apply(tmp_path).done


def test_a_full_disk_names_the_file(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("turnwire.csp.fileop.os.fsync", full)
    caught = raised(OSError, op("CREATE", "a/b", "x\n").apply, tmp_path)
    assert not isinstance(caught, NotFlushed)
    assert caught.filename == str(tmp_path / "a/b")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_changes_meanwhile_is_left_alone(tmp_path, monkeypatch):
    from turnwire.csp import fileop

    (tmp_path / "f").write_bytes(b"a\n")
    real = fileop._write

    def late(*arguments):
        (tmp_path / "f").write_bytes(b"changed\n")
        real(*arguments)

    monkeypatch.setattr(fileop, "_write", late)
    assert raised(RuleError, op("DELETE", "f").apply, tmp_path).reason == "base_mismatch"
    assert (tmp_path / "f").read_bytes() == b"changed\n"


def variants(seed):
    rng = random.Random(seed)
    old = [
        rng.choice(["a", "b", "", "c\r", "-x", "+y", "@@ -1 +1 @@", "\\ x", "\u00e9"])
        for _ in range(rng.randrange(0, 25))
    ]
    new = [line for line in old if rng.random() > 0.2]
    for _ in range(rng.randrange(4)):
        new.insert(rng.randrange(len(new) + 1), rng.choice(["new", "", "a"]))
    texts = ["\n".join(lines) + rng.choice(["\n", ""]) * bool(lines) for lines in (old, new)]
    return [text.encode() for text in texts]


def test_diffs_of_gnu_diff_apply(tmp_path):
    done = 0
    for seed in range(60):
        old, new = variants(seed)
        (tmp_path / "old").write_bytes(old)
        (tmp_path / "new").write_bytes(new)
        made = subprocess.run(["diff", f"-U{seed % 4}", "--text", "old", "new"], cwd=tmp_path, capture_output=True)
        assert made.returncode in (0, 1), made.stderr
        if old == new:
            continue
        content = re.sub(r"(?m)^(\+\+\+ (?:b/)?)new\b", r"\1old", made.stdout.decode())  # of the file, not of two
        message = csp.decode(
            csp.encode(csp.message("A", "B", "C0", op("PATCH", "old", content, sha256(old).hexdigest())))
        )
        message.block.apply(tmp_path)
        assert (tmp_path / "old").read_bytes() == new, (seed, content)
        done += 1
    assert done > 40


_HEADER = re.compile(r"(?m)^@@ -([0-9]+)(,[0-9]+)? [+]([0-9]+)(,[0-9]+)? @@")


def _moved(old: int, new: int) -> Callable[[str, random.Random], str]:
    def change(diff: str, rng: random.Random) -> str:
        by = rng.choice([-3, -1, 1, 2, 5])
        return _HEADER.sub(
            lambda m: f"@@ -{max(0, int(m[1]) + old * by)}{m[2] or ''} +{max(0, int(m[3]) + new * by)}{m[4] or ''} @@",
            diff,
        )

    return change


def _of_hunks(change: Callable[[list[list[str]], random.Random], None]) -> Callable[[str, random.Random], str]:
    """A change of the hunks (lists of lines), whose headers count their lines again."""

    def whole(diff: str, rng: random.Random) -> str:
        head, *hunks = re.split("(?m)^(?=@@ )", diff)
        several = [hunk.removesuffix("\n").split("\n") for hunk in hunks]
        change(several, rng)
        for hunk in several:
            old, new = (sum(line[:1] not in signs for line in hunk[1:]) for signs in ("+\\", "-\\"))
            hunk[0] = _HEADER.sub(lambda m, old=old, new=new: f"@@ -{m[1]},{old} +{m[3]},{new} @@", hunk[0])  # type: ignore[misc]
        return head + "".join(f"{line}\n" for hunk in several for line in hunk)

    return whole


def _without_tail(hunks: list[list[str]], rng: random.Random) -> None:
    hunk = rng.choice(hunks)
    while hunk[-1][:1] == " " and " " in [line[:1] for line in hunk[1:-1]]:  # git needs an option for hunks without any
        hunk.pop()


def _without_head(hunks: list[list[str]], rng: random.Random) -> None:
    hunk = rng.choice(hunks)
    while hunk[1][:1] == " " and " " in [line[:1] for line in hunk[2:]]:
        del hunk[1]


def _another_line(hunks: list[list[str]], rng: random.Random) -> None:
    hunk = rng.choice(hunks)
    hunk[rng.randrange(1, len(hunk))] += "!"


STRICTER = "some that git applies are refused"
BY_HAND: dict[str, tuple[Callable[[str, random.Random], str], str]] = {
    "as git wrote it": (lambda diff, rng: diff, ""),
    "at other lines": (_moved(1, 1), ""),
    "at other new lines": (_moved(0, 1), ""),
    "without a tail": (_of_hunks(_without_tail), ""),
    "without a head": (_of_hunks(_without_head), ""),
    "in another order": (_of_hunks(lambda hunks, rng: hunks.reverse()), ""),
    "a hunk twice": (_of_hunks(lambda hunks, rng: hunks.append(hunks[0][:])), ""),
    "another line": (_of_hunks(_another_line), ""),
    "empty context": (lambda diff, rng: re.sub("(?m)^ $", "", diff), ""),
    "a mail": (lambda diff, rng: f"From a\nSubject: b\n\n---\n f | 2 +-\n\n{diff}-- \n2.39.5\n\n", ""),
    "blank lines behind it": (lambda diff, rng: f"{diff}\n\n", ""),
    "text behind it": (lambda diff, rng: f"{diff}That is all.\n", ""),
    "text before the hunks": (
        lambda diff, rng: re.sub("(?m)^(\\+\\+\\+ .*)", r"\1\n" + rng.choice(["", "x", " x"]), diff),
        "",
    ),
    "CRLF": (lambda diff, rng: diff.replace("\n", "\r\n"), ""),
    "a short header": (lambda diff, rng: re.sub("(?m)^(diff|index) .*\n", "", diff), ""),
    "names of functions": (lambda diff, rng: re.sub("(?m)^(@@ .* @@).*", r"\1 def f():", diff), ""),
    "times": (lambda diff, rng: re.sub("(?m)^([+-]{3} .*)", r"\1\t2026-01-01 00:00:00 +0000", diff), ""),
    "cut off": (lambda diff, rng: diff[: diff.rstrip("\n").rindex("\n") + 1], ""),
    "two files": (lambda diff, rng: diff + diff.replace("/f", "/g"), ""),
    "other counts": (
        lambda diff, rng: _HEADER.sub(f"@@ -1,{rng.randrange(9)} +1,{rng.randrange(9)} @@", diff),
        STRICTER,
    ),
    "a mode": (lambda diff, rng: diff.replace("index ", "old mode 100644\nnew mode 100755\nindex ", 1), STRICTER),
    "a file that goes": (lambda diff, rng: diff.replace("+++ b/f", "+++ /dev/null"), STRICTER),
}


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
@pytest.mark.parametrize("kind", BY_HAND)
def test_diffs_by_git_and_by_hand_as_git_applies_them(tmp_path, kind):
    """A diff that git refuses is refused; others are applied, with the same result."""
    change, stricter = BY_HAND[kind]
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    (ours.mkdir(), theirs.mkdir())
    environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(tmp_path)}
    git = ["git", "-c", "core.autocrlf=false"]
    outcomes = []
    for seed in range(10):
        old, new = variants(f"{kind} {seed}")
        (tmp_path / "old").write_bytes(old)
        (tmp_path / "new").write_bytes(new)
        command = [*git, "diff", "--no-index", "--text", f"-U{1 + seed % 3}", "old", "new"]
        made = subprocess.run(command, cwd=tmp_path, capture_output=True).stdout.decode()
        if not made:
            continue
        diff = change(re.sub("(?m)(?<= [ab]/)(old|new)\\b", "f", made), random.Random(seed))
        for folder in (ours, theirs):
            (folder / "f").write_bytes(old)
        done = subprocess.run(
            [*git, "apply", "-"], cwd=theirs, input=diff.encode(), env=environment, capture_output=True
        )
        try:
            op("PATCH", "f", diff).apply(ours)
        except RuleError:
            assert stricter or done.returncode, diff
            assert (ours / "f").read_bytes() == old
        else:
            assert done.returncode == 0 and (ours / "f").read_bytes() == (theirs / "f").read_bytes(), diff
        outcomes.append(done.returncode)
    assert len(outcomes) > 5


EXAMPLE = """FILEOP F001 PATCH
PATH src/file.ts
BASE hash123
CONTENT
<<<
@@ -100,3 +100,5 @@
+new_line_here
>>>"""


def test_the_example_of_the_specification_as_printed(tmp_path):
    block = csp.decode(f"CSP/1\nFROM A\nTO B\nCTX C0\nINTENT FILE\n\n{EXAMPLE}\n").block
    file = tmp_path / "src/file.ts"
    file.parent.mkdir()
    lines = [f"line {number}\n" for number in range(1, 151)]
    file.write_text("".join(lines))
    seen = []

    def resolve(path, base):
        seen.append((path, base))
        return base == "hash123"

    assert refused(block, tmp_path) == "base_mismatch"
    assert str(raised(RuleError, block.apply, tmp_path, resolve=resolve).reason) == "bad_diff"
    caught = raised(RuleError, block.apply, tmp_path, recount=True, resolve=lambda path, base: False)
    assert str(caught.reason) == "base_mismatch"
    plan = block.apply(tmp_path, recount=True, resolve=resolve)
    assert (plan.added, plan.removed, seen[-1]) == (1, 0, (file, "hash123"))
    assert file.read_text() == "".join([*lines[:99], "new_line_here\n", *lines[99:]]), "it is line 100 now"


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_a_diff_that_git_refuses_is_refused(tmp_path):
    """By its names, several lines ``diff --git``, names in several places, text between them. Odd headers that git
    takes may be refused; one that makes or deletes a file is no PATCH."""
    rng = random.Random(48)
    pairs = ("a/f b/f", "a/f b/f", "a/g b/g", "a/f b/g", "f f", '"a/f" b/f', "a/d/f b/d/f")
    lines = [f"diff --git {pair}" for pair in pairs]
    lines += ["index 12..34", "index 12..34 100644", "--- a/f", "+++ b/f", "--- a/g", "+++ b/g", "--- f", "+++ f"]
    lines += ["text", "", "similarity text", "new file for f", "diff -u a b", "--- /dev/null", "+++ /dev/null"]
    headers = [rng.choices(lines, k=rng.randrange(1, 7)) + ["--- a/f", "+++ b/f"] * rng.randrange(2) for _ in range(60)]
    headers += [
        [*head, f"--- {old}", f"+++ {new}"]
        for head in ((), ("diff --git a/f b/f",))
        for old in ("a/f", "f", "a/g", "/dev/null")
        for new in ("b/f", "f", "b/f.new", "b/g", "/dev/null", "x/y/f", "b//f ")
    ]
    taken = 0
    for header in headers:
        if not any(line.startswith(("--- ", "+++ ")) for line in header):  # a PATCH may also be of hunks alone
            continue
        hunk = "@@ -1,2 +0,0 @@\n-one\n-two\n" if "+++ /dev/null" in header else "@@ -1,2 +1,2 @@\n one\n-two\n+2\n"
        diff = "\n".join([*header, hunk])
        folders = [tmp_path / "ours", tmp_path / "theirs"]
        for folder in folders:
            folder.mkdir(exist_ok=True)
            (folder / "f").write_text("one\ntwo\n")
        environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(tmp_path)}
        done = subprocess.run(
            ["git", "apply", "-"], cwd=folders[1], input=diff.encode(), env=environment, capture_output=True
        )
        try:
            op("PATCH", "f", diff).apply(folders[0])
        except RuleError:
            assert (folders[0] / "f").read_text() == "one\ntwo\n"
        else:
            taken += 1
            assert done.returncode == 0, (diff, done)
            assert (folders[0] / "f").read_bytes() == (folders[1] / "f").read_bytes(), diff
    assert taken > 8


def test_patterns_of_paths_match_as_they_did() -> None:
    chance = random.Random(3)
    met = 0
    for _ in range(1500):
        parts = ["".join(chance.choices("ab.[]\n", k=chance.randint(1, 4))) for _ in range(chance.randint(1, 4))]
        several = ["".join(chance.choices("ab*?.[]", k=chance.randint(1, 4))) for _ in range(chance.randint(1, 3))]
        several = [chance.choice(("**", one)) for one in several]
        pattern = chance.choice(("", "/")) + "/".join(several) + chance.choice(("", "/"))
        expected = _plainly(pattern).fullmatch("/".join(parts)) is not None
        assert matches(pattern, parts) is expected, (pattern, parts)
        met += expected
    assert met > 400


def _plainly(pattern: str) -> re.Pattern[str]:
    """A pattern as an expression that goes back as often as it can."""
    text = "" if "/" in pattern.rstrip("/") else "(?:.*/)?"
    *front, last = pattern.strip("/").split("/")
    signs = {"*": "[^/]*", "?": "[^/]"}
    for part in front:
        text += "(?:.*/)?" if part == "**" else "".join(signs.get(sign, re.escape(sign)) for sign in part) + "/"
    text += ".+" if last == "**" else "".join(signs.get(sign, re.escape(sign)) for sign in last)
    return re.compile(f"{text}(?:/.*)?", re.DOTALL)


def test_patterns_do_not_go_back_for_each_star() -> None:
    assert not matches("*a*a*a*a*a*a*b", ["a" * 4000])
    assert not matches("**/a/**/a/**/a/**/b", ["a"] * 2000)
    assert matches("**/a/**/a/**/*a*a", [*"a" * 2000, "xaxa"])


def test_a_path_that_no_system_takes_is_refused(tmp_path):
    for path in ("a/" * 9000 + "b", "a" * 20_000):
        with pytest.raises(RuleError, match="too long") as caught:
            FileOp("F1", "CREATE", [("PATH", path), ("CONTENT", "x")]).apply(tmp_path)
        assert caught.value.reason == "unsafe_path"
