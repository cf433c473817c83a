"""A State Chain of random lives that answers a recovery, and the vaults of its chains as a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from random import Random
from typing import Any

from cfnode.core.assets import ASSETS
from cfnode.core.scale import ByteCursor
from cfnode.core.scale.metadata import Metadata
from cfnode.ledger.decoding import DecodedBlock
from cfnode.sdk.exchange import HttpAnswer, SdkHttpCall
from cfnode.sdk.options import ClientSession
from cfnode.sdk.recovery import BadPayload, Payload, read_payload
from tests.runtime.memory_state import MemoryState
from tests.sdk.scripted import NODE, Script, session
from tests.support.devchain.vault_swaps import BITCOIN, transaction
from tests.support.swaps.lives import BROKER, EVM, PROVIDERS, Call, Life
from tests.support.swaps.model import Deposit

__all__ = ["LifeNode", "PayoutsOfLife", "Vaults"]

API = "CustomRuntimeApi_cf_"
CHAINS = ("Ethereum", "Arbitrum", "Bsc", "Tron")
STEPS = {
    "open": 4,
    "pay": 6,
    "fail": 10,
    "abort": 8,
    "refuse": 4,
    "wait": 6,
    "hold": 1,
    "epoch": 2,
    "rotate": 3,
    "private": 3,
    "message": 4,
    "rebalance": 2,
    "re_sign": 2,
}
"""Steps of a life, by weight: most of them make a payout fail, or let time pass."""
FLIP = 10**18
_METADATA_VERSION = (15).to_bytes(4, "little")
KEPT = (
    ("System", "Events"),
    ("Swapping", "SwapRequestIdCounter"),
    ("Validator", "CurrentEpoch"),
    *((f"{chain}Broadcaster", "BroadcastIdCounter") for chain in CHAINS),
)
"""Storage that a recovery reads at earlier blocks."""


class PayoutsOfLife(Life):
    """A life in which many payouts fail; with `rotates_always` each epoch has keys of its own."""

    weights = STEPS
    breaks_messages = False

    def __init__(self, seed: int, *, rotates_always: bool) -> None:
        self.kept: list[dict[bytes, bytes | None]] = []
        self.rotates_always = rotates_always
        super().__init__(seed)
        for state in self.began.states:
            self._keep(state)

    def _keep(self, state: MemoryState) -> None:
        keys = [self.world.metadata.storage_key(pallet, item) for pallet, item in KEPT]
        self.kept.append({key: state.get(key) for key in keys})

    def _note(self) -> None:
        super()._note()
        self._keep(self.world.state)

    def step(self, number: int | None = None) -> None:
        """Take a step by chance."""
        if number is not None:
            self.random = Random(f"{self.seed} {number}")
        names, weights = zip(*self.weights.items(), strict=True)
        (name,) = self.random.choices(names, weights)
        self.steps.append(name)
        getattr(self, "_rotate" if name == "epoch" and self.rotates_always else f"_{name}")()

    def _abort(self) -> None:
        """Abort the next transaction to a chain, and pay a channel that pays there."""
        self.block(self._opening(self.random.choice(self._chains)))
        channel = self.model.channels[-1]
        if channel.target is not None:
            chain = ASSETS[channel.target].chain
            self.block(Call(None, "Dev", "abort_next_broadcast", {"chain": chain}))
            self.block(*self._deposits(channel, [3_000]))
            for _ in range(6):
                self.block()

    def _refuse(self) -> None:
        """Let all authorities fail to send what they were given to send; it may arrive nevertheless."""
        self.block(self._opening(self.random.choice(self._chains)))
        channel = self.model.channels[-1]
        if channel.target is None or (chain := ASSETS[channel.target].chain) not in EVM:
            return
        self._held.append(chain)
        self.block(Call(None, "Dev", "hold_broadcasts", {"chain": chain, "held": True}))
        self.block(*self._deposits(channel, [3_000]))
        for _ in range(6):
            self.block()
        while self.world.stored(f"{chain}Broadcaster", "PendingBroadcasts"):
            before = len(self.refused)
            self.block(Call(None, "Dev", "fail_broadcast", {"chain": chain, "broadcast_id": None}))
            if len(self.refused) > before:
                break
        if self.random.random() < 0.7:
            self._release()

    def _private(self) -> None:
        """Make a swap by the broker's private channel, whose receiver does not take the transfer."""
        chains = [chain for chain in self._chains if chain in EVM]
        target = self._assets[self.random.choice(chains)][0] if chains else "Eth"
        if not self.world.stored("Swapping", "BrokerPrivateBtcChannels", BROKER.account):
            self.block(Call(BROKER, "Swapping", "open_private_btc_channel", {}))
        there, amount = self.address(ASSETS[target].chain), self.amount("Btc", 3_000)
        _, details = transaction(self, BITCOIN, "Btc", target, destination_address=there)
        identity = self.random.randbytes(32)
        self.model.paying(Deposit(None, "Btc", amount, identity))
        sent = {"details": ("Bitcoin", details), "sender": self.address("Bitcoin"), "amount": amount}
        self.block(
            self._failing_call(there, target, fails=True),
            Call(None, "Dev", "send_to_vault", sent | {"transaction": identity, "is_final": True}),
        )

    def _rebalance(self) -> None:
        """Move FLIP between accounts: no payout, in the midst of them."""
        one, other = self.random.sample(PROVIDERS, 2)
        there = {"recipient_account_id": other.account, "redemption_address": None}
        self.block(Call(one, "Funding", "rebalance", there | {"amount": ("Exact", 10 * FLIP)}))

    def _rotate(self) -> None:
        """Rotate all keys, with the vaults'."""
        epoch = self.world.stored("Validator", "CurrentEpoch")
        self.block(Call(None, "Dev", "as_governance", {"call": ("Validator", "force_rotation")}))
        for _ in range(30):
            if self.world.stored("Validator", "CurrentEpoch") > epoch:
                return
            self.block()


