"""Transactions that do not reach their chain in time: asked for again, given up, sent once more."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from cfnode.core.vault_calls import NATIVE_TOKEN
from cfnode.devchain.runtime.chains import CHAIN_INSTANCES
from cfnode.devchain.runtime.config import DevGenesis
from cfnode.devchain.runtime.genesis import dev_authorities
from cfnode.devchain.runtime.pallets.account_roles import AccountRoles
from cfnode.devchain.runtime.pallets.broadcast.pallet import BROADCASTERS
from cfnode.devchain.runtime.pallets.environment_storage import EnvironmentStorage
from cfnode.devchain.runtime.pallets.evm_signer import SILENT
from cfnode.devchain.runtime.pallets.validator_storage import ValidatorStorage
from tests.devchain.runtime.broker import ccm
from tests.devchain.runtime.swapper import BITCOIN, ETHER, Swapper
from tests.devchain.runtime.world import ALICE
from tests.support.devchain.broadcasts import emitted_by, hold, until

API, MONITORING = "CustomRuntimeApi_cf_", "MonitoringRuntimeApi_cf_"
IMPOSSIBLE_ID = 4_000


@pytest.fixture
def broker() -> Swapper:
    """Return a broker on a new chain."""
    return Swapper()


@pytest.fixture
def three() -> Swapper:
    """Return a chain of three authorities."""
    return Swapper(config=DevGenesis(authorities=dev_authorities(3)))


def governed(broker: Swapper, name: str, chain: str = "Ethereum", **arguments: Any) -> str:
    """Make a broadcaster's call as governance; return "Ok" or the error's name."""
    return broker.dev("as_governance", call=(f"{chain}Broadcaster", (name, arguments)))


def hurry(broker: Swapper, chain: str = "Ethereum") -> None:
    """Let transactions have one block of their chain: on Ethereum 14 seconds, two of our blocks or three."""
    assert governed(broker, "update_pallet_config", chain, update=("BroadcastTimeout", {"blocks": 1})) == "Ok"
    assert broker.event("PalletConfigUpdated")["update"] == ("BroadcastTimeout", {"blocks": 1})


def held_transaction(broker: Swapper, destination: str = "Eth", **changes: Any) -> Any:
    """Swap Bitcoin into something that waits to be sent; the request to send it."""
    hold(broker)
    broker.deposit("Btc", destination, BITCOIN, **changes)
    return until(broker, "TransactionBroadcastRequest")


# Time-outs


def test_a_transaction_has_as_many_blocks_of_its_chain_as_genesis_says(broker: Swapper) -> None:
    """Abort a broadcast after 20 blocks of its chain, with no authority left to ask."""
    asked = held_transaction(broker)
    ((expiry, broadcast_id, nominee),) = broker.world.stored("EthereumBroadcaster", "Timeouts")
    height = broker.world.stored("EthereumChainTracking", "CurrentChainState")["block_height"]
    assert (broadcast_id, nominee) == (asked["broadcast_id"], asked["nominee"])
    assert height <= expiry - 20 + 1 <= height + 1
    until(broker, "BroadcastTimeout")
    now = broker.world.stored("EthereumChainTracking", "CurrentChainState")["block_height"]
    assert expiry <= now <= expiry + 1
    # With one authority there is no other to ask.
    assert emitted_by(broker)[:2] == ["BroadcastTimeout", "BroadcastAborted"]
    counts = broker.world.api(MONITORING + "pending_broadcasts_count")
    assert counts["ethereum"] == 0
    assert broker.world.stored("EthereumBroadcaster", "AbortedBroadcasts") == [broadcast_id]


def test_every_authority_is_asked_before_a_broadcast_is_given_up(three: Swapper) -> None:
    """Ask every authority with the same calldata before a broadcast is aborted."""
    hurry(three)
    asked = [held_transaction(three)]
    assert three.world.api(MONITORING + "pending_broadcasts_count")["ethereum"] == 1
    for failures in (1, 2):
        until(three, "BroadcastTimeout")
        assert emitted_by(three) == ["BroadcastTimeout", "BroadcastRetryScheduled"]
        again = three.event("BroadcastRetryScheduled")
        assert again["retry_block"] == three.world.header.number + 1
        failed = three.world.stored("EthereumBroadcaster", "FailedBroadcasters", asked[0]["broadcast_id"])
        assert failed == sorted(request["nominee"] for request in asked)
        assert len(failed) == failures
        three.blocks(1)
        asked.append(three.event("TransactionBroadcastRequest"))
    until(three, "BroadcastTimeout")
    assert emitted_by(three) == ["BroadcastTimeout", "BroadcastAborted"]
    assert {request["nominee"] for request in asked} == set(
        three.world.stored("Validator", "CurrentAuthorities")
    )
    assert len({request["transaction_payload"]["data"] for request in asked}) == 1
    number = asked[0]["broadcast_id"]
    assert three.world.stored("EthereumBroadcaster", "FailedBroadcasters", number) == []
    three.blocks(5)
    assert three.world.stored("EthereumBroadcaster", "Timeouts") == []


def test_each_attempt_pays_the_fees_of_its_time(three: Swapper) -> None:
    """Set the fees of each attempt by the chain's fees at that time: an old price would not be mined."""
    hurry(three)
    first = held_transaction(three)
    with three.arranging() as runtime:
        tracking: Any = runtime.by_name["EthereumChainTracking"]
        state = tracking.CurrentChainState.known()
        fees = state.tracked_data
        dearer = replace(fees, base_fee=3 * fees.base_fee)
        tracking.CurrentChainState.put(replace(state, tracked_data=dearer))
    second = until(three, "TransactionBroadcastRequest")
    fees = [request["transaction_payload"]["max_fee_per_gas"] for request in (first, second)]
    assert fees == [2 * 2 * 10**9 + 10**8, 2 * 6 * 10**9 + 10**8]
    known = three.world.stored("EthereumBroadcaster", "TransactionMetadata", first["broadcast_id"])
    assert known["max_fee_per_gas"] == fees[1]


