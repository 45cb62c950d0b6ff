"""FILEOP among others: one of several wins, nothing is left, what is protected stays so."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.above import backend  # noqa: F401  (a fixture)
from tests.conftest import put, raised
from tests.csp.test_fileop import op
from turnwire.atomic import PREFIX, create, temporary_name
from turnwire.csp import fileop
from turnwire.errors import Reason, RuleError

WRITER = """
import sys
from turnwire import csp
from turnwire.csp.fileop import digest
from turnwire.errors import RuleError
root, name, base = sys.argv[1:]
sys.stdin.readline()
diff = f"@@ -1 +1,2 @@\\n first\\n+{name}\\n"
try:
    csp.FileOp("F1", "PATCH", {"PATH": "a.txt", "BASE": base, "CONTENT": diff}).apply(root)
    print("did")
except RuleError as error:
    print(error.reason)
"""

pytestmark = [pytest.mark.skipif(os.name != "posix", reason="locks of POSIX"), pytest.mark.once]


def test_one_of_several_processes_patches_a_base(tmp_path):
    file = tmp_path / "a.txt"
    for _ in range(2):
        file.write_text("first\n")
        base = fileop.digest(file.read_bytes())
        command = [sys.executable, "-c", WRITER, str(tmp_path)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        writers = [subprocess.Popen([*command, name, base], **pipes) for name in ("w1", "w2")]
        for writer in writers:
            writer.stdin.write("go\n")
            writer.stdin.flush()
        told = [writer.communicate()[0].strip() for writer in writers]
        assert sorted(told) == ["base_mismatch", "did"]
        assert file.read_text() == f"first\nw{told.index('did') + 1}\n"


def test_one_of_several_threads_patches_a_base(tmp_path):
    file = tmp_path / "a.txt"
    for _ in range(10):
        file.write_text("first\n")
        block = op("PATCH", "a.txt", "@@ -1 +1,2 @@\n first\n+more\n", fileop.digest(b"first\n"))

        def work(_, block=block):
            try:
                return str(block.apply(tmp_path).done)
            except RuleError as error:
                return str(error.reason)

        with ThreadPoolExecutor(4) as pool:
            told = sorted(pool.map(work, range(4)))
        assert told == ["True", *["base_mismatch"] * 3]


@pytest.mark.parametrize(
    "path",
    [
        *(".git/config", ".git/hooks/post-checkout", ".GIT/config", "sub/.Git/config", ".git", ".git./config"),
        *(".git /config", ".gi\u200ct/config", "git~1/config", ".git::$INDEX_ALLOCATION/config", ".git\\config"),
        *("sub\\.GIT\\hooks\\x", "HG~1/hgrc", "PIJUL~1/config", "FSLCKO~2", ".hg/hgrc", ".svn/entries"),
        "inside/config",
    ],
)
def test_version_control_is_protected(tmp_path, path):
    (tmp_path / ".git").mkdir()
    (tmp_path / "inside").symlink_to(".git")
    for allow in (None, ["**"], ["*"]):
        assert raised(RuleError, op("CREATE", path, "x").apply, tmp_path, allow=allow).reason == "unsafe_path"
    assert sorted(os.listdir(tmp_path)) == [".git", "inside"]
    assert os.listdir(tmp_path / ".git") == []


def test_allow_and_deny(tmp_path):
    assert op("CREATE", ".git/config", "x").apply(tmp_path, allow=[".git/**"]).done
    assert op("CREATE", ".gitignore", "x").apply(tmp_path).done
    assert op("CREATE", "src/.github/x", "x").apply(tmp_path, allow=["src"]).done
    for path, rules in [
        ("docs/a", {"allow": ["src/**"]}),
        ("src/secret.pem", {"deny": ["*.pem"]}),
        ("src/Secret.PEM", {"deny": ["*.pem"]}),
        ("src/keys/a/b", {"deny": ["src/keys"]}),
        ("src/a", {"allow": ["src/**"], "deny": ["src/a"]}),
    ]:
        with pytest.raises(RuleError):
            op("CREATE", path, "x").apply(tmp_path, **rules)
        with pytest.raises(RuleError):
            op("CREATE", path, "x").apply(tmp_path, dry_run=True, **rules)
    with pytest.raises(TypeError):
        op("CREATE", "a", "x").apply(tmp_path, allow="src")


def test_what_replaces_a_private_file_is_private_all_the_time(tmp_path, monkeypatch):
    file = put(tmp_path / "a.txt", "old\n")
    file.chmod(0o600)
    seen = set()
    fsync = os.fsync

    def watched(descriptor):
        seen.update(oct(path.stat().st_mode & 0o777) for path in tmp_path.iterdir())
        fsync(descriptor)

    monkeypatch.setattr("turnwire.csp.fileop.os.fsync", watched)
    op("PATCH", "a.txt", "@@ -1 +1 @@\n-old\n+new\n").apply(tmp_path)
    assert (seen, file.read_text()) == ({"0o600"}, "new\n")


def test_long_names_are_written(tmp_path):
    name = "n" * 255
    assert op("CREATE", name, "x\n").apply(tmp_path).done
    assert op("PATCH", name, "@@ -1 +1 @@\n-x\n+y\n").apply(tmp_path).done
    assert (tmp_path / name).read_text() == "y\n"


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="descriptors are named in /proc")
def test_directories_are_flushed(tmp_path, monkeypatch):
    flushed = []
    fsync = os.fsync

    def watched(descriptor):
        flushed.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        fsync(descriptor)

    monkeypatch.setattr("turnwire.csp.fileop.os.fsync", watched)
    op("CREATE", "one/two/a", "x").apply(tmp_path)
    assert {str(tmp_path), str(tmp_path / "one"), str(tmp_path / "one/two")} <= set(flushed)


def test_what_the_dead_left_is_swept_and_what_lives_is_not(tmp_path):
    (tmp_path / temporary_name()).write_text("left")
    alive = tmp_path / temporary_name()
    descriptor = create(str(alive))
    try:
        op("CREATE", "a", "x").apply(tmp_path)
        assert sorted(os.listdir(tmp_path)) == [alive.name, "a"]
    finally:
        os.close(descriptor)
    op("CREATE", "b", "x").apply(tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]


KILLED = """
import sys
from turnwire import csp
text = "x" * 200_000
print("begins", flush=True)
for number in range(10_000):
    csp.FileOp("F1", "CREATE", {"PATH": f"f{number}", "CONTENT": text}).apply(sys.argv[1])
