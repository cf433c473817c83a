"""Payloads of failed transfers, and a State Chain that offers them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from cfnode.core.hashing import twox_64, twox_128
from cfnode.sdk.recovery import Payload, read_payload
from tests.conftest import shared
from tests.sdk.scripted import Script

NAMES = ("native-ethereum-even-key", "token-ethereum-odd-key", "native-arbitrum-even-key")


def raw(text: str) -> bytes:
    """Return the bytes of hex."""
    return bytes.fromhex(text.removeprefix("0x"))


def vector(name: str) -> dict[str, Any]:
    """Return a test vector by name."""
    document = json.loads(shared("evm-vectors.json").read_text())
    assert {entry["name"] for entry in document["vectors"]} == set(NAMES)
    test_vector: dict[str, Any] = next(entry for entry in document["vectors"] if entry["name"] == name)
    return test_vector


def chain_of(test_vector: dict[str, Any]) -> str:
    """Return the chain of a test vector."""
    return str(test_vector["rpc_method"].rpartition("_")[2])


def payload_of(test_vector: dict[str, Any]) -> Payload:
    """Return the payload of a test vector."""
    return read_payload(chain_of(test_vector).capitalize(), 1, test_vector["rpc_result"], None)


EPOCH, HEAD = 6, 1400


def entries(*listed: tuple[int, int]) -> str:
    """Return the encoded list of pairs of broadcast and epoch."""
    rows = b"".join(number.to_bytes(4, "little") + epoch.to_bytes(4, "little") for number, epoch in listed)
    return "0x" + (bytes([len(listed) << 2]) + rows).hex()


def node(
    test_vector: dict[str, Any], *, offered: bool, now: str | None = None, before: str | None = None
) -> Script:
    """Return a State Chain in epoch 6 with ten broadcasts, and the lists of this epoch and of the last."""
    chain = chain_of(test_vector).capitalize()

    def prefix(pallet: str, item: str) -> str:
        return "0x" + (twox_128(pallet.encode()) + twox_128(item.encode())).hex()

    def listed(epoch: int) -> str:
        key = epoch.to_bytes(4, "little")
        return prefix(f"{chain}IngressEgress", "FailedForeignChainCalls") + (twox_64(key) + key).hex()

    storage = {
        prefix("Environment", f"{chain}KeyManagerAddress"): test_vector["inputs"]["key_manager"],
        prefix("Environment", f"{chain}ChainId"): "0x"
        + test_vector["inputs"]["chain_id"].to_bytes(8, "little").hex(),
        prefix("Validator", "CurrentEpoch"): "0x" + EPOCH.to_bytes(4, "little").hex(),
        prefix("Validator", "CurrentEpochStartedAt"): "0x" + (1000).to_bytes(4, "little").hex(),
        prefix("Validator", "EpochDuration"): "0x" + (500).to_bytes(4, "little").hex(),
        prefix(f"{chain}Broadcaster", "BroadcastIdCounter"): "0x" + (10).to_bytes(4, "little").hex(),
        listed(EPOCH): now,
        listed(EPOCH - 1): before,
    }
    # x, then 0 for an odd parity and 1 for an even one
    signer = raw(vector(test_vector["name"])["agg_key"]["compressed"])
    before_this = (EPOCH - 1).to_bytes(4, "little")
    earlier = prefix("EvmThresholdSigner", "Keys") + (twox_64(before_this) + before_this).hex()
    storage[earlier] = "0x" + signer[1:].hex() + f"{3 - signer[0]:02x}"
    results = {
        "chain_getBlockHash": "0x" + "ab" * 32,
        "chain_getHeader": {"number": hex(HEAD)},
        test_vector["rpc_method"]: test_vector["rpc_result"] if offered else None,
        "cf_eth_vault": [test_vector["agg_key"]["compressed"], 1000],
    }
    return StorageScript(results, storage.get)


class StorageScript(Script):
    """A script whose storage reads are looked up."""

    def __init__(self, results: dict[str, Any], storage: Callable[[str], str | None]) -> None:
        super().__init__(results)
        self.storage = storage

    def _reply(self, request: dict[str, Any]) -> dict[str, Any]:
        if request["method"] != "state_getStorage":
            return super()._reply(request)
        assert request["params"][1] == "0x" + "ab" * 32, "all is read at one block"
        return {"jsonrpc": "2.0", "id": request["id"], "result": self.storage(request["params"][0])}
