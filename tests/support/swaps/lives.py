"""Random lives of channels and swaps on the development runtime, in the test's own process.

A life is a seed: the same seed makes the same blocks. Each step is a block with a few calls of partners, of
other brokers, of liquidity providers and of users, or time that passes: a jump of three days lets channels
expire and their numbers come back. `history` has all blocks as the books read them, `model` whose each unit
is (`tests.support.swaps.model`), `world` the chain.

    life = Life(seed=7)
    life.live(30)

All lives of a release begin with the same blocks, which are made once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from random import Random
from typing import Any, Final

from cfnode.core.addresses import NETWORKS, EncodedAddress, parse_address, script_to_text
from cfnode.core.assets import ASSETS, CHAINS
from cfnode.core.extrinsic import bare_extrinsic
from cfnode.core.keys import Keypair
from cfnode.devchain.runtime.config import DOLLAR, FLIP, USD_PRICES, DevGenesis
from cfnode.devchain.runtime.releases import DEFAULT_RELEASE
from cfnode.ledger.decoding import DecodedBlock, DecodedEvent, decoded
from tests.devchain.runtime.broker import ccm, refund, request
from tests.devchain.runtime.swapper import Swapper
from tests.devchain.runtime.world import World
from tests.runtime.memory_state import MemoryState
from tests.support.devchain.vault_swaps import encoded
from tests.support.swaps.model import Channel, Deposit, Model

__all__ = ["AFFILIATE", "BROKER", "OTHER", "PARTNERS", "PROVIDERS", "Beginning", "Life"]

PARTNERS: Final = ("one", "two")
"""Partners of BROKER, whose channels its account opens."""
BROKER, OTHER, AFFILIATE, *PROVIDERS = (
    Keypair.from_suri(f"//{name}", "ed25519") for name in ("Alice", "Bob", "Eve", "Charlie", "Dave")
)
"""Keys whose signatures of a message are the same each time, and cheap."""
RECYCLED: Final = {
    "Ethereum": ("Eth", "Usdc", "Flip", "Usdt"),
    "Arbitrum": ("ArbEth", "ArbUsdc"),
    "Tron": ("Trx", "TronUsdt"),
    "Bsc": ("Bnb",),
    "Assethub": ("HubDot", "HubUsdc"),
}
"""Chains whose channels give their numbers back, and assets of theirs."""
OTHERS: Final = {"Bitcoin": ("Btc",), "Solana": ("Sol", "SolUsdc")}
EVM: Final = ("Ethereum", "Arbitrum", "Tron", "Bsc")
HOUR, DAY = 600, 14_400
"""In slots of six seconds."""
NEVER: Final = 2**255
"""A minimum price that no pool gives."""
EVENTS: Final = ("System", "Events")
QUIET_BLOCKS: Final = 4
"""Blocks without a change after which a life has come to rest: a transaction takes fewer."""


def new_address(chain: str, random: Random) -> EncodedAddress:
    """Return an address by chance."""
    data = random.randbytes(32)
    if chain == "Bitcoin":
        return parse_address(chain, script_to_text(("P2WPKH", data[:20]), NETWORKS["Development"]))
    return CHAINS[chain].address, data if chain in ("Solana", "Assethub") else data[:20]


def worth(asset: str, dollars: float) -> int:
    """Return so many dollars' worth of an asset, at the price of genesis."""
    return int(dollars * DOLLAR * 10 ** ASSETS[asset].decimals / USD_PRICES.get(asset, DOLLAR))


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a block; `done` gets its own events (name, fields) if it succeeded. `pair` None: unsigned."""

    pair: Keypair | None
    pallet: str
    name: str
    arguments: dict[str, Any]
    done: Callable[[list[tuple[str, Any]]], None] | None = None


class Blocks(Swapper):
    """A chain whose blocks are kept as the books read them: `history`."""

    def __init__(self, world: World) -> None:
        self.world, self.pair, self.model = world, BROKER, Model()
        self.history, self.refused = list[DecodedBlock](), list[str]()
        world.verifies = world.has_trie = False

    def block(self, *calls: Call) -> None:
        """Make a block with calls, and note what happened."""
        nonces: dict[bytes, int] = {}
        extrinsics = []
        for call in calls:
            encoded_call = self.world.call(call.pallet, call.name, **call.arguments)
            if call.pair is None:
                extrinsics.append(bare_extrinsic(encoded_call))
                continue
            account = call.pair.account
            if account not in nonces:
                nonces[account] = self.world.api("AccountNonceApi_account_nonce", account)
            extrinsics.append(self.world.sign(encoded_call, call.pair, nonce=nonces[account]))
            nonces[account] += 1
        outcomes = self.world.block(*extrinsics)
        first = len(self.world.bodies[-1]) - len(calls)
        self._note()
        by_extrinsic = self._by_extrinsic() if any(call.done is not None for call in calls) else {}
        for place, (call, (included, outcome)) in enumerate(zip(calls, outcomes, strict=True)):
            assert included == "Ok", (call, outcome)
            if outcome[0] != "Ok":
                self.refused.append(f"{call.name}: {self.error_name(outcome[1])}")
            elif call.done is not None:
                call.done(by_extrinsic.get(first + place, []))
        self.model.receive(
            self.world.header.number,
            [(event.index, event.pallet, event.name, event.fields) for event in self.history[-1].events],
        )

    def _note(self) -> None:
        """Keep the newest block as the books read it."""
        world, number = self.world, self.world.header.number
        data = world.state.get(world.metadata.storage(*EVENTS).key())
        self._emitted = decoded(world.metadata, data, number)
        events = self._told(self._emitted)
        time, spec = world.stored("Timestamp", "Now"), world.runtime.composition.release.spec_version
        hashes = [f"0x{block_hash.hex()}" for block_hash in world.hashes[-2:]]
        self.history.append(DecodedBlock(number, hashes[1], hashes[0], time, spec, events, world.metadata))

    def _told(self, events: tuple[DecodedEvent, ...]) -> tuple[DecodedEvent, ...]:
        """Return the events of a block as the rooms receive them."""
        return events

    def _by_extrinsic(self) -> dict[int, list[tuple[str, Any]]]:
        """Return the events of the newest block, name and fields, by extrinsic."""
        events: dict[int, list[tuple[str, Any]]] = {}
        for event, (phase, *_) in zip(self._emitted, self.world.events(), strict=True):
            if isinstance(phase, tuple):
                events.setdefault(phase[1], []).append((event.name, event.fields))
        return events

    def begin(self) -> None:
        """Begin with roles, money to lend, and where providers want to have their assets back."""
        register = [Call(account, "Swapping", "register_as_broker", {}) for account in (BROKER, OTHER)]
        register += [Call(provider, "LiquidityProvider", "register_lp_account", {}) for provider in PROVIDERS]
        self.block(*register)
        random = Random(0)
        for provider in PROVIDERS:
            addresses = [new_address(chain, random) for chain in (*RECYCLED, *OTHERS)]
            name = "register_liquidity_refund_address"
            self.block(
                *(Call(provider, "LiquidityProvider", name, {"address": address}) for address in addresses)
            )
        known = {asset.name for asset in self.world.runtime.composition.release.assets}
        lent = [asset for assets in (RECYCLED | OTHERS).values() for asset in assets if asset in known]
        depths = [{"asset": asset, "amount": worth(asset, 20_000)} for asset in lent]
        self.block(*(Call(None, "Dev", "set_boost_depth", depth) for depth in depths))
        assert self.refused == []


class Beginning(Blocks):
    """The first blocks of all lives, and the state after each: not to be changed."""

    def __init__(self, release: str) -> None:
        funded = tuple((account.account, 1_000 * FLIP) for account in (BROKER, OTHER, *PROVIDERS))
        super().__init__(World(DevGenesis(release=release, funded=funded)))
        self.states: list[MemoryState] = []
        self.begin()

    def _note(self) -> None:
        super()._note()
        self.states.append(self.world.state.copy())


beginning = lru_cache(maxsize=2)(Beginning)
"""The beginning of a release's lives, which is made once."""


