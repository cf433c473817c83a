"""Releases of the development runtime: each has its own types, and they do not disturb each other."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cfnode.core.assets import ASSETS
from cfnode.core.scale import ScaleError
from cfnode.runtime.dev.frame.expressions import TypeLanguageError
from cfnode.runtime.dev.frame.table import TypeTable
from cfnode.runtime.dev.frame.types import COMMON, Catalog
from cfnode.runtime.dev.releases import DEFAULT_RELEASE, RELEASES, release_for
from cfnode.runtime.dev.runtime import DevRuntime, development_runtime

DIGESTS = {"2.2.3": "dbc9dedad26e5e60df9356fddeb2db5dfee12c06872812db5a3bfa7ca58801e4"}
"""Of each release's metadata V15. Changes with each declaration: then note it here."""


@pytest.mark.parametrize("name", RELEASES)
def test_the_metadata_of_a_release_is_this_constant(name: str) -> None:
    runtime = DevRuntime(RELEASES[name])
    assert runtime.code[-32:].hex() == DIGESTS[name]
    assert development_runtime(runtime.code).composition.release is RELEASES[name]


def test_a_release_with_another_asset_has_other_types_in_the_same_process() -> None:
    default = RELEASES[DEFAULT_RELEASE]
    newer = replace(default, assets=(*default.assets, ASSETS["Cbbtc"]))
    for text, value in (("Asset", "Cbbtc"), ("eth::Asset", "Cbbtc")):
        codec = DevRuntime(newer).composition.codec_of(text)
        assert codec.decode(codec.encode(value)) == value
        with pytest.raises(ScaleError):
            DevRuntime(default).composition.codec_of(text).encode(value)
    assert list(newer.asset_map(str)["eth"]) == ["eth", "flip", "usdc", "usdt", "wbtc", "cbbtc"]
    assert "Cbbtc" not in default.asset_names


def test_a_name_is_common_to_all_releases_or_belongs_to_one() -> None:
    one, other = Catalog(COMMON), Catalog(COMMON)
    one.struct("test::Difference", "u8")
    other.struct("test::Difference", "u16")
    rows = [TypeTable(catalog) for catalog in (one, other)]
    assert [table.zero(table.id("Difference")) for table in rows] == [b"\0", b"\0\0"]
    with pytest.raises(TypeLanguageError, match="declared twice"):
        one.struct("test::H256", "u8")


@pytest.mark.parametrize(("stated", "expected"), [(20_203, "2.2.3"), (20_204, "2.2.3"), (1, "2.2.3")])
def test_a_spec_version_selects_the_last_release_up_to_it(stated: int, expected: str) -> None:
    found = release_for(stated)
    assert (found.name, found.spec_version) == (expected, stated)
