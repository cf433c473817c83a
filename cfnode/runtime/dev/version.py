"""Which runtime is this? (`Core_version`; SCALE `RuntimeVersion`)

The names and the transaction version are those of runtime 2.2.3, so that clients treat a development chain as
they treat the main net.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

SPEC_NAME = "chainflip-node"
SPEC_VERSION = 20_203
TRANSACTION_VERSION = 13
SYSTEM_VERSION = 1
"""State trie version 1, extrinsics root version 0."""

STATE_VERSION = 1
EXTRINSICS_VERSION = 0

API_VERSIONS = {
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


def runtime_version(spec_version: int = SPEC_VERSION) -> dict[str, Any]:
    """The version as a value of `sp_version::RuntimeVersion`."""
    return {
        "spec_name": SPEC_NAME,
        "impl_name": "cfnode-dev",
        "authoring_version": 1,
        "spec_version": spec_version,
        "impl_version": 1,
        "apis": [(api_id(name), version) for name, version in API_VERSIONS.items()],
        "transaction_version": TRANSACTION_VERSION,
        "system_version": SYSTEM_VERSION,
    }


def api_id(name: str) -> bytes:
    """The 8 bytes that stand for a runtime API in the version: BLAKE2b-64 of its name."""
    return blake2b(name.encode(), digest_size=8).digest()
