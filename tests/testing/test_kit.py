"""The test kit against a node: typed channels, awaited events, unconfirmed deposits, mistakes."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterator
from decimal import Decimal

import pytest
from click.testing import CliRunner

from cfnode.cli import cli
from cfnode.core.assets import asset_in_text
from cfnode.sdk import FillOrKillParams, RpcCallError, SdkError, ValidationError
from cfnode.swaps.checksums import checksum_text
from cfnode.swaps.identity import ChannelId
from cfnode.testing import Channel, DevChain, NotReached, UnknownEvent, awaiting, dev_calls, running_node

BITCOIN = "bcrt1p785mga8djc3r5f7afaechlth4laxaty2rt08ncgydw4j7zv8np5suf7etv"
ETHEREUM = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"
SOLANA = "3yKDHJgzS2GbZB9qruoadRYtq8597HZifnRju7fHpdRC"
EXECUTED = ("Swapping", "SwapExecuted")
BOOSTED = ("BitcoinIngressEgress", "DepositBoosted")
COIN = 10**8


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevChain]:
    """Yield a chain with a registered broker."""
    with running_node(tmp_path_factory.mktemp("kit")) as node, DevChain(node.url) as chain:
        chain.do(dev_calls.first_block())
        chain.broker.register()
        yield chain


@pytest.fixture
def chain(session: DevChain) -> Iterator[DevChain]:
    """Yield the chain, restored afterwards."""
    snapshot = session.snapshot()
    session.do(awaiting.begin(session.cursor))
    yield session
    session.revert(snapshot)


def opened(chain: DevChain, boost_fee: int | None = None) -> Channel:
    """Open a channel from Bitcoin to Ethereum."""
    return chain.broker.open_channel("BTC", "Eth", ETHEREUM, refund_address=BITCOIN, boost_fee=boost_fee)


# Channels


@pytest.mark.parametrize(
    ("asset", "refund"),
    [("bitcoin/btc", BITCOIN), ("ArbUsdc", ETHEREUM), ("sol", SOLANA), ("Assethub:DOT", "0x" + "11" * 32)],
)
def test_a_channel_has_what_a_test_goes_on_with(chain: DevChain, asset: str, refund: str) -> None:
    """Give a channel the id, asset, expiry and address that a test goes on with."""
    receiver = BITCOIN if asset != "bitcoin/btc" else ETHEREUM
    target = "Btc" if asset != "bitcoin/btc" else "Eth"
    channel = chain.broker.open_channel(asset, target, receiver, refund_address=refund, commission_bps=10)
    assert ChannelId.parse(channel.id) == ChannelId(
        channel.chain, channel["channel_id"], channel["issued_block"]
    )
    assert (channel.asset, channel.destination) == (asset_in_text(asset).name, target)
    assert (channel.expiry_block, channel.opening_fee) == (channel["source_chain_expiry_block"], 0)
    chain.deposit(channel, amount=10**12)
    status = chain.sdk.get_status_v2(channel.id)
    assert status.state in ("SWAPPING", "SENDING", "SENT", "COMPLETED")
    assert status.deposit_channel is not None
    assert status.deposit_channel.deposit_address == channel["address"]


@pytest.mark.parametrize("amount", ["0.1", Decimal("0.1"), 10_000_000])
def test_an_amount_is_whole_units_as_text_or_base_units_as_a_number(
    chain: DevChain, amount: str | Decimal | int
) -> None:
    """Read an amount as whole units in text, and as base units in a number."""
    channel = opened(chain)
    chain.deposit(channel, amount=amount)
    deposit = chain.sdk.get_status_v2(channel.id).deposit
    assert deposit is not None
    assert deposit.amount == 10_000_000
    with pytest.raises(SdkError, match="BTC has 8 decimals"):
        chain.set_boost("BTC", "0.000000001")


@pytest.mark.parametrize("price", ["2800.5", Decimal("2800.50")])
def test_a_price_is_dollars_and_no_number_that_once_was_less(chain: DevChain, price: str | Decimal) -> None:
    """Read a price as dollars in text or Decimal, and refuse numbers, which once were micro-dollars."""
    chain.set_price("eth", price)
    ether, dollars = {"chain": "Ethereum", "asset": "ETH"}, {"chain": "Ethereum", "asset": "USDC"}
    pool = chain.rpc("cf_pool_price_v2", ether, dollars)
    root = Decimal(int(pool["range_order"], 16)) / 2**96
    assert round(root**2 * 10**12, 1) == Decimal("2800.5")
    for wrong in (2_800_500_000, 2800.5, "0", "0.0000001", True):
        with pytest.raises(ValidationError, match="price: "):
            chain.set_price("ETH", wrong)  # type: ignore[arg-type]
    with pytest.raises(
        ValidationError, match=r'dollars as text or a Decimal, such as "2800", not 2800500000'
    ):
        chain.set_price("ETH", 2_800_500_000)  # type: ignore[arg-type]


def test_a_channel_is_open_until_about_its_expiry(chain: DevChain) -> None:
    """Accept a deposit an hour before the channel's expiry, and refuse it an hour after."""
    channel = opened(chain)
    hour = 3_600
    chain.clock.jump((channel.expiry - chain.clock.now()) / 1000 - hour)
    chain.deposit(channel, amount=COIN)
    chain.clock.jump(2 * hour)
    with pytest.raises(RpcCallError, match="ChannelExpired"):
        chain.deposit(channel, amount=COIN)


