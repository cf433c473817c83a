"""The parts of a development chain, and `run`, which starts a node that makes one.

The parts are an author, the voters that finalize its blocks, its clock, and the controls for tests. The node
depends on none of them: it runs a `Producer` (`cfnode.node.node`), and `run` is the node's own `run` with
this producer.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import trio

from cfnode.core.aura import SLOT_MS
from cfnode.core.chainspec import ChainSpec, RawGenesis
from cfnode.core.keys import Keypair
from cfnode.core.state import TIMESTAMP_NOW
from cfnode.devchain.author import Author
from cfnode.devchain.authorities import ENGINE_SURI, AuthorityKeys, read_authorities, well_known
from cfnode.devchain.clock import ChainClock, ClockError, wall_ms
from cfnode.devchain.config import DevConfig
from cfnode.devchain.control import DevControl
from cfnode.devchain.registration import BROKER_ROLE, PROVIDER_ROLE, AccountRole, Registration, store_key
from cfnode.devchain.round_voter import RoundVoter
from cfnode.devchain.runtime_choice import RUNTIMES, runs_development
from cfnode.devchain.snapshots import SnapshotDeposit, Snapshots
from cfnode.devchain.spec import DEVELOPMENT, load_spec
from cfnode.devchain.swap_log import SwapLog
from cfnode.devchain.swaps.index import SwapIndex
from cfnode.devchain.voter import Voter
from cfnode.node import service
from cfnode.node.chain.chain import NodeChain
from cfnode.node.config import Config
from cfnode.node.node import Node
from cfnode.node.pool.pool import TransactionPool
from cfnode.node.restarts import supervise
from cfnode.node.signing.key import GivenKey
from cfnode.store.base_path import CAST_VOTES, ChainPaths
from cfnode.store.keystore import Keystore

if TYPE_CHECKING:
    from cfnode.devchain.engine.engine import Engine

__all__ = ["DevelopmentChain", "development_chain", "run"]

KEYS_AT_HAND = 6
"""Number of well-known authorities: //Alice to //Ferdie. A chain from a file may have the engine's too."""

ADVICE = {
    BROKER_ROLE: "start the node with --dev-broker //Alice",
    PROVIDER_ROLE: "start the node with --dev-lp //Bob",
}

TIME_BYTES = 8
"""Size in bytes of Timestamp.Now, a u64; a value of another size is ignored."""


