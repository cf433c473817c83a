"""Heights of the foreign chains follow the clock; channels end by them, and addresses serve again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from cfnode.core.aura import SLOT_MS
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.chains import CHAIN_INSTANCES
from cfnode.devchain.runtime.config import DevGenesis
from cfnode.devchain.runtime.pallets.chain_tracking import CHAIN_TRACKING
from cfnode.devchain.runtime.pallets.ingress_egress.storage import INGRESS_EGRESS
from cfnode.devchain.runtime.releases import DEFAULT_RELEASE, RELEASES
from tests.devchain.runtime.broker import GAS_ASSETS, Broker, request
from tests.devchain.runtime.world import FIRST_SLOT, World

BUFFERS = {"Ethereum": 8, "Bitcoin": 8, "Arbitrum": 8, "Assethub": 1, "Tron": 25, "Solana": 0}


def state(world: World, chain: str) -> Any:
    """Return the tracked state of a foreign chain."""
    return world.stored(f"{chain}ChainTracking", "CurrentChainState")


CHAINS = RELEASES[DEFAULT_RELEASE].chains


@pytest.mark.parametrize("chain", GAS_ASSETS)
def test_a_height_is_the_time_in_nominal_blocks(chain: str) -> None:
    """Derive a foreign height from the time, in nominal blocks and whole witness periods."""
    world, figures = World(), CHAIN_INSTANCES[chain]
    assert state(world, chain)["block_height"] == 0
    for number in (1, 2, 3):
        world.block()
        blocks = (FIRST_SLOT + number) * SLOT_MS // figures.block_time
        expected = blocks - blocks % figures.witness_period
        assert state(world, chain)["block_height"] == expected


def test_only_a_new_height_has_an_event() -> None:
    """Emit an event for a height that has changed, and for no other."""
    world = World()
    world.block()
    for _ in range(4):
        before = {chain: state(world, chain)["block_height"] for chain in CHAINS}
        world.block()
        moved = {c for c in CHAINS if state(world, c)["block_height"] != before[c]}
        updated = {name.split("ChainTracking")[0] for name in world.names() if "ChainStateUpdated" in name}
        assert updated == moved
        assert {"Arbitrum", "Solana", "Tron"} <= moved


def test_events_of_heights_come_at_the_end_of_the_block() -> None:
    """Emit the events of heights at the end of the block."""
    world = World()
    world.block()
    phases = {phase for phase, _, name, _ in world.events() if name == "ChainStateUpdated"}
    assert phases == {"Finalization"}


def test_polkadot_is_not_watched() -> None:
    """Leave Polkadot at height zero: the chain is no longer witnessed."""
    world = World()
    for _ in range(3):
        world.block()
    assert state(world, "Polkadot")["block_height"] == 0


def test_blocks_count_as_processed_a_safe_distance_below_the_height() -> None:
    """Count blocks as processed only a safe distance below the height, in whole witness periods."""
    world = World()
    world.block()
    for chain, buffer in BUFFERS.items():
        height, figures = state(world, chain)["block_height"], CHAIN_INSTANCES[chain]
        safe = height - buffer
        processed = world.stored(f"{chain}IngressEgress", "ProcessedUpTo")
        assert processed == safe - safe % figures.witness_period, chain


def test_the_vaults_keys_live_through_the_epochs() -> None:
    """Carry the keys of the vaults over into a new epoch."""
    world = World()
    keys = {
        signer: world.stored(signer, "Keys", 1)
        for signer in ("EvmThresholdSigner", "BitcoinThresholdSigner", "SolanaThresholdSigner")
    }
    composition, journal = world.runtime.composition, world.journal
    with composition.on(journal):
        for pallet in composition.pallets:
            pallet.on_new_epoch(2)
    world.state.apply(journal.changes())
    for signer, value in keys.items():
        assert value is not None
        assert world.stored(signer, "CurrentKeyEpoch") == 2
        assert world.stored(signer, "Keys", 2) == value
    assert (
        world.stored("EthereumVault", "VaultStartBlockNumbers", 2) == state(world, "Ethereum")["block_height"]
    )


# The end of a channel


class Channels(Broker):
    """A broker whose channels' time can be made to pass."""

    def let_expire(self, chain: str) -> None:
        """Go to where the chain's channels are recycled, and one block on."""
        queue = self.world.stored(f"{chain}IngressEgress", "DepositChannelRecycleBlocks")
        figures = CHAIN_INSTANCES[chain]
        with self.arranging() as runtime:
            height = figures.after_period(max(height for height, _ in queue) + BUFFERS[chain])
            tracking = runtime.pallet(CHAIN_TRACKING[chain])
            state = tracking.CurrentChainState
            state.put(replace(state.known(), block_height=height))
        self.world.block()
        self.world.block()

    def set_state(self, chain: str, address: Any, new: Any) -> None:
        """Set the stored state of a channel's contract."""
        with self.arranging() as runtime:
            lookup = runtime.pallet(INGRESS_EGRESS[chain]).DepositChannelLookup
            details = lookup.known(address)
            channel = replace(details.deposit_channel, state=new)
            lookup.put(address, replace(details, deposit_channel=channel))

    def pool(self, chain: str) -> dict[int, Any]:
        """Return the channels of a chain that wait for their next owner."""
        with self.arranging() as runtime:
            return dict(runtime.pallet(INGRESS_EGRESS[chain]).DepositChannelPool.items())


