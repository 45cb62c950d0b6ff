"""``turnwire info``: what is installed here, and which core is at work."""

from __future__ import annotations

import platform
import re
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Any

import click

from turnwire.cli.output import printable, write_json, write_lines

HINT = "(pip install 'turnwire[EXTRA]' installs a missing extra; '.[EXTRA]' in a checkout)"


@click.command("info", short_help="Show the version, the core in use, and what is installed.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def command(as_json: bool) -> None:
    """Shows the version, the core in use and why, the wires, formats, installed extras and default limits."""
    found = facts()
    if as_json:
        write_json([found])
    else:
        write_lines(map(printable, _lines(found)))


def facts() -> dict[str, Any]:
    """All that ``turnwire info`` says, as data. CPU features are those that the core takes advantage of here."""
    import turnwire
    from turnwire import _backend, registry

    return {
        "version": turnwire.__version__,
        "backend": turnwire.backend,
        "why_pure": _backend.WHY_PURE,
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "platform": f"{platform.system()} {platform.machine()}",
        "cpu_features": list(_backend.cpu_features()),
        "wires": {
            name: ["read", "write", *(["scan"] if wire.has("scanner") else [])]
            for name, wire in registry.wires().items()
        },
        "formats": {name: wire.title for name, wire in registry.formats().items()},
        "extras": {name: {each: _version(each) for each in needed} for name, needed in _extras().items()},
        "limits": turnwire.LIMITS._asdict(),
    }


def _extras() -> dict[str, list[str]]:
    """Extra of those in ``all`` -> the distributions that it brings; none if turnwire is not installed."""
    try:
        lines = requires("turnwire") or []
    except PackageNotFoundError:
        return {}
    of_all = "".join(line for line in lines if line.endswith('extra == "all"'))
    names = of_all.partition("[")[2].partition("]")[0].split(",")
    brought = {name: [line for line in lines if line.endswith(f'extra == "{name}"')] for name in names if name}
    found = {name: [re.split(r"[^\w.-]", line)[0] for line in several] for name, several in brought.items()}
    return {name: [each for each in several if each != "turnwire"] for name, several in found.items()}


def _version(distribution: str) -> str | None:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def _lines(found: dict[str, Any]) -> list[str]:
    why = f" ({found['why_pure']})" if found["why_pure"] else ""
    wires = [f"{name} ({', '.join(what)})" for name, what in found["wires"].items()]
    lines = [
        f"turnwire   {found['version']}",
        f"core       {found['backend']}{why}",
        f"python     {found['python']}, {found['platform']}",
        f"cpu        {', '.join(found['cpu_features']) or 'no features beyond the baseline'}",
        *(f"{'' if place else 'wires':<11}{wire}" for place, wire in enumerate(wires)),
        *(
            f"{'' if place else 'formats':<11}{name:<11} {found['formats'][name]}"
            for place, name in enumerate(found["formats"])
        ),
    ]
    for name, needed in found["extras"].items():
        state = ", ".join(f"{each} {there or 'missing'}" for each, there in needed.items())
        lines.append(f"{'extras' if name == next(iter(found['extras'])) else '':<11}{name:<9} {state}")
    if not all(all(needed.values()) for needed in found["extras"].values()):
        lines.append(f"{'':<11}{HINT}")
    limits = [f"{name} {value:,}" for name, value in found["limits"].items()]
    lines.append(f"limits     {', '.join(limits[:5])},")
    lines.append(f"           {', '.join(limits[5:])}")
    return lines
