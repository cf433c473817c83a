"""A State Chain of random lives that answers a recovery, and the vaults of its chains as a model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from cfnode.core.assets import ASSETS
from cfnode.sdk.exchange import HttpAnswer, SdkHttpCall
from cfnode.sdk.options import Session
from cfnode.sdk.recovery import BadPayload, Payload, read_payload
from tests.sdk.scripted import NODE, Script, session
from tests.support.swaps.lives import Call, Life

__all__ = ["PayoutsOfLife", "Vaults"]

API = "CustomRuntimeApi_cf_"
CHAINS = ("Ethereum", "Arbitrum", "Bsc", "Tron")
STEPS = {"open": 4, "pay": 6, "fail": 10, "abort": 8, "wait": 6, "hold": 1, "epoch": 2, "rotate": 3}
"""Steps of a life, by weight: most of them make a payout fail, or let time pass."""
KEPT = (
    ("System", "Events"),
    ("Swapping", "SwapRequestIdCounter"),
    ("Validator", "CurrentEpoch"),
)
"""Storage that a recovery reads at earlier blocks."""


class PayoutsOfLife(Life):
    """A life in which many payouts fail; with `rotates_always` each epoch has keys of its own."""

    def __init__(self, seed: int, *, rotates_always: bool) -> None:
        self.kept: list[dict[bytes, bytes | None]] = []
        self.rotates_always = rotates_always
        super().__init__(seed)

    def _note(self) -> Any:
        keys = [self.world.metadata.storage_key(pallet, item) for pallet, item in KEPT]
        self.kept.append({key: self.world.state.get(key) for key in keys})
        return super()._note()

    def step(self) -> None:
        names, weights = zip(*STEPS.items(), strict=True)
        (name,) = self.random.choices(names, weights)
        self.steps.append(name)
        getattr(self, "_rotate" if name == "epoch" and self.rotates_always else f"_{name}")()

    def _abort(self) -> None:
        """The next transaction to a chain is aborted, and a channel that pays there is paid."""
        self.block(self._opening(self.random.choice(self._chains)))
        channel = self.model.channels[-1]
        if channel.target is not None:
            chain = ASSETS[channel.target].chain
            self.block(Call(None, "Dev", "abort_next_broadcast", {"chain": chain}))
            self.block(*self._deposits(channel, [3_000]))
            for _ in range(6):
                self.block()

    def _rotate(self) -> None:
        """All keys rotate, with the vaults'."""
        epoch = self.world.stored("Validator", "CurrentEpoch")
        self.block(Call(None, "Dev", "as_governance", {"call": ("Validator", "force_rotation")}))
        for _ in range(30):
            if self.world.stored("Validator", "CurrentEpoch") > epoch:
                return
            self.block()


class Vaults:
    """The vaults of all chains: which of the calls that the chain ever signed they take now.

    A vault has the key of the State Chain, and has used the nonces of the transactions that arrived.
    """

    def __init__(self, life: PayoutsOfLife) -> None:
        self.world = life.world
        self.signed: list[Payload] = []
        self.ended: set[tuple[str, int]] = set()
        self.aborted: set[tuple[str, int]] = set()
        for block in life.history:
            for event in block.events:
                if event.pallet.endswith("Broadcaster"):
                    self._receive(event.pallet.removesuffix("Broadcaster"), event.name, event.fields)
        self.used = {
            (each.chain, each.nonce) for each in self.signed if (each.chain, each.broadcast_id) in self.ended
        }

    def _receive(self, chain: str, name: str, fields: dict[str, Any]) -> None:
        if chain not in CHAINS:
            return
        if name == "BroadcastSuccess":
            self.ended.add((chain, fields["broadcast_id"]))
        elif name == "BroadcastAborted":
            self.aborted.add((chain, fields["broadcast_id"]))
        elif name in ("TransactionBroadcastRequest", "CallResigned"):
            self.signed += self._payload(chain, fields["broadcast_id"], fields["transaction_payload"])

    def _payload(self, chain: str, number: int, made: dict[str, Any]) -> Iterator[Payload]:
        """The call of a transaction; none for one that pays no receiver."""
        document = made | {"contract": made["contract"].hex(), "data": made["data"].hex()}
        known_id = self.world.stored("Environment", f"{chain}ChainId")
        with suppress(BadPayload):
            yield read_payload(
                chain, number, {"chain_id": known_id} | document | {"function_selector": None}, None
            )

    def takes(self, payload: Payload) -> bool:
        """Whether the vault takes a call: its key has signed, and the nonce is unused."""
        key, _ = self.world.api(API + "eth_vault")
        manager = self.world.stored("Environment", f"{payload.chain}KeyManagerAddress")
        return payload.is_signed_by(key, manager) and (payload.chain, payload.nonce) not in self.used

    def open(self) -> list[Payload]:
        """The calls that a vault takes, and that no authority is to send."""
        return [each for each in self.signed if self.takes(each) and not self.is_on_its_way(each)]

    def is_on_its_way(self, payload: Payload) -> bool:
        """Whether an authority has a call's transaction."""
        return payload.broadcast_id in self.world.stored(f"{payload.chain}Broadcaster", "PendingBroadcasts")


class LifeNode(Script):
    """A node of the State Chain at the end of a life; a service of it knows no swap."""

    def __init__(self, life: PayoutsOfLife) -> None:
        super().__init__()
        self.life = life
        self.world = life.world

    def session(self) -> Session:
        """A session of the SDK that knows the runtime's types."""
        found = session(backend_url="http://backend.test")
        found.metadata[NODE, self._spec] = self.world.metadata
        return found

    @property
    def _spec(self) -> int:
        return int(self.world.runtime.composition.release.spec_version)

    def answer(self, call: SdkHttpCall) -> HttpAnswer:
        return HttpAnswer(404, b"{}") if call.body is None else super().answer(call)

    def _reply(self, request: dict[str, Any]) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": request["id"], "result": self._result(**request)}

    def _result(self, method: str, params: list[Any], **_: Any) -> Any:
        world = self.world
        if method == "chain_getHeader":
            return {"number": hex(world.header.number)}
        if method == "chain_getBlockHash":
            return f"0x{world.hashes[params[0] if params else -1].hex()}"
        if method == "state_getRuntimeVersion":
            return {"specVersion": self._spec}
        if method == "cf_eth_vault":
            key, block = world.api(API + "eth_vault")
            return [key.hex(), block]
        if method.startswith("cf_failed_call_"):
            return _as_json(world.api(API + method.removeprefix("cf_"), params[0]))
        assert method == "state_getStorage", method
        value = self._stored(bytes.fromhex(params[0][2:]), bytes.fromhex(params[1][2:]))
        return None if value is None else "0x" + value.hex()

    def _stored(self, key: bytes, at: bytes) -> bytes | None:
        number = self.world.hashes.index(at)
        if number == self.world.header.number:
            return self.world.state.get(key)
        return self.life.kept[number][key]


def _as_json(found: dict[str, Any] | None) -> Any:
    if found is None:
        return None
    texts = {name: found[name].hex() for name in ("contract", "data")}
    selector = found.get("function_selector")
    return found | texts | ({} if selector is None else {"function_selector": list(selector)})
