"""Releases of the development runtime: each has its own types, and they do not disturb each other."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cfnode.core.assets import ASSETS
from cfnode.core.scale import ScaleError
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.frame import (
    Composition,
    ErrorSet,
    EventSet,
    Origin,
    Pallet,
    RuntimeApi,
    Value,
    before,
    call,
    event,
    method,
    since,
)
from cfnode.devchain.runtime.frame.expressions import TypeLanguageError
from cfnode.devchain.runtime.frame.table import TypeTable
from cfnode.devchain.runtime.frame.types import COMMON, Catalog
from cfnode.devchain.runtime.pallets.system import System
from cfnode.devchain.runtime.releases import RELEASES, release_for
from cfnode.devchain.runtime.runtime import DevRuntime, development_runtime
from tests.devchain.runtime.memory import MemoryHost

DIGESTS = {
    "2.2.3": "ddc1637233ce715dc8ff39dbfeb6df97e3052cdea1aaf5a07a4d07310b9f9391",
    "2.2.9": "743054e952351115e8b0e4cd60d9a1d41e05c18e49d7df8d7a1d2f4af08446aa",
    "2.3.0": "d10aa588529b56ebd2eeff3c537f507d59b64ba20d708425388fb22da40a72fe",
}
"""Of each release's metadata V15. Changes with each declaration: then note it here."""


@pytest.mark.parametrize("name", RELEASES)
def test_the_metadata_of_a_release_is_this_constant(name: str) -> None:
    """Compile each release's metadata to one known digest: its types are what clients decode with."""
    runtime = DevRuntime(RELEASES[name])
    assert runtime.code[-32:].hex() == DIGESTS[name]
    assert development_runtime(runtime.code).composition.release is RELEASES[name]


def test_a_release_with_another_asset_has_other_types_in_the_same_process() -> None:
    """Encode another asset in another release without changing the first one's types."""
    older = RELEASES["2.2.9"]
    newer = replace(older, assets=(*older.assets, ASSETS["Cbbtc"]))
    for text, value in (("Asset", "Cbbtc"), ("eth::Asset", "Cbbtc")):
        codec = DevRuntime(newer).composition.codec_of(text)
        assert codec.decode(codec.encode(value)) == value
        with pytest.raises(ScaleError):
            DevRuntime(older).composition.codec_of(text).encode(value)
    assert list(newer.asset_map(str)["eth"]) == ["eth", "flip", "usdc", "usdt", "wbtc", "cbbtc"]
    assert "Cbbtc" not in older.asset_names


def test_a_name_is_common_to_all_releases_or_belongs_to_one() -> None:
    """Let two releases declare one name with different types, and refuse to redeclare a common one."""
    one, other = Catalog(COMMON), Catalog(COMMON)
    one.struct("test::Difference", "u8")
    other.struct("test::Difference", "u16")
    rows = [TypeTable(catalog) for catalog in (one, other)]
    assert [table.zero(table.id("Difference")) for table in rows] == [b"\0", b"\0\0"]
    with pytest.raises(TypeLanguageError, match="declared twice"):
        one.struct("test::H256", "u8")


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        (20_203, "2.2.3"),
        (20_208, "2.2.3"),
        (20_209, "2.2.9"),
        (20_299, "2.2.9"),
        (20_300, "2.3.0"),
        (1, "2.2.3"),
    ],
)
def test_a_spec_version_selects_the_last_release_up_to_it(stated: int, expected: str) -> None:
    """Choose the last release up to a spec version, and the first one below all."""
    release = release_for(stated)
    assert (release.name, release.spec_version) == (expected, stated)


class Ledger(Pallet):
    """Storage of a pallet in 2.2.3, and its replacement in 2.2.9."""

    index = 200
    crate = "test_ledger"

    Kept = Value("u8", default=lambda runtime: len(runtime.release.chains))
    Old = Value("u8", span=before("2.2.9"))
    New = Value("u8", span=since("2.2.9"))

    class Event(EventSet):
        """Events of which one is new and one has changed."""

        First = event(0)
        Noted = event(1, amount="u8").changed(since("2.2.9"), amount="u8", reason="u16")
        Last = event(2, "u8")
        Inserted = event(1, since("2.2.9"))

    class Error(ErrorSet):
        """Errors of which one is gone and two are new."""

        Early = "Gone in 2.2.9.", before("2.2.9")
        Inserted = "New in 2.2.9.", since("2.2.9")
        Another = "New in 2.2.9.", since("2.2.9")
        Late = "There in both."
        Second = "There in both."

    @call(0, amount="u8")
    def note(self, origin: Origin, amount: int) -> None:
        """Record an event, and fail with the last error."""
        self.deposit(self.Event.Noted, amount=amount, reason=7)
        self.fail(self.Error.Second)

    @call(1, since("2.2.9"))
    def added(self, origin: Origin) -> None:
        """Put the new value."""
        self.New.put(1)


class LedgerApi(RuntimeApi):
    """A runtime API with a method that is new."""

    api = "LedgerApi"

    @method("u8")
    def old(self) -> int:
        """Return one."""
        return 1

    @method("u8", since("2.2.9"))
    def new(self) -> int:
        """Return two."""
        return 2


@pytest.mark.parametrize(
    ("name", "parts", "noted"),
    [
        (
            "2.2.3",
            (
                ["Kept", "Old"],
                [(0, "note")],
                [(0, "First"), (1, "Noted"), (2, "Last")],
                ["Early", "Late", "Second"],
            ),
            {"amount": 3},
        ),
        (
            "2.2.9",
            (
                ["Kept", "New"],
                [(0, "note"), (1, "added")],
                [(0, "First"), (1, "Inserted"), (2, "Noted"), (3, "Last")],
                ["Inserted", "Another", "Late", "Second"],
            ),
            {"amount": 3, "reason": 7},
        ),
    ],
)
def test_a_pallet_declares_what_each_release_has(
    name: str, parts: tuple[list[object], ...], noted: dict[str, int]
) -> None:
    """Declare for each release its own storage, calls, events and errors, with the indexes that follow."""
    runtime = Composition([System, Ledger], [LedgerApi], RELEASES[name])
    ledger = runtime.pallet(Ledger)
    variants = [
        [(variant.index, variant.name) for variant in definition.variants]
        for definition in (
            runtime.types.types[runtime.types.id(f"Ledger::{part}")].definition
            for part in ("Call", "Event", "Error")
        )
    ]
    assert (list(ledger.stored()), variants[0], variants[1], [variant for _, variant in variants[2]]) == parts
    assert list(runtime.apis[0].offered) == (["old"] if name == "2.2.3" else ["old", "new"])
    with runtime.on(MemoryHost()):
        runtime.pallet(System).begin_block(1, bytes(32), values.Digest([]))
        assert ledger.Kept.get() == 7
        assert ledger.error(Ledger.Error.Second).value == (
            "Module",
            {"index": 200, "error": bytes([2 + (name == "2.2.9"), 0, 0, 0])},
        )
        ledger.deposit(Ledger.Event.Noted, amount=3, reason=7)
        assert runtime.pallet(System).Events.get()[0].event == ("Ledger", ("Noted", noted))
        with pytest.raises(AttributeError, match=f"is not in release {name}"):
            _ = (ledger.New if name == "2.2.3" else ledger.Old).get()
