"""The runtime's version (`Core_version`; SCALE `RuntimeVersion`).

The names and the transaction version are those of the chain's own runtimes, so that clients treat a
development chain as they treat the main net.
"""

from __future__ import annotations

from hashlib import blake2b

from .releases import Release
from .values import RuntimeVersion

SPEC_NAME = "chainflip-node"
TRANSACTION_VERSION = 13
SYSTEM_VERSION = 1
"""State trie version 1, extrinsics root version 0."""

STATE_VERSION = 1
EXTRINSICS_VERSION = 0


def runtime_version(release: Release) -> RuntimeVersion:
    """Return the version of a release, as a value of `sp_version::RuntimeVersion`."""
    return RuntimeVersion(
        spec_name=SPEC_NAME,
        impl_name="cfnode-dev",
        authoring_version=1,
        spec_version=release.spec_version,
        impl_version=1,
        apis=[(api_id(name), version) for name, version in release.api_versions.items()],
        transaction_version=TRANSACTION_VERSION,
        system_version=SYSTEM_VERSION,
    )


def api_id(name: str) -> bytes:
    """Return the 8 bytes that stand for a runtime API in the version: BLAKE2b-64 of its name."""
    return blake2b(name.encode(), digest_size=8).digest()