@pytest.fixture
def broker() -> Channels:
    """Return a broker whose channels can be made to expire."""
    return Channels()


def test_an_expired_channel_is_listed_for_a_lifetime_more_and_then_forgotten(broker: Channels) -> None:
    """Keep an expired channel for one more lifetime, since deposits may be late, and then remove it."""
    answer = broker.opened(**request("Eth"))
    address = answer["deposit_address"][1]
    ((recycled_at, queued),) = broker.world.stored("EthereumIngressEgress", "DepositChannelRecycleBlocks")
    assert queued == address
    assert recycled_at == answer["source_chain_expiry_block"] + 6_171 + 1
    broker.world.block()
    assert broker.world.stored("EthereumIngressEgress", "DepositChannelLookup", address) is not None
    broker.let_expire("Ethereum")
    assert broker.world.stored("EthereumIngressEgress", "DepositChannelLookup", address) is None
    assert broker.world.stored("EthereumIngressEgress", "DepositChannelRecycleBlocks") == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Undeployed", None),
        ("Pending", values.DeploymentStatusDeployed(0)),
        (values.DeploymentStatusDeployed(9), values.DeploymentStatusDeployed(9)),
    ],
)
def test_only_a_deployed_contract_serves_again(broker: Channels, before: Any, after: Any) -> None:
    """Reuse a channel's address only where its contract is deployed."""
    address = broker.opened(**request("Eth"))["deposit_address"][1]
    broker.set_state("Ethereum", address, before)
    broker.let_expire("Ethereum")
    assert [contract.state for contract in broker.pool("Ethereum").values()] == ([after] if after else [])


@pytest.mark.parametrize(("asset", "serves_again"), [("HubDot", True), ("Btc", False), ("Sol", False)])
def test_accounts_serve_again_and_bitcoin_and_solana_addresses_never(
    broker: Channels, asset: str, serves_again: bool
) -> None:
    """Reuse the accounts of AssetHub, and never an address of Bitcoin or Solana."""
    chain = {"HubDot": "Assethub", "Btc": "Bitcoin", "Sol": "Solana"}[asset]
    first = broker.opened(**request(asset, "Eth"))
    broker.let_expire(chain)
    assert list(broker.pool(chain)) == ([1] if serves_again else [])
    second = broker.opened(**request(asset, "Eth"))
    assert (second["deposit_address"] == first["deposit_address"]) is serves_again
    assert second["channel_id"] == (1 if serves_again else 2)


def test_a_channel_from_the_pool_keeps_its_address_and_takes_the_new_asset(broker: Channels) -> None:
    """Keep address and id of a channel from the pool, and change its asset to the new one."""
    address = broker.opened(**request("Eth"))["deposit_address"]
    broker.set_state("Ethereum", address[1], values.DeploymentStatusDeployed(9))
    broker.let_expire("Ethereum")
    answer = broker.opened(**request("Usdc"))
    assert (answer["deposit_address"], answer["channel_id"]) == (address, 1)
    details = broker.world.stored("EthereumIngressEgress", "DepositChannelLookup", address[1])
    assert details["deposit_channel"]["asset"] == "Usdc"
    assert broker.pool("Ethereum") == {}


# Channels that are kept back


def keep_back(broker: Broker, chain: str, count: int) -> None:
    """Set how many channels are preallocated for a broker on a chain."""
    with broker.arranging() as runtime:
        runtime.pallet(INGRESS_EGRESS[chain]).MaximumPreallocatedChannels.put("Broker", count)


def kept(broker: Broker, chain: str) -> Any:
    """Return the ids of the channels that are preallocated for the broker."""
    function = "CustomRuntimeApi_cf_get_preallocated_deposit_channels"
    return broker.world.api(function, broker.account, chain)


def test_channels_are_kept_back_so_that_the_next_ones_are_known_beforehand(broker: Channels) -> None:
    """Preallocate the next channels of a broker, and give them out in their order."""
    keep_back(broker, "Bitcoin", 2)
    assert broker.opened(**request("Btc", "Eth"))["channel_id"] == 1
    assert kept(broker, "Bitcoin") == [2, 3]
    assert broker.opened(**request("Btc", "Eth"))["channel_id"] == 2
    assert kept(broker, "Bitcoin") == [3, 4]


