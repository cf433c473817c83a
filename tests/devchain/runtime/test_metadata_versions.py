"""Each release's metadata against that of 2.2.3, 2.2.9 and 2.3.0: each difference has a written reason."""

from __future__ import annotations

import pytest

from cfnode.core.scale.metadata import Metadata, decode_metadata
from cfnode.devchain.runtime.releases import RELEASES
from tests.conftest import shared
from tests.devchain.runtime.differences import (
    NO_REASON,
    VERSIONS,
    Missing,
    Row,
    Versus,
    everything,
    missing_rows,
    ours,
    shape_rows,
)


@pytest.fixture(scope="module")
def theirs() -> dict[str, Metadata]:
    """Return the official metadata of each version."""
    folder = {
        name: shared("vectors", "chainflip", f"metadata-v15-{spec}.scale") for name, spec in VERSIONS.items()
    }
    return {name: decode_metadata(path.read_bytes()) for name, path in folder.items()}


@pytest.fixture(scope="module")
def versus(theirs: dict[str, Metadata]) -> dict[str, Versus]:
    """Return the comparison of each release with its official metadata."""
    return {name: Versus(name, ours(name), metadata) for name, metadata in theirs.items()}


def faults(explained: dict[tuple[str, str], Row | None], rows: list[Row]) -> dict[str, object]:
    """Return the differences that the tables lack, and the rows that match none."""
    used = list(explained.values())
    return {
        "differences without a row": [key for key, row in explained.items() if row is None],
        "rows that explain nothing: delete them": [row for row in rows if row not in used],
    }


NONE = {"differences without a row": [], "rows that explain nothing: delete them": []}


def test_each_other_shape_has_one_reason_and_each_reason_a_shape(versus: dict[str, Versus]) -> None:
    """Find one written reason for each shape that differs, and a difference for each reason."""
    rows = shape_rows()
    explained = {
        (name, line): row
        for name, comparison in versus.items()
        for line, row in comparison.shape_reasons(rows).items()
    }
    assert faults(explained, rows) == NONE


def test_each_thing_that_is_missing_has_one_reason_and_each_reason_a_thing(versus: dict[str, Versus]) -> None:
    """Find one written reason for each missing item, and a missing item for each reason."""
    rows = missing_rows()
    explained = {
        (name, f"{thing.kind} {thing.pallet}.{thing.name}"): row
        for name, comparison in versus.items()
        for thing, row in comparison.missing_reasons(rows).items()
    }
    assert faults(explained, rows) == NONE


@pytest.mark.parametrize("name", RELEASES)
def test_no_index_hasher_type_or_default_of_a_release_differs(name: str, versus: dict[str, Versus]) -> None:
    """Of what is there: the test pallet's two lines, and the version's own values."""
    places = {line.partition(": ")[0] for line in versus[name].shapes}
    assert places == {
        "Dev",
        "Environment.calls.non_native_signed_call.chainflip_extrinsic.call.Dev",
        "System.Version",
    }


def test_2_2_9_adds_one_item_that_is_there_and_one_of_a_pallet_that_is_not(
    versus: dict[str, Versus],
) -> None:
    """Count what 2.2.9 adds: one item that the runtime has, and one of a pallet that it lacks."""
    new = Missing("storage", "AssetBalances", "RefundFeeMultiple")
    assert (new in set(everything(ours("2.2.3"))), new in set(everything(ours("2.2.9")))) == (False, True)
    added = set(versus["2.2.9"].missing) - set(versus["2.2.3"].missing)
    assert added == {Missing("storage", "CfeInterface", "RuntimeUpgradeEvents")}


def test_the_report_gives_each_difference_with_its_reason(versus: dict[str, Versus]) -> None:
    """Report each difference with its reason."""
    lines = list(versus["2.3.0"].report())
    reason = "no engines witness other chains: a test reports the events of other chains to the pallet `Dev`"
    assert f"pallet BscElections.BscElections: {reason}" in lines
    assert not [line for line in lines if NO_REASON in line]


def test_a_difference_without_a_reason_is_seen(theirs: dict[str, Metadata]) -> None:
    """As if 2.3.0 were the development runtime and 2.2.9 the chain."""
    swapped = Versus("2.2.9", theirs["2.3.0"], theirs["2.2.9"])
    unexplained = [line for line, row in swapped.shape_reasons(shape_rows()).items() if row is None]
    assert any(
        line.startswith("Validator.errors.GrandpaKeyOwnershipMismatch: index 35") for line in unexplained
    )
    assert Missing("storage", "Swapping", "BoundBrokerWithdrawalAddress") in swapped.missing