def test_a_channel_is_the_brokers_answer_as_before(chain: DevChain) -> None:
    """Keep a channel the broker's answer as a dict, with a hint for a mistyped member."""
    channel = opened(chain)
    assert json.loads(json.dumps(channel))["address"] == channel["address"] == channel.address
    assert {**channel} == dict(channel) == pickle.loads(pickle.dumps(channel))
    assert repr(channel) == (
        f"Channel(id='{channel.id}', address='{channel.address}', asset='Btc', expiry={channel.expiry})"
    )
    with pytest.raises(KeyError, match=r"unknown member 'adress' of a channel\. Did you mean address\?"):
        channel["adress"]
    assert "adress" not in channel
    assert channel.get("adress") is None


# Mistakes


def test_a_mistake_is_answered_with_what_was_meant(chain: DevChain) -> None:
    """Answer a mistake with what was meant, without a block."""
    channel = opened(chain)
    best = chain.rpc("chain_getBlockHash")
    with pytest.raises(UnknownEvent, match=r"unknown pallet 'Swaping'\. Did you mean Swapping\?"):
        chain.advance_to("Swaping", "SwapExecuted")
    with pytest.raises(UnknownEvent, match=r"unknown event of Swapping 'SwapExecutd'\. Did you mean SwapEx"):
        chain.advance_to("Swapping", "SwapExecutd")
    with pytest.raises(UnknownEvent, match=r"unknown event of Aura 'New'\. Choose from none: it has no"):
        chain.advance_to("Aura", "New")
    with pytest.raises(ValueError, match=r"Unknown asset 'Bct'\. Did you mean BTC"):
        chain.broker.open_channel("Bct", "Eth", ETHEREUM, refund_address=BITCOIN)
    with pytest.raises(TypeError, match=r"unknown argument 'bost_fee'\. Did you mean boost_fee\?"):
        chain.broker.open_channel("Btc", "Eth", ETHEREUM, refund_address=BITCOIN, bost_fee=3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="the amount is missing"):
        chain.deposit(channel)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="the asset is missing"):
        chain.deposit(channel.address, amount=COIN)  # type: ignore[call-overload]
    assert chain.rpc("chain_getBlockHash") == best, "no mistake adds a block"


def test_a_kits_error_has_no_frames_of_the_kit(chain: DevChain) -> None:
    """Leave the kit's own frames out of a traceback."""
    with pytest.raises(UnknownEvent) as caught:
        chain.advance_to("Swaping", "SwapExecuted")
    with pytest.raises(TypeError) as mistyped:
        chain.deposit(opened(chain))  # type: ignore[call-overload]
    for raised in (caught, mistyped):
        files = [str(entry.path) for entry in raised.traceback]
        kept = [str(entry.path) for entry in raised.traceback.filter(raised)]
        assert any("cfnode/testing" in file for file in files)
        assert not [file for file in kept if "cfnode/testing" in file]
        assert kept[0] == __file__


# Awaited events


def test_an_event_is_returned_once_and_none_is_missed(chain: DevChain) -> None:
    """Return an event once, miss none of the blocks between, and give up after the limit."""
    channel = opened(chain)
    requests = []
    for _ in range(3):
        chain.deposit(channel, amount=COIN)
        requests.append(chain.advance_to(*EXECUTED)["fields"]["swap_request_id"])
    assert requests == [1, 2, 3]
    chain.deposit(channel, amount=COIN)
    chain.new_block(8)  # the swap is executed in one of them
    assert chain.advance_to(*EXECUTED)["fields"]["swap_request_id"] == 4
    with pytest.raises(
        NotReached, match=r"no event Swapping.SwapExecuted in 3 added blocks, from block \d+ on"
    ):
        chain.advance_to(*EXECUTED, max_blocks=3)


def test_an_event_before_another_one_of_its_block_is_not_passed_over(chain: DevChain) -> None:
    """Find an event that comes before another one of its block."""
    channel = opened(chain)
    chain.deposit(channel, amount=COIN)
    block = chain.rpc("chain_getBlockHash")
    names = [(event["pallet"], event["name"]) for event in chain.events(block)]
    last, repeated = names[-1], next(name for name in names if names.count(name) > 1)
    assert chain.advance_to(*last)["block"] == block
    fields = [chain.advance_to(*repeated, max_blocks=0)["fields"] for _ in range(names.count(repeated))]
    assert fields == [
        event["fields"] for event in chain.events(block) if (event["pallet"], event["name"]) == repeated
    ]
    with pytest.raises(NotReached):
        chain.advance_to(*repeated, max_blocks=0)