class DevelopmentChain:
    """A chain that the node makes itself; a `cfnode.node.node.Producer`."""

    def __init__(
        self,
        dev: DevConfig,
        authorities: Sequence[AuthorityKeys],
        clock: ChainClock,
        record: Path,
        named: Mapping[AccountRole, Keypair],
        node: Node,
    ) -> None:
        aura = {keys.aura.public: keys.aura for keys in authorities} | _stored(node.keystore, "aura")
        aura = {public: key.repeatable() for public, key in aura.items()}
        grandpa = {keys.grandpa.public: keys.grandpa for keys in authorities} | _stored(node.keystore, "gran")
        signing = [keypair for keypair in (node.broker, node.provider) if keypair is not None]
        for account in signing:
            account.repeat_signatures()
        funded = list({keypair.account: None for keypair in signing})
        self.config = dev
        self.clock = clock
        self.engine = None if runs_development(node.spec) else _engine(node.chain, aura, funded)
        self.voter = Voter(node.chain, grandpa, lag=dev.finality_lag, silent=dev.silent)
        self.round_voter = RoundVoter(
            node.chain, self.voter, grandpa, node.sync.finality, dev.finality_lag, record
        )
        self.author = Author(
            node.chain,
            node.executor,
            node.pool,
            clock,
            self.voter,
            aura,
            seal=dev.seal,
            block_time_ms=dev.block_time,
            funded=funded,
            opening=_opening(
                self.engine,
                [Registration(node.chain, key.repeatable(), role) for role, key in named.items()],
            ),
            on_block=node.metrics.block_proposed,
        )
        snapshots_path = ChainPaths(node.config.base_path, node.spec.id).chain / "snapshots"
        self.snapshots = Snapshots(snapshots_path, node, self.author, self.voter, clock)
        self.snapshots.engine = self.engine
        parts = (node.chain, node.pool, self.author, self.voter, self.snapshots)
        self.control = DevControl(*parts) if self.engine is None else _engine_control(*parts, self.engine)
        self.swaps = SwapIndex(node.chain)
        self.swap_log = SwapLog(node.chain)

    @property
    def announced(self) -> Mapping[Any, SnapshotDeposit]:
        """Announced deposits that are not confirmed yet, by deposit address in the form of the events."""
        return self.control.announced

    async def fund_account(self, account: bytes, amount: int) -> None:
        """Fund an account with FLIP (smallest unit)."""
        await self.control.fund_account(account, amount)

    async def follow(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Index the chain's swaps, and log their steps."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(supervise, "index of swaps", self.swaps.run)
            nursery.start_soon(supervise, "log of swaps", self.swap_log.run)
            await self.swaps.up_to_date()
            task_status.started()

    async def produce(self) -> None:
        """Make and finalize blocks."""
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(supervise, "finality voter", self.voter.run)
                nursery.start_soon(supervise, "round voter", self.round_voter.run)
                nursery.start_soon(supervise, "block author", self.author.run)
        finally:
            await self.snapshots.clear()


def development_chain(node: Node) -> DevelopmentChain | None:
    """Return the development chain that this node makes, if any."""
    return node.producer if isinstance(node.producer, DevelopmentChain) else None


async def run(
    config: Config,
    dev: DevConfig | None = None,
    *,
    services: Iterable[service.Service] = (),
    task_status: trio.TaskStatus[Node] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Run a node of the chain in `config` until cancelled; `started` gives the Node.

    With `dev` the node makes the chain itself.

    Raises AuthoritiesError, ClockError, ChainSpecError, SuriError, KeystoreError, and what
    `cfnode.node.service.run` raises.
    """
    authorities = _authorities(config, dev)
    spec = await trio.to_thread.run_sync(load_spec, config.chain, dev, authorities)
    if config.chain == DEVELOPMENT and config.keystore_path is None:
        # Chains that differ by flags (`dev-` and eight digits) use the keys of `dev`.
        config = replace(config, keystore_path=ChainPaths(config.base_path, DEVELOPMENT).keystore)
    make, keypairs = None, dict[AccountRole, Keypair]()
    if dev is not None:
        keypairs = await trio.to_thread.run_sync(_named, config, dev, spec)
        record = ChainPaths(config.base_path, spec.id).database / CAST_VOTES
        make = partial(DevelopmentChain, dev, authorities, clock_of(dev, spec), record, keypairs)
    await service.run(
        config,
        spec,
        runtimes=RUNTIMES,
        make_producer=make,
        broker=_given(BROKER_ROLE, keypairs, dev),
        provider=_given(PROVIDER_ROLE, keypairs, dev),
        services=services,
        task_status=task_status,
    )


def _named(config: Config, dev: DevConfig, spec: ChainSpec) -> dict[AccountRole, Keypair]:
    """Store the keys of --dev-broker and --dev-lp in the keystore, and return them by role."""
    keystore = Keystore(config.keystore_path or ChainPaths(config.base_path, spec.id).keystore)
    suris = {BROKER_ROLE: dev.broker_suri, PROVIDER_ROLE: dev.provider_suri}
    return {role: store_key(role, keystore, suri) for role, suri in suris.items() if suri is not None}


def _given(role: AccountRole, named: Mapping[AccountRole, Keypair], dev: DevConfig | None) -> GivenKey:
    return GivenKey(named.get(role), ADVICE[role] if dev is not None else "")


def _engine(chain: NodeChain, keys: Mapping[bytes, Keypair], funded: Sequence[bytes]) -> Engine:
    # Imported late: it needs parts of the development runtime, which no other node should load.
    from cfnode.devchain.engine.engine import Engine
    from cfnode.devchain.engine.liquidity import PROVIDER

    return Engine(chain, {**keys, PROVIDER.public: PROVIDER}, funded)


def _engine_control(
    chain: NodeChain,
    pool: TransactionPool,
    author: Author,
    voter: Voter,
    snapshots: Snapshots,
    engine: Engine,
) -> DevControl:
    from cfnode.devchain.engine.control import EngineControl

    return EngineControl(chain, pool, author, voter, snapshots, engine)


def _opening(
    engine: Engine | None, registrations: Sequence[Registration]
) -> Callable[[bytes], Awaitable[list[bytes]]] | None:
    """Return a function that gives the first transactions of a block; None if there are none.

    The engine's come first: they fund the accounts that are registered.
    """

    async def transactions(parent: bytes) -> list[bytes]:
        engine_transactions = [] if engine is None else await engine.opening(parent)
        return engine_transactions + [
            transaction
            for registration in registrations
            for transaction in await registration.transactions(parent)
        ]

    return transactions if registrations or engine is not None else None


def _authorities(config: Config, dev: DevConfig | None) -> tuple[AuthorityKeys, ...]:
    """Return the authorities whose keys this node has; by default well-known ones."""
    if dev is None:
        return ()
    if config.chain == DEVELOPMENT or dev.authorities is not None:
        return read_authorities(dev.authorities)
    return (*well_known(KEYS_AT_HAND), AuthorityKeys.from_suri(ENGINE_SURI))


def _stored(keystore: Keystore, key_type: str) -> dict[bytes, Keypair]:
    return {public: keystore.pair(key_type, public) for public in keystore.keys(key_type)}


def clock_of(dev: DevConfig, spec: ChainSpec, wall_ms: Callable[[], int] = wall_ms) -> ChainClock:
    """Return the clock of a chain with these flags that begins with this state. Raises ClockError.

    If the state has the time of its last block, the clock continues from there: the contents of the state
    were valid then, and the chain's own runtime may count each skipped slot. Else the chain runs in real time
    at one block in 6 s, and has its own clock if it may be faster or is to begin earlier.
    """
    last_ms = last_block_ms(spec)
    if dev.start_time == "now":
        return ChainClock(wall_ms=wall_ms)
    if dev.start_time is not None:
        if last_ms is not None and dev.start_time <= last_ms:
            raise ClockError(
                f"--dev-start-time {dev.start_time} lies before the last block of this chain's state, "
                f"{last_ms} ms: choose a later time, or remove the state's time with build-spec --forget-time"
            )
        return ChainClock.own(dev.start_time, wall_ms=wall_ms)
    if last_ms is not None:
        return ChainClock.after(last_ms, wall_ms=wall_ms)
    if dev.seal == "slots" and dev.block_time >= SLOT_MS:
        return ChainClock(wall_ms=wall_ms)
    return ChainClock.own(wall_ms=wall_ms)


def last_block_ms(spec: ChainSpec) -> int | None:
    """Return the time of the last block in a chain's initial state, Unix ms; None without one."""
    stored = spec.genesis.top.get(TIMESTAMP_NOW, b"") if isinstance(spec.genesis, RawGenesis) else b""
    return int.from_bytes(stored, "little") or None if len(stored) == TIME_BYTES else None
