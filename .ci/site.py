"""Steps of mkdocs beside its own for the site: pages of the repository outside docs/ are pages of the site, too.

A link that is right in the repository is right in the site: one to such a page, or to one of docs/, is rewritten; one
to a file that the site does not have (a script, a workflow) becomes its text. mkdocs then judges every link strictly.
"""

from __future__ import annotations

import posixpath
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent
OUTSIDE = {
    "README.md": "project/readme.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changelog.md",
    "SECURITY.md": "project/security.md",
    "benchmarks/README.md": "project/benchmarks.md",
    "examples/data/ATTRIBUTION.md": "project/attribution.md",
}
"""Pages of the repository, and what the site calls them."""
FORMATS = sorted(path.parent.name for path in ROOT.glob("src/turnwire/formats/*/README.md"))
OUTSIDE |= {f"src/turnwire/formats/{name}/README.md": f"formats/{name}.md" for name in FORMATS}
_HOME = {site: path for path, site in OUTSIDE.items()}
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
_ROLE = re.compile(r":(?:class|func|meth|attr|mod|data|exc):<code>(~?)((?:[\w]+\.)*)([\w]+)</code>")
_SHIM = "https://unpkg.com/iframe-worker/shim"
_FENCE = re.compile(r"(^ *```.*?^ *```$)", re.MULTILINE | re.DOTALL)


def on_config(config: Any) -> Any:
    """Puts the pages of formats into the navigation, which does not list them."""
    for section in config.nav:
        for pages in section.values():
            if isinstance(pages, list):
                chapter = any("formats.md" in page.values() for page in pages)
                pages += [{name: f"formats/{name}.md"} for name in FORMATS if chapter]
    return config


def on_files(files: Files, config: Any) -> Files:
    """Adds the pages outside docs/, those of formats with what their tables say."""
    for path, site in OUTSIDE.items():
        content = (ROOT / path).read_text("utf-8")
        if site.startswith("formats/"):
            content += "".join(_layouts(posixpath.basename(site).removesuffix(".md")))
        files.append(File.generated(config, site, content=content))
    return files


def _layouts(name: str) -> Iterator[str]:
    """The signs and the columns of each form of a format's objects, as Markdown."""
    sys.path.insert(0, str(ROOT / "src"))
    try:
        table, sources_of = (
            import_module(f"turnwire.formats.{name}").TABLE,
            import_module("turnwire.formats.table").sources_of,
        )
    finally:
        sys.path.pop(0)
    for number, layout in enumerate(table.layouts, 1):
        yield f"\n## Form {number}: {layout.kind}\n\n"
        for path, words in layout.signs.items():
            yield f"- `{path}`" + (f" is {', '.join(f'`{word}`' for word in words)}\n" if words else "\n")
        if layout.one_of:
            yield f"- one of {', '.join(f'`{path}`' for path in layout.one_of)}\n"
        yield "\n| column | member |\n|---|---|\n"
        for column, given in layout.columns.items():
            yield f"| `{column}` | {', '.join(f'`{source.path}`' for source in sources_of(given))} |\n"


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Links as the site needs them, and interactive examples as such. Code is left alone."""
    here = page.file.src_uri
    parts = _FENCE.split(markdown)
    for place, part in enumerate(parts):
        if part.lstrip().startswith("```"):
            parts[place] = re.sub(r"\A( *)```python\n(?= *>>> )", r"\1```pycon\n", part)
        else:
            parts[place] = _LINK.sub(lambda found: _link(found, here), part)
    return "".join(parts)


def on_page_content(html: str, page: Any, config: Any, files: Files) -> str:
    """Names in docstrings without the roles that they have for Sphinx."""
    return _ROLE.sub(lambda found: f"<code>{'' if found[1] else found[2]}{found[3]}</code>", html)


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Pages with the site's own copy of what the search needs on a disk."""
    return output.replace(
        _SHIM, f"{posixpath.relpath('.', posixpath.dirname(page.url) or '.')}/javascripts/iframe-worker.js"
    )


def on_post_template(output: str, template_name: str, config: Any) -> str:
    """The page of what is not found, which a server gives, needs none."""
    return output.replace(f'<script src="{_SHIM}"></script>', "")


def _link(found: re.Match[str], here: str) -> str:
    mark, text, target = found.groups()
    if re.match(r"[a-z]+:|#", target):
        return found[0]
    path, hash_, anchor = target.partition("#")
    home = _HOME.get(here, f"docs/{here}")
    meant = posixpath.normpath(posixpath.join(posixpath.dirname(home), path))
    if not (ROOT / meant).exists():
        raise PluginError(f"{home}: {target} is not there")
    if meant in OUTSIDE:
        there = OUTSIDE[meant]
    elif meant.startswith("docs/") and not meant.endswith(".json"):
        there = meant.removeprefix("docs/")
    else:
        return text  # the repository has it, the site does not
    return f"{mark}[{text}]({posixpath.relpath(there, posixpath.dirname(here) or '.')}{hash_}{anchor})"
