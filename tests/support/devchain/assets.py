"""The assets that can be deposited."""

from __future__ import annotations

from cfnode.devchain.runtime.releases import DEFAULT_RELEASE, RELEASES, Release


def asset_names(release: Release) -> list[str]:
    """Return the assets that can be deposited."""
    return sorted(asset.name for asset in release.assets if asset.chain not in release.left)


ASSET_NAMES = asset_names(RELEASES[DEFAULT_RELEASE])