def test_a_held_transaction_arrives_even_after_its_broadcast_was_aborted(broker: Swapper) -> None:
    """Accept the success of a broadcast that was aborted: the transaction may arrive late."""
    hurry(broker)
    number = held_transaction(broker)["broadcast_id"]
    until(broker, "BroadcastAborted")
    hold(broker, held=False)
    assert broker.event("BroadcastSuccess")["broadcast_id"] == number
    assert broker.event("TransactionFeeDeficitRecorded")["amount"] > 0
    assert broker.world.stored("EthereumBroadcaster", "AbortedBroadcasts") == []
    assert broker.world.stored("EthereumBroadcaster", "PendingApiCalls", number) is None


def test_who_has_paid_for_a_transaction_is_owed_it(broker: Swapper) -> None:
    """Owe the sender of a transaction what it cost, and report the deficit against the withheld fees."""
    spent = 0
    for _ in range(2):
        broker.deposit("Btc", "Eth", BITCOIN)
        until(broker, "BroadcastSuccess")
        deficit = broker.event("TransactionFeeDeficitRecorded")
        spent += deficit["amount"]
    assert deficit["amount"] == 200_000 * 2_100_000_000
    ((owner, owed),) = broker.world.stored("AssetBalances", "Liabilities", "Eth")
    assert (owner, owed) == (("Account", ("Eth", deficit["beneficiary"])), spent)
    withheld = broker.world.stored("AssetBalances", "WithheldAssets", "Eth")
    imbalance = broker.world.api(MONITORING + "fee_imbalance")["ethereum"]
    assert imbalance == ("Deficit", spent - withheld)


def test_a_transaction_that_is_released_in_time_is_not_asked_for_again(three: Swapper) -> None:
    """Stop the timeout of a transaction that succeeds in time, so that it is not sent twice."""
    hurry(three)
    held_transaction(three)
    hold(three, held=False)
    assert "BroadcastSuccess" in emitted_by(three)
    three.blocks(6)
    for item in ("Timeouts", "PendingBroadcasts", "AbortedBroadcasts"):
        assert three.world.stored("EthereumBroadcaster", item) == []


@pytest.mark.parametrize(("asset", "chain"), [("Btc", "Bitcoin"), ("Sol", "Solana"), ("HubDot", "Assethub")])
def test_broadcasts_without_bytes_have_their_time_too(broker: Swapper, asset: str, chain: str) -> None:
    """Time out broadcasts of chains other than Ethereum, too, and accept their late success."""
    hurry(broker, chain)
    hold(broker, chain=chain)
    broker.deposit("Eth", asset, ETHER)
    broker.blocks(3)
    with broker.arranging() as runtime:  # as if the chain had gone on
        pallet = runtime.pallet(BROADCASTERS[chain])
        pallet.Timeouts.put([(0, number, who) for _, number, who in pallet.Timeouts.get()])
    broker.blocks(1)
    assert emitted_by(broker, chain)[:2] == ["BroadcastTimeout", "BroadcastAborted"]
    hold(broker, held=False, chain=chain)
    assert "BroadcastSuccess" in emitted_by(broker, chain)


