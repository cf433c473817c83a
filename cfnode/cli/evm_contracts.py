"""The contracts that the payloads of a development chain are for, as its node reports them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cfnode.cli import client
from cfnode.cli.dev_client import DevClient
from cfnode.cli.exits import CommandFailure, ExitCode
from cfnode.core.foreign import ForeignError, hex_bytes
from cfnode.core.safe_text import origin_of

if TYPE_CHECKING:
    from cfnode.devchain.evm.deployed import Contracts

__all__ = ["aggregate_key", "contracts_of"]

MAX_EPOCHS = 10_000
"""Epochs whose keys are compared with a chain's."""


def contracts_of(node: DevClient, chain: str) -> Contracts:
    """Return the contracts of an EVM chain.

    Raises Failure, also for a chain whose key is not public: a call that is signed for a live chain could be
    sent there.
    """
    from cfnode.devchain.evm.deployed import Contracts
    from cfnode.devchain.runtime.config import CONTRACTS

    key = aggregate_key(node)
    if not _is_public(node, key):
        raise CommandFailure(
            f"the keys of the chain at {origin_of(node.url)} are not those of a development chain: start one "
            "with `cfnode run --dev`",
            ExitCode.CONFIGURATION,
        )
    chain_id = int.from_bytes(_stored(node, chain, "ChainId", 8), "little")
    manager = _stored(node, chain, "KeyManagerAddress", 20)
    vault = _stored(node, chain, "VaultAddress", 20)
    return Contracts(chain_id, manager, vault, key, dict(CONTRACTS[chain].tokens))


def aggregate_key(node: DevClient) -> bytes:
    """Return the key of the EVM chains, 33 bytes compressed."""
    with client.reading(node.url):
        key = bytes.fromhex(node.call("cf_eth_vault")[0].removeprefix("0x"))
        if len(key) != 33 or key[0] not in (2, 3):
            raise ValueError(key)
    return key


def _is_public(node: DevClient, key: bytes) -> bool:
    """Return whether a development chain has generated a key, so that its secret is public."""
    from cfnode.devchain.runtime.keys import secret_of
    from cfnode.devchain.runtime.values import EvmAggKey

    with client.reading(node.url):
        epoch = int(node.call("cf_current_epoch"))
    parity = "Odd" if key[0] == 3 else "Even"
    try:
        secret_of(EvmAggKey(pub_key_x=key[1:], pub_key_y_parity=parity), min(epoch, MAX_EPOCHS))
    except LookupError:
        return False
    return True


def _stored(node: DevClient, chain: str, item: str, size: int) -> bytes:
    from cfnode.sdk.recovery.storage import storage_key

    value: Any = node.call("state_getStorage", storage_key("Environment", f"{chain}{item}"))
    if value is None:
        raise CommandFailure(
            f"the chain of {origin_of(node.url)} has no contracts on {chain}: choose another --chain"
        )
    try:
        data = hex_bytes(value, size)
    except ForeignError:
        data = b""
    if len(data) != size:
        raise client.NodeUnreachable(
            f"{origin_of(node.url)} sent a malformed answer; check that it is a node"
        )
    return data
