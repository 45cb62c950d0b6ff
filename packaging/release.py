"""Makes a release of what is under "Unreleased": ``python packaging/release.py 0.2.0``.

Gives the section of CHANGELOG.md its number and day, writes the number where it stands, commits that and tags the
commit. Nothing is pushed and nothing is uploaded. Refuses, and changes nothing, when the tree has changes, when the
number is not above the last one, when the tag is there, or when there is nothing to release.
"""

import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

PLACES = {
    "pyproject.toml": r'^version = "(.+)"$',
    "src/turnwire/__init__.py": r'^__version__ = "(.+)"$',
    "packaging/conda/recipe.yaml": r'^  version: "(.+)"$',
}
UNRELEASED = "## [Unreleased]\n"


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], check=True, capture_output=True, text=True).stdout


def number(version: str) -> tuple[int, ...]:
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        sys.exit(f"a version has three numbers, as 0.2.0 has, not {version!r}")
    return tuple(map(int, version.split(".")))


def section(text: str) -> str:
    """The text under "Unreleased"."""
    _, found, rest = text.partition(UNRELEASED)
    if not found:
        sys.exit('CHANGELOG.md has no section "Unreleased"')
    return re.split(r"^## ", rest, maxsplit=1, flags=re.MULTILINE)[0].strip()


def main(version: str) -> None:
    wanted = number(version)
    texts = {path: Path(path).read_text("utf-8") for path in PLACES}
    found = {path: re.search(pattern, texts[path], re.MULTILINE) for path, pattern in PLACES.items()}
    numbers = {path: match.group(1) if match else "none" for path, match in found.items()}
    if len(set(numbers.values())) > 1:
        sys.exit(f"the version is not one: {numbers}")
    last = numbers["pyproject.toml"]
    if git("status", "--porcelain"):
        sys.exit("the tree has changes that are not committed")
    if git("tag", "--list", f"v{version}"):
        sys.exit(f"v{version} is there already")
    if wanted <= number(last):
        sys.exit(f"{version} is not above {last}")
    changes = Path("CHANGELOG.md").read_text("utf-8")
    news = section(changes)
    if not news:
        sys.exit('there is nothing under "Unreleased" in CHANGELOG.md')
    heading = f"{UNRELEASED}\n## [{version}] - {datetime.now(UTC):%Y-%m-%d}\n"
    Path("CHANGELOG.md").write_text(changes.replace(UNRELEASED, heading, 1), "utf-8")
    for path, match in found.items():
        assert match is not None
        line = match.group().replace(last, version)
        Path(path).write_text(texts[path].replace(match.group(), line, 1), "utf-8")
    git("commit", "--all", "--quiet", "--message", f"turnwire {version}")
    git("tag", "--annotate", f"v{version}", "--cleanup=verbatim", "--message", f"turnwire {version}\n\n{news}\n")
    print(f"v{version} is tagged; `git push --follow-tags` publishes it, `make dist` builds it")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python packaging/release.py 0.2.0")
    main(sys.argv[1])