def test_a_message_that_is_given_up_is_offered_and_no_more_once_it_has_arrived(broker: Swapper) -> None:
    """Offer an aborted message as a failed call until it arrives after all."""
    hurry(broker)
    number = held_transaction(broker, channel_metadata=ccm())["broadcast_id"]
    until(broker, "BroadcastAborted")
    assert emitted_by(broker) == ["BroadcastTimeout", "BroadcastAborted"]
    assert broker.event("CcmBroadcastFailed") == {"broadcast_id": number}
    offered = broker.world.api(API + "failed_call_ethereum", number)
    assert offered["data"][:4].hex() == "5293178e"
    hold(broker, held=False)
    assert broker.world.api(API + "failed_call_ethereum", number) is None


@pytest.mark.parametrize(("asset", "chain"), [("Eth", "Ethereum"), ("HubDot", "Assethub")])
def test_a_time_for_ever_is_one(broker: Swapper, asset: str, chain: str) -> None:
    """Accept a timeout of 2^32 - 1 blocks without an overflow."""
    governed(broker, "update_pallet_config", chain, update=("BroadcastTimeout", {"blocks": 2**32 - 1}))
    hold(broker, chain=chain)
    broker.deposit("Btc", asset, BITCOIN)
    broker.blocks(5)
    ((expiry, _, _),) = broker.world.stored(f"{chain}Broadcaster", "Timeouts")
    assert expiry >= 2**32 - 1


# Signatures


def test_a_signature_that_is_late_is_requested_again(broker: Swapper) -> None:
    """Request a late signature again in a new ceremony with the old request, payload and key."""
    broker.deposit("Btc", "Eth", BITCOIN)
    broker.blocks(2)
    first = broker.event("ThresholdSignatureRequest")
    silent = [(SILENT, b"")]
    for _ in range(9):
        broker.world.block(extra=silent)
        assert broker.world.names(1) == []
    broker.world.block(extra=silent)
    again, retry = broker.event("ThresholdSignatureRequest"), broker.event("RetryRequested")
    assert again["ceremony_id"] == first["ceremony_id"] + 1
    assert {name: again[name] for name in ("request_id", "payload", "key")} == {
        name: first[name] for name in ("request_id", "payload", "key")
    }
    assert retry == {"request_id": first["request_id"], "ceremony_id": first["ceremony_id"]}
    pending = broker.world.stored("EvmThresholdSigner", "PendingCeremonies", again["ceremony_id"])
    assert pending["request_context"]["attempt_count"] == 1
    assert broker.world.stored("EvmThresholdSigner", "PendingCeremonies", first["ceremony_id"]) is None
    broker.blocks(1)
    assert broker.event("ThresholdSignatureSuccess")["ceremony_id"] == again["ceremony_id"]
    assert broker.all_of("TransactionBroadcastRequest")
    broker.blocks(10)
    assert broker.all_of("RetryRequested") == []


# Failures


def test_an_authority_that_cannot_send_says_so_and_another_is_asked(three: Swapper) -> None:
    """Ask the next authority when one reports a failure, and abort after the last."""
    asked = [held_transaction(three)]
    number = asked[0]["broadcast_id"]
    for _ in range(2):
        assert three.dev("fail_broadcast", chain="Ethereum", broadcast_id=None) == "Ok"
        assert emitted_by(three) == ["BroadcastRetryScheduled"]
        assert three.event("BroadcastRetryScheduled")["retry_block"] == three.world.header.number + 1
        asked.append(until(three, "TransactionBroadcastRequest", 1))
    assert len({request["nominee"] for request in asked}) == 3
    assert three.dev("fail_broadcast", chain="Ethereum", broadcast_id=number) == "Ok"
    assert emitted_by(three) == ["BroadcastAborted"]
    for gone in (number, IMPOSSIBLE_ID):
        assert three.dev("fail_broadcast", chain="Ethereum", broadcast_id=gone) == "Dev.NobodyAsked"