def test_channels_made_in_advance_are_used_up_once_the_limit_is_zero(broker: Channels) -> None:
    """Give out preallocated channels that are left once the limit is zero, and allocate no others."""
    keep_back(broker, "Bitcoin", 2)
    broker.opened(**request("Btc", "Eth"))
    keep_back(broker, "Bitcoin", 0)
    assert [broker.opened(**request("Btc", "Eth"))["channel_id"] for _ in range(3)] == [2, 3, 4]
    assert kept(broker, "Bitcoin") == []


def test_without_a_limit_nothing_is_kept_back(broker: Channels) -> None:
    """Preallocate nothing without a limit."""
    assert broker.opened(**request("Btc", "Eth"))["channel_id"] == 1
    assert kept(broker, "Bitcoin") == []


def test_on_tron_channels_were_made_in_advance_in_2_2_3() -> None:
    """Preallocate new channels on Tron in 2.2.3, as that release did."""
    broker = Channels(config=DevGenesis(release="2.2.3"))
    keep_back(broker, "Tron", 2)
    assert broker.opened(**request("Trx"))["channel_id"] == 1
    assert kept(broker, "Tron") == [2, 3]


@pytest.mark.parametrize(("asset", "chain"), [("Eth", "Ethereum"), ("Trx", "Tron")])
def test_evm_channels_are_kept_back_only_from_the_pool(asset: str, chain: str) -> None:
    """Preallocate EVM channels from the pool of deployed contracts only."""
    broker = Channels(config=DevGenesis(release="2.2.9"))
    keep_back(broker, chain, 2)
    assert broker.opened(**request(asset))["channel_id"] == 1
    assert kept(broker, chain) == []
    addresses = [broker.opened(**request(asset))["deposit_address"][1] for _ in range(2)]
    for address in addresses:
        broker.set_state(chain, address, values.DeploymentStatusDeployed(9))
    broker.let_expire(chain)
    assert sorted(broker.pool(chain)) == [2, 3]
    assert broker.opened(**request(asset))["channel_id"] in (2, 3)
    assert len(kept(broker, chain)) == 1


@pytest.mark.parametrize(
    ("release", "asset", "chain"),
    [("2.3.0", "Sol", "Solana"), ("2.2.9", "Sol", "Solana"), ("2.2.9", "HubDot", "Assethub")],
)
def test_channels_end_by_the_chains_height_where_blocks_are_not_processed(
    release: str, asset: str, chain: str
) -> None:
    """Recycle channels by the chain's height, not by the blocks processed, where the release does so."""
    broker = Channels(config=DevGenesis(release=release))
    answer = broker.opened(**request(asset))
    ((recycled_at, address),) = broker.world.stored(f"{chain}IngressEgress", "DepositChannelRecycleBlocks")
    expires_at = answer["source_chain_expiry_block"]
    lifetime = broker.world.stored(f"{chain}IngressEgress", "DepositChannelLifetime")
    later = CHAIN_INSTANCES[chain].after_period(expires_at + lifetime)
    assert recycled_at == (expires_at if chain == "Solana" else later), "on Solana an election ends it"
    with broker.arranging() as runtime:
        pallet, tracking = runtime.pallet(INGRESS_EGRESS[chain]), runtime.pallet(CHAIN_TRACKING[chain])
        pallet.ProcessedUpTo.put(2**32 - 1)
        pallet.DepositChannelRecycleBlocks.put([(tracking.height() + 1_000, address)])
    broker.world.block()
    lookup = (f"{chain}IngressEgress", "DepositChannelLookup", address)
    assert broker.world.stored(*lookup) is not None
    with broker.arranging() as runtime:
        pallet = runtime.pallet(INGRESS_EGRESS[chain])
        pallet.ProcessedUpTo.put(0)
        pallet.DepositChannelRecycleBlocks.put([(runtime.pallet(CHAIN_TRACKING[chain]).height(), address)])
    broker.world.block()
    assert broker.world.stored(*lookup) is None


def test_channels_of_assethub_end_by_what_was_witnessed_in_2_3(broker: Channels) -> None:
    """Recycle channels of AssetHub in 2.3 by the blocks processed."""
    broker.opened(**request("HubDot"))
    ((_, address),) = broker.world.stored("AssethubIngressEgress", "DepositChannelRecycleBlocks")
    with broker.arranging() as runtime:
        height = runtime.pallet(CHAIN_TRACKING["Assethub"]).height()
        runtime.pallet(INGRESS_EGRESS["Assethub"]).DepositChannelRecycleBlocks.put([(height, address)])
        runtime.pallet(INGRESS_EGRESS["Assethub"]).ProcessedUpTo.put(height - 1)
    broker.world.block()
    lookup = ("AssethubIngressEgress", "DepositChannelLookup", address)
    assert broker.world.stored(*lookup) is not None
    with broker.arranging() as runtime:
        runtime.pallet(INGRESS_EGRESS["Assethub"]).ProcessedUpTo.put(height)
    broker.world.block()
    assert broker.world.stored(*lookup) is None