class InvalidMessages:
    """Messages whose transaction the chain could not build: each second one of a life that has arrived.

    The main net's chain says so in an event, and the development chain can always build it. So its events are
    changed: there was never a transaction.
    """

    def __init__(self, life: PayoutsOfLife) -> None:
        egresses = dict[tuple[str, int], Any]()
        arrived = list[tuple[str, int]]()
        for block in life.history:
            for event in block.events:
                chain, _, rest = event.pallet.partition("IngressEgress")
                if event.name == "CcmBroadcastRequested" and not rest:
                    egresses[chain, event.fields["broadcast_id"]] = event.fields["egress_id"]
                elif event.name == "BroadcastSuccess":
                    arrived.append((event.pallet.removesuffix("Broadcaster"), event.fields["broadcast_id"]))
                elif event.name == "BroadcastAborted":
                    egresses.pop((event.pallet.removesuffix("Broadcaster"), event.fields["broadcast_id"]), 0)
        arrived_egresses = [egress for egress in arrived if egress in egresses]
        self.egresses = {egress: egresses[egress] for egress in arrived_egresses[life.seed % 2 :: 2]}

    def changed(self, pallet: str, name: str, fields: Any) -> tuple[str, Any] | None:
        """Return an event's name and fields; None for one of a transaction that was never built."""
        chain = pallet.removesuffix("IngressEgress").removesuffix("Broadcaster")
        number = fields.get("broadcast_id") if isinstance(fields, Mapping) else None
        egress = None if number is None else self.egresses.get((chain, number))
        if egress is None:
            return name, fields
        if name == "CcmBroadcastRequested":
            return "CcmEgressInvalid", {"egress_id": egress, "error": "InsufficientBalance"}
        return None

    def history(self, life: PayoutsOfLife) -> Iterator[DecodedBlock]:
        """Yield the blocks of the life, with these events."""
        for block in life.history:
            changes = [
                (event, self.changed(event.pallet, event.name, event.fields)) for event in block.events
            ]
            events = [replace(event, name=new[0], fields=new[1]) for event, new in changes if new is not None]
            yield replace(block, events=tuple(events))


class EventsOfLife:
    """A runtime's types, whose events are those of a life with invalid messages; each block is read once."""

    def __init__(self, metadata: Metadata, invalid: InvalidMessages) -> None:
        self.metadata = metadata
        self.invalid = invalid
        self.read: dict[bytes, list[dict[str, Any]]] = {}
        self.event_codec = self

    def __getattr__(self, name: str) -> Any:
        return getattr(self.metadata, name)

    def decode(self, data: bytes) -> list[dict[str, Any]]:
        """Return the events of a block."""
        if data not in self.read:
            self.read[data] = list(self._records(data))
        return self.read[data]

    def _records(self, data: bytes) -> Iterator[dict[str, Any]]:
        for record in self.metadata.event_codec.decode(data):
            pallet, event = record["event"]
            if not isinstance(event, tuple):
                yield record
            elif (changed := self.invalid.changed(pallet, *event)) is not None:
                yield record | {"event": (pallet, changed)}