def test_only_a_validator_may_report_a_failure(broker: Swapper) -> None:
    """Accept a report of failure from a validator only, and only for a pending broadcast."""
    number = held_transaction(broker)["broadcast_id"]
    assert broker.submit("EthereumBroadcaster", "transaction_failed", broadcast_id=number) == "BadOrigin"
    with broker.arranging() as runtime:
        runtime.pallet(AccountRoles).AccountRoles.put(ALICE.account, "Validator")
    assert broker.submit("EthereumBroadcaster", "transaction_failed", broadcast_id=number) == "Ok"
    assert "BroadcastAborted" in emitted_by(broker)
    again = broker.submit("EthereumBroadcaster", "transaction_failed", broadcast_id=number)
    assert again == "EthereumBroadcaster.InvalidBroadcastId"


@pytest.mark.parametrize(
    ("chain", "failures", "delay", "without"),
    [
        ("Ethereum", 1, 1, 10),
        ("Ethereum", 10, 1, 10),
        ("Ethereum", 11, 10, 10),
        ("Bitcoin", 1, 1, 1),
        ("Bitcoin", 24, 1, 1),
        ("Bitcoin", 26, 2, 2),
        ("Bitcoin", 30, 32, 32),
        ("Bitcoin", 35, 1_024, 1_024),
        ("Bitcoin", 36, 1_200, 1_200),
        ("Bitcoin", 5_000, 1_200, 1_200),
    ],
)
def test_the_next_attempt_waits_longer_after_many_failures(
    chain: str, failures: int, delay: int, without: int
) -> None:
    """Delay the next attempt by the number of failures, exponentially on Bitcoin, up to two hours."""
    retries = CHAIN_INSTANCES[chain].retries
    assert (retries.after_failure(failures), retries.without_nominee(failures)) == (delay, without)


def test_when_all_that_are_there_have_failed_it_is_tried_again_later(three: Swapper) -> None:
    """There can be more authorities than can be asked: some have left, and others are to come."""
    number = held_transaction(three)["broadcast_id"]
    with three.arranging() as runtime:
        pallet, validator = runtime.pallet(BROADCASTERS["Ethereum"]), runtime.pallet(ValidatorStorage)
        authorities = sorted(validator.CurrentAuthorities.get())
        pallet.FailedBroadcasters.put(number, authorities)
        pallet.Timeouts.put([])
        pallet.DelayedBroadcastRetryQueue.put(three.world.header.number + 1, [number])
    three.blocks(1)
    again = three.event("BroadcastRetryScheduled")
    assert again == {"broadcast_id": number, "retry_block": three.world.header.number + 10}


# Safe mode


def safe_mode(broker: Swapper, switch: str, on: bool) -> None:
    """Set a switch of Ethereum's broadcaster in safe mode."""
    with broker.arranging() as runtime:
        environment = runtime.pallet(EnvironmentStorage)
        modes = environment.RuntimeSafeMode.get()
        board = replace(modes.broadcast_ethereum, **{switch: on})
        environment.RuntimeSafeMode.put(replace(modes, broadcast_ethereum=board))


def test_safe_mode_delays_timeouts_and_retries(three: Swapper) -> None:
    """Postpone timeouts and retries while safe mode disables them, and resume afterwards."""
    number = held_transaction(three)["broadcast_id"]
    height = three.world.stored("EthereumChainTracking", "CurrentChainState")["block_height"]
    three.dev("fail_broadcast", chain="Ethereum", broadcast_id=None)
    due = three.event("BroadcastRetryScheduled")["retry_block"]
    safe_mode(three, "retry_enabled", on=False)
    with three.arranging() as runtime:
        pallet = runtime.pallet(BROADCASTERS["Ethereum"])
        pallet.Timeouts.put([(height, number, who) for _, _, who in pallet.Timeouts.get()])
    three.blocks(1)
    assert emitted_by(three) == []
    queue = three.world.stored("EthereumBroadcaster", "DelayedBroadcastRetryQueue", due + 10)
    assert queue == [number]
    ((later, _, _),) = three.world.stored("EthereumBroadcaster", "Timeouts")
    assert height + 4 <= later <= height + 5
    safe_mode(three, "retry_enabled", on=True)
    assert until(three, "TransactionBroadcastRequest", 12)["broadcast_id"] == number
    assert three.world.header.number == due + 10