"""


def test_kill_9_leaves_whole_files_only(tmp_path):
    for round_ in range(3):
        root = tmp_path / str(round_)
        root.mkdir()
        worker = subprocess.Popen([sys.executable, "-c", KILLED, str(root)], stdout=subprocess.PIPE)
        worker.stdout.readline()
        time.sleep(0.05 + 0.03 * round_)
        worker.send_signal(signal.SIGKILL)
        worker.communicate()
        op("CREATE", "last", "x").apply(root)
        left = [name for name in os.listdir(root) if name.startswith(PREFIX)]
        sizes = {path.stat().st_size for path in root.iterdir() if path.name != "last"}
        assert (left, sizes - {200_000}) == ([], set())


def test_a_plan_is_safe_to_print(tmp_path):
    plan = op("CREATE", "d\x1b[31m/a\u202e\nb", "x").apply(tmp_path, dry_run=True)
    assert str(plan).startswith("would CREATE d\\x1b[31m/a\\u202e\\nb: +1 -0 lines")
    assert str(plan).isprintable()


@pytest.mark.skipif(not fileop._WALKS, reason="the system cannot walk folders without following links")
@pytest.mark.parametrize("swapped", ["sub", "sub/inner"])
@pytest.mark.parametrize("word", ["CREATE", "PATCH", "DELETE"])
def test_a_folder_that_becomes_a_link_meanwhile_leads_nowhere(tmp_path, monkeypatch, word, swapped):
    """Whoever else can write the root swaps a folder for a link between the look at the file and the change."""
    root, outside = tmp_path / "root", tmp_path / "outside"
    for folder in (root / "sub/inner", outside / "inner"):
        folder.mkdir(parents=True)
    victims = [outside / "inner/a.txt", outside / "a.txt"]
    for file in (root / "sub/inner/a.txt", *victims) if word != "CREATE" else ():
        file.write_text("old\n")
    looked = fileop._current

    def look_then_swap(file):
        found = looked(file)
        (root / swapped).rename(tmp_path / "gone")
        (root / swapped).symlink_to(outside, target_is_directory=True)
        return found

    monkeypatch.setattr(fileop, "_current", look_then_swap)
    content = {"CREATE": "new\n", "PATCH": "@@ -1 +1 @@\n-old\n+new\n", "DELETE": None}[word]
    caught = raised(RuleError, op(word, "sub/inner/a.txt", content).apply, root)
    assert caught.reason in (Reason.UNSAFE_PATH, Reason.NOT_A_FILE)
    left = sorted(str(path.relative_to(outside)) for path in outside.rglob("*"))
    assert left == (["inner"] if word == "CREATE" else ["a.txt", "inner", "inner/a.txt"])
    assert all(victim.read_text() == "old\n" for victim in victims if word != "CREATE")
