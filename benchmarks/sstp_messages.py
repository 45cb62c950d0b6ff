"""SSTP against msgspec and pydantic: ``python benchmarks/sstp_messages.py``. Prints ratios taken in one process.

Each reader gets the same bytes. msgspec's typed decode drops unknown fields and lets duplicate keys pass; the pydantic
model is strict, keeps unknown fields, and checks the same types and ranges.
"""

from __future__ import annotations

import json
import statistics
import timeit
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from turnwire import backend, sstp
from turnwire.sstp.spec import HEADER, PAYLOADS, SCHEMA_IDS, Field, Kind

DATA = Path(__file__).parent.parent / "tests" / "data" / "sstp_real.jsonl"
TYPES: dict[str, Any] = {
    "text": str,
    "clock": int,
    "fraction": float,
    "texts": list[str],
    "list": list[Any],
    "artifacts": list[dict[str, Any]],
    "text_or_null": str | None,
}


def messages() -> list[bytes]:
    """The first real message of each kind in the file, and the first two kinds again without their long texts."""
    seen: dict[str, bytes] = {}
    for line in DATA.read_bytes().splitlines():
        value = json.loads(line)
        seen.setdefault(value["header"]["kind"], line)
        if value["header"]["kind"] in ("intent", "knowledge"):
            short = {name: "g" if isinstance(item, str) else item for name, item in value["payload"].items()}
            short = {name: [] if isinstance(item, list) else item for name, item in short.items()}
            seen.setdefault(f"short {value['header']['kind']}", json.dumps({**value, "payload": short}).encode())
    return list(seen.values())


def typed(fields: tuple[Field, ...], name: str) -> type:
    """A msgspec Struct of a table."""
    needed = [(field.name, TYPES[field.type]) for field in fields if field.need == "read"]
    rest = [(field.name, TYPES[field.type] | None, None) for field in fields if field.need != "read"]
    return msgspec.defstruct(name, [*needed, *rest])


def msgspec_reader(kind: Kind) -> Callable[[bytes], Any]:
    """msgspec's decoder of the one struct that fits: nothing to choose, the fastest it can be."""
    header, payload = typed(HEADER, "Header"), typed(PAYLOADS[kind], "Payload")
    return msgspec.json.Decoder(msgspec.defstruct("Message", [("header", header), ("payload", payload)])).decode


def pydantic_reader(kind: Kind) -> Callable[[bytes], Any]:
    """A strict pydantic v2 model that keeps unknown fields."""
    import pydantic

    config = pydantic.ConfigDict(strict=True, extra="allow", allow_inf_nan=False)
    ranges = {"clock": Annotated[int, pydantic.Field(ge=1)], "fraction": Annotated[float, pydantic.Field(ge=0, le=1)]}

    def model(fields: tuple[Field, ...], name: str) -> Any:
        members: dict[str, Any] = {}
        for field in fields:
            kind_of = ranges.get(field.type, TYPES[field.type])
            members[field.name] = (kind_of, ...) if field.need == "read" else (kind_of | None, None)
        if name == "Header":
            members["kind"] = (Literal[kind.value], ...)
            members["schema_id"] = (Literal[SCHEMA_IDS[kind]], ...)
        return pydantic.create_model(name, __config__=config, **members)

    parts = {"header": (model(HEADER, "Header"), ...), "payload": (model(PAYLOADS[kind], "Payload"), ...)}
    whole: Any = pydantic.create_model("Message", __config__=config, **parts)
    reader: Callable[[bytes], Any] = whole.model_validate_json
    return reader


def ours(data: bytes) -> Any:
    """Decode and check."""
    return sstp.check(sstp.decode(data))


def nanoseconds(calls: list[Callable[[bytes], Any]], data: bytes, rounds: int = 150, number: int = 100) -> list[float]:
    """For each call the best of many short rounds, taken in turns, so that other load hits all of them alike."""
    best = [float("inf")] * len(calls)
    for _ in range(rounds):
        for index, call in enumerate(calls):
            best[index] = min(best[index], timeit.timeit(lambda call=call: call(data), number=number) / number)
    return [seconds * 1e9 for seconds in best]


def main() -> None:
    """Prints one line a message, and the median and the worst ratio."""
    ratios = []
    print(f"backend {backend}; ns per message: msgspec typed, pydantic strict, turnwire decode + check")
    for data in messages():
        kind = Kind(json.loads(data)["header"]["kind"])
        assert ours(data) == []
        figures = nanoseconds([msgspec_reader(kind), pydantic_reader(kind), ours], data)
        ratios.append(figures[2] / figures[0])
        print(
            f"{kind:16} {len(data):5} bytes  {figures[0]:7.0f} {figures[1]:7.0f} {figures[2]:7.0f}"
            f"   / msgspec {ratios[-1]:.2f}   / pydantic {figures[2] / figures[1]:.2f}"
        )
    print(f"decode + check / msgspec typed decode: median {statistics.median(ratios):.2f}, worst {max(ratios):.2f}")


if __name__ == "__main__":
    main()
