"""Each release of the runtime in four digests: its metadata, its `:code`, its genesis and what a story does.

A refactoring changes none of them. A change of a declaration, a genesis value or a rule on purpose notes
the new digests here; `python -m tests.devchain.runtime.test_fingerprint` prints them.
"""

from __future__ import annotations

import pytest

from cfnode.core.assets import ASSETS
from cfnode.core.hashing import blake2_256
from cfnode.core.scale.metadata import encode_metadata
from cfnode.devchain.runtime.config import DOLLAR, USD_PRICES, DevGenesis
from cfnode.devchain.runtime.executive import Executive
from cfnode.devchain.runtime.genesis import dev_genesis
from cfnode.devchain.runtime.releases import RELEASES
from cfnode.devchain.runtime.runtime import DevRuntime
from tests.devchain.runtime.broker import ccm, request
from tests.devchain.runtime.swapper import Swapper
from tests.devchain.runtime.world import ALICE
from tests.support.devchain.assets import asset_names

FINGERPRINTS = {
    "2.2.3": ("77bf7f7eb062ce5d", "eec214332f493e56", "8c94035fbf775651", "6dc389cabe0eaba8"),
    "2.2.9": ("1f56216d54ca584e", "85862dc394befa2a", "5778b07dcd1c1530", "bd48c0141c7fc670"),
    "2.3.0": ("01f0dc0ce07a09e2", "9b4c096d2bb62d03", "7958cc1431452420", "fb09605891a245a4"),
}
"""Metadata V14, `:code`, storage of the genesis and last block of the story, 8 bytes of each, by release."""


@pytest.mark.parametrize("release", RELEASES)
def test_metadata_code_and_genesis_of_a_release_are_these(release: str) -> None:
    """Compare what a release declares and begins with against its digests."""
    assert declared(release) == FINGERPRINTS[release][:3]


@pytest.mark.parametrize("release", RELEASES)
def test_a_story_ends_with_the_same_block(release: str) -> None:
    """Compare the last block, whose hash depends on all state and all extrinsics before it."""
    assert story(release) == FINGERPRINTS[release][3]


def declared(release: str) -> tuple[str, str, str]:
    """Return the digests of metadata, code and genesis."""
    runtime, digest = DevRuntime(RELEASES[release]), b""
    for key, value in sorted(dev_genesis(DevGenesis(release=release)).items()):
        digest = blake2_256(digest + len(key).to_bytes(4, "little") + key + value)
    metadata = encode_metadata(runtime.composition.service(Executive).metadata(14))
    return short(blake2_256(metadata)), short(blake2_256(runtime.code)), short(digest)


def story(release: str) -> str:
    """Return the hash of the last block after deposits of all assets, a message and some idle blocks."""
    swapper = Swapper(ALICE.repeatable(), DevGenesis(release=release))
    for asset in asset_names(RELEASES[release]):
        swapper.deposit(asset, "Btc" if asset != "Btc" else "Eth", worth(asset, 5_000), boost_fee=10)
    for destination in ("Eth", "ArbUsdc", "Sol", "HubDot"):
        swapper.deposit("Btc", destination, worth("Btc", 5_000))
    swapper.deposit("Btc", "Usdc", worth("Btc", 5_000), channel_metadata=ccm())
    opened = swapper.opened(**request("Btc", "Eth", boost_fee=10))
    swapper.announce(opened["deposit_address"], "Btc", worth("Btc", 500))
    swapper.blocks(5)
    return short(swapper.world.header.hash)


def worth(asset: str, dollars: int) -> int:
    """Return an amount of dollars in the smallest unit of an asset."""
    return dollars * DOLLAR * 10 ** ASSETS[asset].decimals // USD_PRICES.get(asset, DOLLAR)


def short(digest: bytes) -> str:
    """Return the first 8 bytes as hex digits."""
    return digest[:8].hex()


if __name__ == "__main__":
    for name in RELEASES:
        print(f"    {name!r}: {(*declared(name), story(name))!r},")