async def test_both_clients_of_a_chain_await_the_same_events(chain: DevChain) -> None:
    """Share the awaited events between both clients of a chain."""
    channel = opened(chain)
    async with chain.aio() as same:
        await same.deposit(channel, amount=COIN)
        first = await same.advance_to(*EXECUTED)
        chain.deposit(channel, amount=COIN)
        second = chain.advance_to(*EXECUTED)
        assert (first["fields"]["swap_request_id"], second["fields"]["swap_request_id"]) == (1, 2)
        with pytest.raises(NotReached):
            await same.advance_to(*EXECUTED, max_blocks=1)
        snapshot = await same.snapshot()
        chain.deposit(channel, amount=COIN)
        third = chain.advance_to(*EXECUTED)
        await same.revert(snapshot)
        await same.deposit(channel, amount=COIN)
        assert (await same.advance_to(*EXECUTED))["fields"] == third["fields"], "awaited anew"


def test_after_another_clients_revert_only_new_events_are_awaited(chain: DevChain) -> None:
    """Await only new events after another client's revert."""
    channel = opened(chain)
    chain.deposit(channel, amount=COIN)
    chain.advance_to(*EXECUTED)
    with DevChain(chain.url) as other:
        snapshot = other.snapshot()
        chain.deposit(channel, amount=COIN)
        assert chain.advance_to(*EXECUTED)["fields"]["swap_request_id"] == 2
        other.revert(snapshot)
    with pytest.raises(NotReached):
        chain.advance_to(*EXECUTED, max_blocks=1)
    chain.deposit(channel, amount=COIN)
    assert chain.advance_to(*EXECUTED)["fields"]["swap_request_id"] == 2


def test_a_client_without_a_search_begins_in_the_best_block(chain: DevChain) -> None:
    """Begin at the best block with a client that has not searched."""
    channel = opened(chain)
    with DevChain(chain.url) as fresh:
        fresh.deposit(channel, amount=COIN)
        finalised = fresh.advance_to("BitcoinIngressEgress", "DepositFinalised")
        assert finalised["block"] == fresh.rpc("chain_getBlockHash")


# Unconfirmed deposits


def announced_by_the_kit(chain: DevChain) -> str:
    """Announce a deposit by the kit; return the channel's address."""
    channel = opened(chain, boost_fee=30)
    chain.announce(channel, amount=COIN)
    return channel.address


def announced_by_the_sdk(chain: DevChain) -> str:
    """Announce a deposit by the SDK; return the channel's address."""
    (quote,) = chain.sdk.get_quote_v2("bitcoin", "btc", "ethereum", "eth", COIN).quotes
    assert quote.boost_quote is not None
    terms = FillOrKillParams(BITCOIN, 100, slippage_tolerance_percent="5")
    channel = chain.sdk.request_deposit_address_v2(quote.boost_quote, ETHEREUM, terms)
    chain.sdk.dev_announce(channel)
    return channel.deposit_address


def announced_by_a_command(chain: DevChain) -> str:
    """Announce a deposit by a command; return the channel's address."""
    channel = opened(chain, boost_fee=30)
    done = CliRunner().invoke(cli, ["dev", "announce", channel.id, "bitcoin:btc", "1", "--node", chain.url])
    assert (done.exit_code, done.stderr) == (0, "")
    return channel.address


@pytest.mark.parametrize("announced", [announced_by_the_kit, announced_by_the_sdk, announced_by_a_command])
def test_an_announced_deposit_is_boosted_and_a_later_one_confirms_it(
    chain: DevChain, announced: Callable[[DevChain], str]
) -> None:
    """Boost an announced deposit, and confirm it by a later one."""
    chain.set_boost("btc", 100 * COIN)
    address = announced(chain)
    boosted = chain.advance_to(*BOOSTED)
    assert boosted["fields"]["amounts"] == [["BoostPool", COIN]]
    chain.deposit(address, "Btc", COIN)
    assert (
        chain.advance_to("BitcoinIngressEgress", "DepositFinalised")["fields"]["action"][0]
        == "BoostersCredited"
    )


def test_an_announcement_without_a_channel_is_refused_everywhere(chain: DevChain) -> None:
    """Refuse an announcement without a channel, in kit and command alike."""
    text = f"no deposit channel of Ethereum is open at {checksum_text(ETHEREUM)}"
    with pytest.raises(RpcCallError, match=text):
        chain.announce(ETHEREUM, "Eth", 10**18)
    done = CliRunner().invoke(cli, ["dev", "announce", ETHEREUM, "Eth", "1", "--node", chain.url])
    assert (done.exit_code, text in done.stderr) == (1, True)


def test_the_sdk_reads_an_unknown_asset_before_it_calls(chain: DevChain) -> None:
    """Refuse an unknown asset before the SDK calls."""
    with pytest.raises(ValidationError, match="src_asset: unknown asset of Bitcoin 'BCT'; did you mean BTC"):
        chain.sdk.get_quote_v2("Bitcoin", "BCT", "Ethereum", "ETH", COIN)
