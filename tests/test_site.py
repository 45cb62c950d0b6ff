"""The site: every page is in the navigation, links hold, and pages that repeat what the code says are true."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from turnwire import LIMITS, Reason

pytestmark = pytest.mark.once

ROOT = Path(__file__).parent.parent
yaml = pytest.importorskip("yaml")
if not (ROOT / "mkdocs.yml").exists():
    pytest.skip("needs the source tree", allow_module_level=True)


class Loader(yaml.SafeLoader):  # type: ignore[misc,name-defined]
    """Reads mkdocs.yml, whose tags nothing here needs."""


Loader.add_multi_constructor("", lambda loader, suffix, node: None)
SITE = yaml.load((ROOT / "mkdocs.yml").read_text("utf-8"), Loader)
HOOK = (ROOT / ".ci" / "site.py").read_text("utf-8")
OUTSIDE: dict[str, str] = dict(re.findall(r'^    "(.*)": "(.*)",$', HOOK, re.MULTILINE))


def leaves(entry: object) -> list[str]:
    """The pages of a navigation, in order."""
    if isinstance(entry, str):
        return [entry]
    parts = entry.values() if isinstance(entry, dict) else entry
    return [page for part in parts for page in leaves(part)]  # type: ignore[attr-defined]


def test_every_page_is_in_the_navigation() -> None:
    pages = {page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")}
    named = leaves(SITE["nav"])
    assert sorted(named) == sorted(pages | set(OUTSIDE.values()))
    assert all((ROOT / path).exists() for path in OUTSIDE)


def test_the_site_is_strict_and_fetches_nothing() -> None:
    assert SITE["strict"] is True
    assert SITE["theme"]["font"] is False
    assert "extra_javascript" not in SITE
    for sheet in SITE["extra_css"]:
        text = (ROOT / "docs" / sheet).read_text("utf-8")
        assert "url(" not in text and "@import" not in text
    assert set(SITE["validation"]["links"].values()) == {"warn"}


def test_pictures_are_small_and_fetch_nothing() -> None:
    pictures = sorted((ROOT / "docs" / "images").iterdir())
    assert len(pictures) >= 8
    for picture in pictures:
        assert picture.suffix in (".png", ".svg") and picture.stat().st_size <= 150_000, picture
        other = picture.with_name(picture.name.replace("-light", "-dark") if "-light" in picture.name else
                                  picture.name.replace("-dark", "-light"))  # fmt: skip
        assert other != picture and other.exists(), picture
        if picture.suffix == ".svg":
            assert re.findall(r"url\((?!#)|href=|@import", picture.read_text("utf-8")) == []


def test_the_page_of_reasons_has_all_of_them() -> None:
    text = (ROOT / "docs" / "reference" / "reasons.md").read_text("utf-8")
    groups = text[text.index("\n## ") :]
    assert re.findall(r"`(\w+)`", groups) == [reason.value for reason in Reason]


def test_the_page_of_limits_has_all_of_them() -> None:
    text = (ROOT / "docs" / "reference" / "limits.md").read_text("utf-8")
    rows = {name: int(value.replace(",", "")) for name, value in re.findall(r"^\| `(\w+)` \| ([\d,]+) \|", text, re.M)}
    assert rows == LIMITS._asdict()
    assert set(re.findall(r"^\| `\w+` \| [\d,]+ \| `(\w+)`", text, re.M)) <= {reason.value for reason in Reason}


def test_the_reference_names_what_is_there() -> None:
    """A name that has gone is a warning of mkdocstrings; here it is seen without mkdocs."""
    from importlib import import_module
    from pkgutil import resolve_name

    import turnwire

    text = (ROOT / "docs" / "reference" / "python.md").read_text("utf-8")
    named = re.findall(r"^::: ([\w.]+)$", text, re.M)
    assert len(named) > 30
    for name in named:
        part = name.split(".")[1]
        if not hasattr(turnwire, part):
            import_module(f"turnwire.{part}")
        assert (resolve_name(name).__doc__ or "").strip(), name
