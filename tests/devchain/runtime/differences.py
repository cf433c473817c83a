"""Differences between a release of the development runtime and that version of the State Chain, with reasons.

`docs/design/metadata.md` gives the reasons, in two tables: what has another shape than theirs, and what of
theirs is missing. `Versus` finds the differences in two metadata files and looks each of them up there; what
no row explains, and a row that explains nothing, is a fault of the page or of the runtime. Run as a program
(`scripts/metadata`) it prints the report of each version.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from cfnode.core.scale import Variants
from cfnode.core.scale.metadata import Metadata, decode_metadata
from cfnode.devchain.runtime.executive import Executive
from cfnode.devchain.runtime.releases import RELEASES
from cfnode.devchain.runtime.runtime import DevRuntime
from tests.devchain.runtime.shapes import Comparison

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "design" / "metadata.md"
CALLS_PAGE = ROOT / "docs" / "design" / "development-runtime.md"
VERSIONS = {"2.2.3": 20203, "2.2.9": 20209, "2.3.0": 20300}
"""Versions with a metadata file, and their spec versions."""


NO_REASON = "NO REASON IS GIVEN"
MAX_LINE = 300
"""Characters of a difference in the report: defaults are kilobytes."""


@cache
def ours(version: str) -> Metadata:
    """Return the metadata of the development runtime's release of this version."""
    return DevRuntime(RELEASES[version]).composition.service(Executive).metadata(15)


@dataclass(frozen=True)
class Missing:
    """A thing of theirs that we lack. `kind`: pallet, call, event, error, storage, constant or api."""

    kind: str
    pallet: str
    name: str


@dataclass(frozen=True)
class Row:
    """A reason. `versions`, `kinds`, `pallets` and `names` are globs, one of which has to match."""

    versions: tuple[str, ...]
    kinds: tuple[str, ...]
    pallets: tuple[str, ...]
    names: tuple[str, ...]
    because: str

    def explains(self, version: str, kind: str, pallet: str, name: str) -> bool:
        """Return whether the row explains the absence of a thing in a version."""
        sides = (self.versions, version), (self.kinds, kind), (self.pallets, pallet), (self.names, name)
        return all(any(fnmatchcase(value, glob) for glob in globs) for globs, value in sides)


def everything(metadata: Metadata) -> Iterator[Missing]:
    """Yield all that a client can name."""
    for pallet in metadata.pallets:
        yield Missing("pallet", pallet.name, pallet.name)
        for kind, enum in (("call", pallet.calls), ("event", pallet.events), ("error", pallet.errors)):
            definition = None if enum is None else metadata.registry.type(enum).definition
            for variant in definition.variants if isinstance(definition, Variants) else ():
                yield Missing(kind, pallet.name, variant.name)
        for entry in pallet.storage.entries if pallet.storage else ():
            yield Missing("storage", pallet.name, entry.name)
        for constant in pallet.constants:
            yield Missing("constant", pallet.name, constant.name)
    for api in metadata.apis:
        for method in api.methods:
            yield Missing("api", api.name, method.name)


def table(page: Path, heading: str) -> list[list[str]]:
    """Return the cells of the first table under this heading."""
    below = page.read_text().partition(f"## {heading}\n")[2]
    lines = [line for line in below.partition("\n#")[0].splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def listed(cell: str) -> tuple[str, ...]:
    """Return the words of a cell."""
    return tuple(word.strip().strip("`") for word in cell.split(","))


def shape_rows() -> list[Row]:
    """Return the rows of the table of other shapes."""
    rows = table(PAGE, "Other shapes")
    return [Row(listed(where), ("*",), ("*",), listed(places), why) for where, places, why in rows]


def missing_rows() -> list[Row]:
    """Return the rows of the page, and for calls those of the page on the development runtime."""
    rows = [
        Row(listed(where), listed(kinds), listed(pallets), listed(names), why)
        for where, kinds, pallets, names, why in table(PAGE, "Missing")
    ]
    calls = table(CALLS_PAGE, "Calls that are not there")
    return rows + [
        Row(("*",), ("call",), listed(pallets), listed(names), why) for pallets, names, why in calls
    ]


class Versus:
    """A release of the development runtime against one version."""

    def __init__(self, version: str, mine: Metadata, theirs: Metadata) -> None:
        self.version = version
        comparison = Comparison(mine, theirs)
        differences = [*comparison.pallets(), *comparison.extrinsic(), *comparison.apis()]
        self.shapes = [line.replace("[]", "") for line in differences]
        there = set(everything(mine))
        self.missing = [thing for thing in everything(theirs) if thing not in there]

    def shape_reasons(self, rows: list[Row]) -> dict[str, Row | None]:
        """Return each line with the first row that explains it."""
        return {line: self._reason(rows, "", "", line.partition(": ")[0]) for line in self.shapes}

    def missing_reasons(self, rows: list[Row]) -> dict[Missing, Row | None]:
        """Return each missing thing with the first row that explains it."""
        return {thing: self._reason(rows, thing.kind, thing.pallet, thing.name) for thing in self.missing}

    def _reason(self, rows: list[Row], kind: str, pallet: str, name: str) -> Row | None:
        return next((row for row in rows if row.explains(self.version, kind, pallet, name)), None)

    def report(self) -> Iterator[str]:
        """Yield the differences as text, those without a reason first."""
        kinds = Counter(thing.kind for thing in self.missing)
        amounts = ", ".join(f"{kinds[kind]} of kind {kind}" for kind in sorted(kinds))
        yield f"# {self.version}: {len(self.shapes)} other shapes; missing: {amounts}"
        yield "\n## Other shapes"
        shapes = self.shape_reasons(shape_rows()).items()
        for line, row in sorted(shapes, key=lambda item: item[1] is not None):
            yield f"{line[:MAX_LINE]}\n    {because(row)}"
        yield "\n## Missing"
        missing = self.missing_reasons(missing_rows()).items()
        for thing, row in sorted(missing, key=lambda item: (item[1] is not None, item[0].kind)):
            yield f"{thing.kind} {thing.pallet}.{thing.name}: {because(row)}"


def because(row: Row | None) -> str:
    """Return the reason of a row, or that there is none."""
    return NO_REASON if row is None else row.because


def main() -> None:
    """Print the differences between the metadata of files and ours."""
    if len(sys.argv) < 2:
        sys.exit(
            "usage: scripts/metadata FOLDER [VERSION…]: a folder with metadata-v15-20209.scale and others"
        )
    for version in sys.argv[2:] or VERSIONS:
        path = Path(sys.argv[1]) / f"metadata-v15-{VERSIONS[version]}.scale"
        for line in Versus(version, ours(version), decode_metadata(path.read_bytes())).report():
            print(line)


if __name__ == "__main__":
    main()