class Life(Blocks):
    """A life; `live` goes on with it.

    `steps` are those taken, `refused` the errors of calls that failed, as some must.

    The main net's chain may be unable to build a message's transaction, the development chain never is. So
    with `breaks_messages` some messages' events are changed as if it were.
    """

    breaks_messages = True

    def __init__(self, seed: int, release: str = DEFAULT_RELEASE) -> None:
        self.began = beginning(release)
        super().__init__(self.began.world.copy())
        self.history += self.began.history
        self.seed, self.random, self.steps = seed, Random(seed), list[str]()
        self._amounts: set[tuple[str, int]] = set()
        self._failing: list[tuple[EncodedAddress, str]] = []
        self._held: list[str] = []
        self._broken: set[tuple[str, int]] = set()
        names = [asset.name for asset in ASSETS.values()]
        chains = {asset.chain for asset in self.world.runtime.composition.release.assets}
        self._chains = [
            *self.random.sample([chain for chain in RECYCLED if chain in chains], 2),
            *self.random.sample(sorted(OTHERS), self.random.randint(0, 1)),
        ]
        self._assets = {
            chain: [asset for asset in (RECYCLED | OTHERS)[chain] if asset in names] for chain in self._chains
        }
        self.random.randbytes(14 * 32)  # as lives did that began by themselves

    def _told(self, events: tuple[DecodedEvent, ...]) -> tuple[DecodedEvent, ...]:
        return tuple(self._without_broken(events)) if self.breaks_messages else events

    def _without_broken(self, events: tuple[DecodedEvent, ...]) -> Iterator[DecodedEvent]:
        """Yield the events, without the transactions of broken messages: each third message is one."""
        for event in events:
            fields = event.fields if isinstance(event.fields, dict) else {}
            chain = event.pallet.removesuffix("IngressEgress").removesuffix("Broadcaster")
            key = chain, fields.get("broadcast_id", -1)
            if event.name == "CcmBroadcastRequested" and fields["egress_id"][1] % 3 == self.seed % 3:
                self._broken.add(key)
                invalid = {"egress_id": fields["egress_id"], "error": "InsufficientBalance"}
                yield replace(event, name="CcmEgressInvalid", fields=invalid)
            elif key not in self._broken:
                yield event

    # What is new in each life

    def address(self, chain: str) -> EncodedAddress:
        """Return a new address."""
        return new_address(chain, self.random)

    def amount(self, asset: str, dollars: float) -> int:
        """Return an amount of about so many dollars that no other deposit of the life has."""
        amount = worth(asset, dollars) + self.random.randrange(1, 1_000)
        while (asset, amount) in self._amounts:
            amount += 1
        self._amounts.add((asset, amount))
        return amount

    # Steps

    def live(self, steps: int) -> None:
        """Take steps, each at least one block."""
        for _ in range(steps):
            self.step()

    def step(self, number: int | None = None) -> None:
        """Take one step, by chance. A step with a number does not depend on the chances of those before."""
        if number is not None:
            self.random = Random(f"{self.seed} {number}")
        names, weights = zip(*STEPS.items(), strict=True)
        (name,) = self.random.choices(names, weights)
        self.steps.append(name)
        getattr(self, f"_{name}")()

    def rest(self, blocks: int = 12) -> None:
        """Hold nothing back any more, and make blocks, until some of them are quiet."""
        self._release()
        quiet = 0
        for _ in range(blocks):
            changes = self.model.changes
            self.block()
            quiet = quiet + 1 if self.model.changes == changes else 0
            if quiet == QUIET_BLOCKS:
                return

    def _wait(self) -> None:
        for _ in range(self.random.randint(1, 7)):
            self.block()

    def _jump(self) -> None:
        """Let hours pass, or so long that channels expire, or that their numbers come back."""
        self.world.skipped += self.random.choice([HOUR, DAY + 4 * HOUR, 3 * DAY, 3 * DAY])
        for _ in range(3):
            self.block()

    def _open(self) -> None:
        """Open up to three channels in a block, on one chain most of the time."""
        chain = self.random.choice(self._chains)
        self.block(*(self._opening(chain) for _ in range(self.random.choice([1, 1, 2, 3]))))

    def _again(self) -> None:
        """Let a number come back: a channel is paid, its time passes, and the next one is opened."""
        chain = self.random.choice([chain for chain in self._chains if chain in RECYCLED])
        self.block(self._opening(chain))
        self.block(*self._deposits(self.model.channels[-1], [2_000]))
        for _ in range(self.random.randint(4, 8)):
            self.block()
        self.world.skipped += 3 * DAY
        for _ in range(3):
            self.block()
        self.block(self._opening(chain))

    def _opening(self, chain: str, **terms: Any) -> Call:
        """Return a channel with terms by chance, besides those given, which a provider's does not have."""
        owners = [*PARTNERS, *PARTNERS, "broker", "other", *([] if terms else ["provider"])]
        owner = self.random.choice(owners)
        source = self.random.choice(self._assets[chain])
        if owner == "provider":
            return self._provider_opening(chain, source)
        pair = OTHER if owner == "other" else BROKER
        target = self.random.choice([target for target in self._targets() if target != source])
        where = ASSETS[target].chain
        destination, back = self.address(where), self.address(chain)
        fair = (worth(target, 10**6) << 128) // worth(source, 10**6) * 95 // 100
        limits = refund(
            chain,
            refund_address=back,
            min_price=terms.get("min_price", self.random.choice([0, 0, fair, NEVER])),
            retry_duration=self.random.choice([0, 2, 20]),
        )
        chunks = terms.get("chunks", self.random.choice([None, None, (2, 2), (3, 1)]))
        boost = terms.get("boost", self.random.choice([0, 0, 5, 30]))
        takes_messages = where in ("Ethereum", "Arbitrum", "Bsc")
        arguments = request(
            source,
            target,
            destination_address=destination,
            refund_parameters=limits,
            dca_parameters=chunks and dict(zip(("number_of_chunks", "chunk_interval"), chunks, strict=True)),
            boost_fee=boost,
            channel_metadata=ccm(b"hello") if takes_messages and self._is_message(terms) else None,
            affiliate_fees=[{"account": AFFILIATE.account, "bps": 33}] if self.random.random() < 0.5 else [],
        )

        def done(events: list[tuple[str, Any]]) -> None:
            (fields,) = [about for name, about in events if name == "SwapDepositAddressReady"]
            self._opened(owner, pair, fields, target, destination, back, fields["source_chain_expiry_block"])

        name = "request_swap_deposit_address_with_affiliates"
        return Call(pair, "Swapping", name, arguments, done)

    def _is_message(self, terms: dict[str, Any]) -> bool:
        return self.random.random() < 0.2 or terms.get("message", False)

    def _targets(self) -> list[str]:
        return ["Usdc", "Btc", *(asset for assets in self._assets.values() for asset in assets)]

    def _provider_opening(self, chain: str, asset: str) -> Call:
        pair = self.random.choice(PROVIDERS)

        def done(events: list[tuple[str, Any]]) -> None:
            (fields,) = [about for name, about in events if name == "LiquidityDepositAddressReady"]
            expires = fields["deposit_chain_expiry_block"]
            self._opened("provider", pair, fields, None, None, fields["deposit_address"], expires)

        arguments = {"asset": asset, "boost_fee": 0}
        return Call(pair, "LiquidityProvider", "request_liquidity_deposit_address", arguments, done)

    def _opened(
        self,
        owner: str,
        pair: Keypair,
        fields: dict[str, Any],
        target: str | None,
        destination: EncodedAddress | None,
        back: EncodedAddress,
        expires_at: int,
    ) -> None:
        source = fields["asset"] if target is None else fields["source_asset"]
        chain, number, address = ASSETS[source].chain, fields["channel_id"], fields["deposit_address"]
        block, boost = self.world.header.number, fields["boost_fee"]
        channel = Channel(owner, pair.account, chain, number, block, address, source, target, destination,
                          back, expires_at, boost)  # fmt: skip
        self.model.opened(channel)

    def _pay(self) -> None:
        """Pay a channel of any age: once, twice, too little, or in another asset of its chain."""
        if (channel := self._any_channel()) is not None:
            times, worth = self.random.choice([1, 1, 2]), (1, 300, 3_000, 3_000, 30_000)
            self.block(*self._deposits(channel, [self.random.choice(worth) for _ in range(times)]))

    def _provide(self) -> None:
        """Open a channel of a provider, and pay liquidity into it."""
        chain = self.random.choice(self._chains)
        self.block(self._provider_opening(chain, self.random.choice(self._assets[chain])))
        self.block(*self._deposits(self.model.channels[-1], [3_000]))

    def _any_channel(self) -> Channel | None:
        """Return a channel, a new one most of the time."""
        known = self.model.channels
        if not known:
            return None
        return self.random.choice(known[-4:] if self.random.random() < 0.8 else known)

    def _deposits(self, channel: Channel, dollars: list[float]) -> list[Call]:
        """Return deposits to a channel: those to one that has expired are refused, or come to nothing."""
        calls = []
        for amount_usd in dollars:
            asset = channel.source
            if self.random.random() < 0.1:
                asset = self.random.choice(self._assets[channel.chain])
            deposit = Deposit(channel, asset, self.amount(asset, amount_usd), self.random.randbytes(32))
            calls.append(self._sighting("witness_deposit", deposit))
        return calls

    def _sighting(self, name: str, deposit: Deposit) -> Call:
        """Return the authorities' report of a deposit; the driver names its owner before the chain does."""
        assert deposit.channel is not None
        owner = self._owner(deposit.channel)
        if deposit not in self.model.deposits:
            deposit.channel = owner
            self.model.paying(deposit)
        arguments = {
            "deposit_address": owner.address,
            "asset": deposit.asset,
            "amount": deposit.amount,
            "transaction": deposit.transaction,
        }
        return Call(None, "Dev", name, arguments)

    def _owner(self, channel: Channel) -> Channel:
        """Return the channel that owns a deposit to the address now: of several, the newest one."""
        return next(known for known in reversed(self.model.channels) if known.address == channel.address)

    def _announce(self) -> None:
        """Announce a deposit that lenders may advance; it becomes final, or is lost."""
        self.block(self._opening(self.random.choice(self._chains), boost=self.random.choice([0, 5, 30])))
        channel = self.model.channels[-1]
        deposit = Deposit(channel, channel.source, self.amount(channel.source, 3_000),
                          self.random.randbytes(32))  # fmt: skip
        self.block(self._sighting("prewitness_deposit", deposit))
        for _ in range(self.random.randint(0, 3)):
            self.block()
        if self.random.random() < 0.7:
            self.block(self._sighting("witness_deposit", deposit))

    def _mark(self) -> None:
        """Refuse, as a broker, what will be paid to a channel, or one transaction, which comes then."""
        if (channel := self._any_channel()) is None or not channel.is_for_swaps:
            return
        pair = OTHER if channel.owner == "other" else BROKER
        pallet, (deposit,) = f"{channel.chain}IngressEgress", self._deposits(channel, [2_000])
        marks = {
            "mark_deposit_channel_for_rejection": {"deposit_address": channel.address[1]},
            "mark_transaction_for_rejection": {"tx_id": deposit.arguments["transaction"]},
        }
        name = self.random.choice(list(marks))
        if channel.chain not in ("Bitcoin", "Solana", "Assethub"):  # whose names of both have other forms
            self.block(Call(pair, pallet, name, marks[name]))
        self.block(deposit)

    def _early(self) -> None:
        """Make a deposit in the block of its channel's opening, which gives an address out again."""
        chain = self.random.choice([chain for chain in self._chains if chain in RECYCLED])
        self.block(self._opening(chain))
        address = self.model.channels[-1].address
        self.world.skipped += 3 * DAY
        for _ in range(3):
            self.block()
        asset = self._assets[chain][0]
        deposit = Deposit(None, asset, self.amount(asset, 2_000), self.random.randbytes(32))
        arguments = {"deposit_address": address, "asset": asset, "amount": deposit.amount}

        def paid(events: list[tuple[str, Any]]) -> None:
            deposit.channel = next(
                channel for channel in reversed(self.model.channels) if channel.address == address
            )
            self.model.paying(deposit)

        sighting = arguments | {"transaction": deposit.transaction}
        self.block(self._opening(chain), Call(None, "Dev", "witness_deposit", sighting, paid))

    def _fail(self) -> None:
        """Let the receivers of a channel take no transfer, and pay it; or earlier ones take them again."""
        if self._failing and self.random.random() < 0.3:
            address, asset = self._failing.pop()
            self.block(self._failing_call(address, asset, fails=False))
            return
        self.block(self._opening(self.random.choice(self._chains)))
        channel = self._any_channel()
        if channel is None or channel.target is None:
            return
        sides = ((channel.destination, channel.target), (channel.refund, channel.source))
        for receiver, asset in sides:
            if receiver is not None and ASSETS[asset].chain in EVM:
                self._failing.append((receiver, asset))
                self.block(self._failing_call(receiver, asset, fails=True))
        self.block(*self._deposits(channel, [3_000]))

    def _failing_call(self, address: EncodedAddress, asset: str, *, fails: bool) -> Call:
        return Call(None, "Dev", "fail_receiver", {"address": address, "asset": asset, "fails": fails})

    def _abort(self) -> None:
        self.block(Call(None, "Dev", "abort_next_broadcast", {"chain": self._target_chain()}))

    def _hold(self) -> None:
        if self._held:
            self._release()
        else:
            self._held.append(self._target_chain())
            self.block(Call(None, "Dev", "hold_broadcasts", {"chain": self._held[-1], "held": True}))

    def _release(self) -> None:
        for chain in self._held:
            self.block(Call(None, "Dev", "hold_broadcasts", {"chain": chain, "held": False}))
        self._held.clear()

    def _target_chain(self) -> str:
        return ASSETS[self.random.choice(self._targets())].chain

    def _message(self) -> None:
        """Make a swap with a message, if its output goes to a chain that takes one."""
        self.block(self._opening(self.random.choice(self._chains), message=True))
        self.block(*self._deposits(self.model.channels[-1], [3_000]))

    def _re_sign(self) -> None:
        """Have an aborted transaction signed again by governance, and sent.

        Or it leaves that to any account: then no list has the call.
        """
        chain = self.random.choice([chain for chain in self._chains if chain in EVM] or ["Ethereum"])
        aborted = self.world.stored(f"{chain}Broadcaster", "AbortedBroadcasts")
        if not aborted:
            return
        arguments = {
            "broadcast_ids": [self.random.choice(aborted)],
            "request_broadcast": self.random.random() < 0.5,
            "refresh_replay_protection": False,
        }
        call = f"{chain}Broadcaster", ("re_sign_aborted_broadcasts", arguments)
        self.block(Call(None, "Dev", "as_governance", {"call": call}))

    def _turn(self) -> None:
        """Turn the price while a swap is half done: its rest is refunded."""
        chain = self.random.choice(self._chains)
        self.block(self._opening(chain, chunks=(3, 3), boost=0))
        channel = self.model.channels[-1]
        self.block(*self._deposits(channel, [3_000]))
        for _ in range(4):
            self.block()
        asset = channel.source if channel.source != "Usdc" else channel.target
        price = int(USD_PRICES.get(asset or "", DOLLAR) * (0.5 if asset == channel.source else 2))
        self.block(Call(None, "Dev", "set_pool", {"asset": asset, "price": price, "depth": None}))

    def _price(self) -> None:
        """Empty a pool, make it dear, or set it as usual again."""
        asset = self.random.choice([target for target in self._targets() if target != "Usdc"])
        price = int(USD_PRICES.get(asset, DOLLAR) * self.random.choice([0.5, 1, 1, 2]))
        depth = self.random.choice([0, 10**13, 10**13])
        self.block(Call(None, "Dev", "set_pool", {"asset": asset, "price": price, "depth": depth}))

    def _withdraw(self) -> None:
        """Withdraw what brokers have earned, and a part of what a provider owns, or give it on."""
        there = self.address("Ethereum")
        self.model.withdrawn_to.add(there)
        broker = {"asset": "Usdc", "destination_address": there}
        one, other = self.random.sample(PROVIDERS, 2)
        asset = self.random.choice([asset for chain in self._chains for asset in self._assets[chain]])
        owned = self.balance(one.account, asset)
        calls = [Call(self.random.choice([BROKER, OTHER]), "Swapping", "withdraw", broker)]
        if owned > 4:
            part = {"amount": owned // 3, "asset": asset}
            to = {"destination_address": self.address(ASSETS[asset].chain)}
            self.model.withdrawn_to.add(to["destination_address"])
            calls += [
                Call(one, "LiquidityProvider", "withdraw_asset", part | to),
                Call(one, "LiquidityProvider", "transfer_asset", part | {"destination": other.account}),
            ]
        self.block(*calls)

    def _swap_balance(self) -> None:
        """Swap what a provider owns: no swap of a user's, and without a channel."""
        provider = self.random.choice(PROVIDERS)
        owned = [(target, self.balance(provider.account, target)) for target in self._targets()]
        for asset, amount in [holding for holding in owned if holding[1] > worth(holding[0], 100)][:1]:
            arguments = {
                "amount": amount // 2,
                "input_asset": asset,
                "output_asset": self.random.choice([target for target in self._targets() if target != asset]),
                "retry_duration": 2,
                "price_limits": {
                    "min_price": self.random.choice([0, 0, NEVER]),
                    "max_oracle_price_slippage": None,
                },
                "dca_params": None,
            }
            self.block(Call(provider, "LiquidityProvider", "schedule_swap", arguments))

    def _epoch(self) -> None:
        """End epochs: a call that pays a failed transfer again is signed anew; the second ends it."""
        for _ in range(self.random.choice([1, 2, 3])):
            self.block(Call(None, "Dev", "end_epoch", {}))
            self.block()
            self.block()

    def _vault_swap(self) -> None:
        """Make a swap without a channel, for the broker."""
        target = self.random.choice([target for target in self._targets() if target != "Eth"])
        amount = self.amount("Eth", 2_000)
        terms = refund("Ethereum", refund_address=self.address("Ethereum"))
        extra = ("Ethereum", {"input_amount": amount, "refund_parameters": terms})
        there = self.address(ASSETS[target].chain)
        kind, details = encoded(self, extra, "Eth", target, destination_address=there)
        assert kind == "Ok", details
        transaction = self.random.randbytes(32)
        self.model.paying(Deposit(None, "Eth", amount, transaction))
        about = {"details": details, "sender": None, "amount": None, "transaction": transaction}
        self.block(Call(None, "Dev", "send_to_vault", about | {"is_final": True}))


STEPS: Final = {
    "open": 20,
    "again": 14,
    "pay": 26,
    "wait": 16,
    "jump": 6,
    "announce": 10,
    "mark": 3,
    "fail": 8,
    "abort": 4,
    "hold": 4,
    "price": 4,
    "turn": 5,
    "withdraw": 5,
    "swap_balance": 3,
    "epoch": 3,
    "early": 5,
    "provide": 5,
    "message": 4,
    "re_sign": 4,
    "vault_swap": 4,
}
"""The steps of a life, and how often each is taken."""