def test_no_success_is_witnessed_while_witnessing_is_disabled(broker: Swapper) -> None:
    """Witness no success while safe mode disables egress witnessing."""
    safe_mode(broker, "egress_witnessing_enabled", on=False)
    broker.deposit("Btc", "Eth", BITCOIN)
    broker.blocks(5)
    assert len(broker.world.stored("EthereumBroadcaster", "PendingBroadcasts")) == 1
    safe_mode(broker, "egress_witnessing_enabled", on=True)
    broker.blocks(1)
    assert "BroadcastSuccess" in emitted_by(broker)


# Once more


def test_governance_has_an_aborted_transaction_signed_and_sent_again(broker: Swapper) -> None:
    """Sign an aborted transaction again with a new nonce, by governance alone, and send it."""
    first = held_transaction(broker)
    number = first["broadcast_id"]
    again = {"broadcast_ids": [number], "request_broadcast": True, "refresh_replay_protection": True}
    pending = governed(broker, "re_sign_aborted_broadcasts", **again)
    assert pending == "EthereumBroadcaster.BroadcastStillPending"
    assert broker.dev("fail_broadcast", chain="Ethereum", broadcast_id=number) == "Ok"
    assert "BroadcastAborted" in emitted_by(broker)
    broker.dev("hold_broadcasts", chain="Ethereum", held=True)
    call = broker.world.call("EthereumBroadcaster", "re_sign_aborted_broadcasts", **again)
    ((_, outcome),) = broker.world.block(broker.world.sign(call))
    assert broker.error_name(outcome[1]) == "BadOrigin"
    assert governed(broker, "re_sign_aborted_broadcasts", **again) == "Ok"
    assert broker.world.stored("EthereumBroadcaster", "AbortedBroadcasts") == []
    assert broker.world.stored("EthereumBroadcaster", "PendingBroadcasts") == [number]
    second = until(broker, "TransactionBroadcastRequest")
    assert second["broadcast_id"] == number
    before, after = (request["transaction_payload"]["data"] for request in (first, second))
    nonces = [int.from_bytes(data[36:68], "big") for data in (before, after)]
    assert nonces[1] > nonces[0]
    assert before[100:] == after[100:]
    assert NATIVE_TOKEN in after
    hold(broker, held=False)
    assert broker.event("BroadcastSuccess")["broadcast_id"] == number


def test_signing_again_may_keep_the_nonce_and_leave_the_sending_to_others(broker: Swapper) -> None:
    """Sign an aborted transaction again under its old nonce without sending it."""
    hurry(broker)
    first = held_transaction(broker)
    number = first["broadcast_id"]
    until(broker, "BroadcastAborted")
    again = {"broadcast_ids": [number], "request_broadcast": False, "refresh_replay_protection": False}
    assert governed(broker, "re_sign_aborted_broadcasts", **again) == "Ok"
    broker.blocks(1)
    resigned = broker.event("CallResigned")
    assert resigned["broadcast_id"] == number
    data = resigned["transaction_payload"]["data"]
    assert data[36:68] == first["transaction_payload"]["data"][36:68]
    assert broker.world.stored("EthereumBroadcaster", "PendingBroadcasts") == []
    assert broker.world.stored("EthereumBroadcaster", "AbortedBroadcasts") == []


@pytest.mark.parametrize("chain", ["Ethereum", "Bitcoin"])
def test_an_unknown_broadcast_cannot_be_signed_again(broker: Swapper, chain: str) -> None:
    """Refuse to sign a broadcast again that does not exist."""
    again = {"broadcast_ids": [77], "request_broadcast": True, "refresh_replay_protection": False}
    refused = governed(broker, "re_sign_aborted_broadcasts", chain, **again)
    assert refused == f"{chain}Broadcaster.ApiCallUnavailable"


def test_an_aborted_bitcoin_transaction_is_sent_again(broker: Swapper) -> None:
    """Send an aborted Bitcoin transaction again and let it succeed."""
    assert broker.dev("abort_next_broadcast", chain="Bitcoin") == "Ok"
    broker.deposit("Eth", "Btc", ETHER)
    number = until(broker, "BroadcastAborted")["broadcast_id"]
    again = {"broadcast_ids": [number], "request_broadcast": True, "refresh_replay_protection": False}
    assert governed(broker, "re_sign_aborted_broadcasts", "Bitcoin", **again) == "Ok"
    assert until(broker, "BroadcastSuccess")["broadcast_id"] == number
    assert broker.world.stored("BitcoinBroadcaster", "AbortedBroadcasts") == []