class Vaults:
    """The vaults of all chains: which of the calls that the chain ever signed they take now.

    A vault has the key of the State Chain, and has used the nonces of the transactions that arrived.
    """

    def __init__(self, life: PayoutsOfLife) -> None:
        self.world = life.world
        self.history = list(InvalidMessages(life).history(life))
        self.signed: list[Payload] = []
        self.ended: set[tuple[str, int]] = set()
        self.aborted: set[tuple[str, int]] = set()
        for block in self.history:
            for event in block.events:
                if event.pallet.endswith("Broadcaster"):
                    self._receive(event.pallet.removesuffix("Broadcaster"), event.name, event.fields)
        self.used = {
            (transaction.chain, transaction.nonce)
            for transaction in self.signed
            if (transaction.chain, transaction.broadcast_id) in self.ended
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
        """Yield the call of a transaction; none for one that pays no receiver."""
        document = made | {"contract": made["contract"].hex(), "data": made["data"].hex()}
        known_id = self.world.stored("Environment", f"{chain}ChainId")
        with suppress(BadPayload):
            yield read_payload(
                chain, number, {"chain_id": known_id} | document | {"function_selector": None}, None
            )

    def takes(self, payload: Payload) -> bool:
        """Return whether the vault takes a call: its key has signed, and the nonce is unused."""
        return self.has_key(payload) and (payload.chain, payload.nonce) not in self.used

    def has_key(self, payload: Payload) -> bool:
        """Return whether a call is signed with the key that the vaults have."""
        key, _ = self.world.api(API + "eth_vault")
        manager = self.world.stored("Environment", f"{payload.chain}KeyManagerAddress")
        return payload.is_signed_by(key, manager)

    def open(self) -> list[Payload]:
        """Return the calls that a vault takes, and that no authority is to send."""
        return [
            transaction
            for transaction in self.signed
            if self.takes(transaction) and not self.is_on_its_way(transaction)
        ]

    def sent_again(self) -> list[Payload]:
        """Return the aborted calls that a vault takes, and that an authority is to send again."""
        return [
            payload
            for payload in self.signed
            if (payload.chain, payload.broadcast_id) in self.aborted
            and self.takes(payload)
            and self.is_on_its_way(payload)
        ]

    def is_on_its_way(self, payload: Payload) -> bool:
        """Return whether an authority has a call's transaction."""
        return payload.broadcast_id in self.world.stored(f"{payload.chain}Broadcaster", "PendingBroadcasts")


class LifeNode(Script):
    """A node of the State Chain at the end of a life; a service of it knows no swap."""

    def __init__(self, life: PayoutsOfLife) -> None:
        super().__init__()
        self.life = life
        self.world = life.world
        self.types = EventsOfLife(self.world.metadata, InvalidMessages(life))

    def session(self) -> ClientSession:
        """Return a session of the SDK that knows the runtime's types."""
        new_session = session(backend_url="http://backend.test")
        new_session.metadata[NODE, self._spec] = self.types  # type: ignore[assignment]  # as far as it is used
        return new_session

    @property
    def _spec(self) -> int:
        return int(self.world.runtime.composition.release.spec_version)

    def answer(self, call: SdkHttpCall) -> HttpAnswer:
        """Answer a call; 404 where it is no JSON-RPC."""
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
        if method == "state_getMetadata":
            answer = world.runtime.call("Metadata_metadata_at_version", _METADATA_VERSION, world.journal)
            return "0x" + ByteCursor(answer[1:]).bytes().hex()
        if method == "cf_eth_vault":
            key, block = world.api(API + "eth_vault")
            return [key.hex(), block]
        if method.startswith("cf_failed_call_"):
            return _as_json(world.api(API + method.removeprefix("cf_"), params[0]))
        if method == "state_getKeysPaged":
            return self._keys(*params)
        assert method == "state_getStorage", method
        value = self._stored(bytes.fromhex(params[0][2:]), bytes.fromhex(params[1][2:]))
        return None if value is None else "0x" + value.hex()

    def _keys(self, prefix: str, count: int, last: str | None, at: str) -> list[str]:
        assert bytes.fromhex(at[2:]) == self.world.hashes[-1]
        keys, start = list[str](), bytes.fromhex(prefix[2:])
        key = self.world.state.next_key(bytes.fromhex((last or prefix)[2:]))
        while key is not None and key.startswith(start) and len(keys) < count:
            keys.append(f"0x{key.hex()}")
            key = self.world.state.next_key(key)
        return keys

    def _stored(self, key: bytes, at: bytes) -> bytes | None:
        number = self.world.hashes.index(at)
        if number == self.world.header.number:
            return self.world.state.get(key)
        return self.life.kept[number][key]


def _as_json(call: dict[str, Any] | None) -> Any:
    if call is None:
        return None
    texts = {name: call[name].hex() for name in ("contract", "data")}
    selector = call.get("function_selector")
    return call | texts | ({} if selector is None else {"function_selector": list(selector)})
