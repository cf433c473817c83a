"""The releases of the runtime, with their chains, assets and API versions.

Each release is one value; `rules` has what its pallets do differently from those of other releases. Types
that differ are declared by functions marked `by_release`, into a catalog of the release. Two releases can be
composed in one process: a chain that was upgraded has blocks of both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from cfnode.core.assets import assets_since, chains_since
from cfnode.core.scale import Codec

from . import rules
from .chains import CHAIN_INSTANCES, ChainInstance
from .frame.catalogs import by_release, catalog_of
from .frame.table import TypeTable
from .release import Release
from .release_names import DEFAULT_RELEASE

__all__ = [
    "DEFAULT_RELEASE",
    "RELEASES",
    "Release",
    "by_release",
    "codec_in",
    "release_for",
]

_APIS = {
    "Core": 5,
    "Metadata": 2,
    "BlockBuilder": 6,
    "TaggedTransactionQueue": 3,
    "OffchainWorkerApi": 2,
    "AuraApi": 1,
    "SessionKeys": 1,
    "GrandpaApi": 3,
    "AccountNonceApi": 1,
    "TransactionPaymentApi": 4,
    "TransactionPaymentCallApi": 3,
    "CustomRuntimeApi": 18,
    "MonitoringRuntimeApi": 3,
}


def _chains_since(release: str) -> dict[str, ChainInstance]:
    return {name: CHAIN_INSTANCES[name] for name in chains_since(release) if name in CHAIN_INSTANCES}


_R2_2_3 = Release(
    name="2.2.3",
    spec_version=20_203,
    api_versions=_APIS,
    chains=_chains_since("2.2"),
    assets=tuple(assets_since("2.2")),
    left=frozenset({"Polkadot"}),
    rules=rules.R2_2_3,
)

_R2_2_9 = replace(_R2_2_3, name="2.2.9", spec_version=20_209, rules=rules.R2_2_9)

_ASSETHUB = CHAIN_INSTANCES["Assethub"]

_R2_3_0 = replace(
    _R2_2_9,
    name="2.3.0",
    spec_version=20_300,
    api_versions=_APIS | {"CustomRuntimeApi": 20, "MonitoringRuntimeApi": 4},
    chains=_chains_since("2.3")
    | {"Assethub": replace(_ASSETHUB, family=replace(_ASSETHUB.family, deposit_details="TxId"))},
    assets=tuple(assets_since("2.3")),
    rules=rules.R2_3_0,
)

_LISTED = (
    _R2_2_3,
    _R2_2_9,
    _R2_3_0,
)
RELEASES: dict[str, Release] = {release.name: release for release in sorted(_LISTED, key=lambda r: r.number)}
"""The releases by name, the oldest first."""


def codec_in(release: str, text: str, scope: Mapping[str, str] | None = None) -> Codec:
    """Return the codec of a type expression in a release, by which migrations read old values."""
    table = TypeTable(catalog_of(RELEASES[release]))
    type_id = table.id(text, scope)
    return table.registry.codec(type_id)


def release_for(spec_version: int) -> Release:
    """Return the release with this spec version, or else the last one before it under this spec version.

    With it tests can simulate an upgrade to a spec version that no release has.
    """
    earlier = [release for release in RELEASES.values() if release.spec_version <= spec_version]
    latest = earlier[-1] if earlier else next(iter(RELEASES.values()))
    return latest if latest.spec_version == spec_version else replace(latest, spec_version=spec_version)
