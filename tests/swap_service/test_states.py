"""States that no run of a development chain reaches: statuses of a record of events made by hand."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from cfnode.core.addresses import NETWORKS, BitcoinNetwork
from cfnode.core.assets import ASSETS, CHAINS
from cfnode.core.block import BlockRef
from cfnode.core.runtime_names import RuntimeNames
from cfnode.swap_service.parameters import RequestRefusal
from cfnode.swap_service.requests import read_terms
from cfnode.swap_service.statuses import status
from cfnode.swaps.checksums import checksum_address
from cfnode.swaps.documents.status_v1 import flat_status
from cfnode.swaps.events import Key
from cfnode.swaps.identity import ChannelId
from cfnode.swaps.record import Entry

ETHER, EVM = 10**18, bytes.fromhex("f39fd6e51aad88f6f4ce6ab8827279cfffb92266")
BOUGHT = ("Btc", b"bcrt1p785mga8djc3r5f7afaechlth4laxaty2rt08ncgydw4j7zv8np5suf7etv")
CHANNEL = ChannelId("Ethereum", 7, 10)


@dataclass
class Record:
    """A record of a service: the events under each of their keys."""

    height_: int = 100
    by_key: dict[Key, list[Entry]] = field(default_factory=dict)
    network: BitcoinNetwork = NETWORKS["Development"]
    chains: tuple[str, ...] = tuple(CHAINS)
    now: int = 0

    def add(self, block: int, pallet: str, name: str, fields: dict[str, Any], *keys: Key) -> None:
        """Append an event under each of its keys."""
        index = sum(len(entries) for entries in self.by_key.values())
        entry = Entry(BlockRef(bytes(32), block), block * 6_000, index, pallet, name, fields)
        for key in keys:
            self.by_key.setdefault(key, []).append(entry)

    def find(self, *key: Any) -> list[Entry]:
        """Return the events under a key, in order."""
        return self.by_key.get(key, [])

    def height(self, chain: str) -> int:
        """Return the height of any chain, which the test sets."""
        return self.height_

    def key_change(self) -> None:
        """Return None: no key has changed."""

    def error(self, entry: Entry) -> tuple[str, str]:
        """Return a name for any dispatch error."""
        return "Unknown", ""

    def announced(self, address: Any) -> None:
        """Return None: no deposit is announced."""

    def expected(self, channel: ChannelId) -> int | None:
        """Return None: no amount is expected."""


def opened(record: Record, block: int = CHANNEL.block, boost_fee: int = 0, source: str = "Eth") -> None:
    """Write the channel's opening."""
    address = ("Eth", EVM)
    fields = {
        "source_asset": source, "destination_asset": "Btc", "deposit_address": address,
        "destination_address": BOUGHT, "channel_id": CHANNEL.number, "broker_id": bytes(32),
        "broker_commission_rate": 0, "affiliate_fees": (), "boost_fee": boost_fee, "channel_metadata": None,
        "dca_parameters": None, "source_chain_expiry_block": 500, "channel_opening_fee": 0,
        "refund_parameters": {"refund_address": address, "min_price": 0, "retry_duration": 1},
    }  # fmt: skip
    key = ("channel", CHANNEL.chain, CHANNEL.number)
    record.add(block, "Swapping", "SwapDepositAddressReady", fields, key, ("address", address))


def deposited(record: Record, block: int, action: Any) -> None:
    """Write a deposit to the channel's number."""
    fields = {"asset": "Eth", "amount": ETHER, "deposit_details": {"tx_hashes": (bytes(32),)},
              "channel_id": CHANNEL.number, "ingress_fee": 0, "action": action}  # fmt: skip
    keys: list[Key] = [("channel", CHANNEL.chain, CHANNEL.number), ("transaction", bytes(32))]
    if action[0] == "Swap":
        keys.append(("request", action[1]["swap_request_id"]))
    record.add(block, "EthereumIngressEgress", "DepositFinalised", fields, *keys)


def requested(record: Record, block: int, number: int = 1) -> None:
    """Write a swap from the channel, by default number 1."""
    origin, output = {"channel_id": CHANNEL.number}, ("Egress", {"output_address": BOUGHT})
    expiry = ("RefundIfExpires", {"refund_address": ("ExternalAddress", ("Eth", EVM))})
    fields = {"swap_request_id": number, "input_asset": "Eth", "output_asset": "Btc", "input_amount": ETHER,
              "origin": ("DepositChannel", origin), "broker_fees": (), "dca_parameters": None,
              "price_limits_and_expiry": {"expiry_behaviour": expiry},
              "request_type": ("Regular", {"output_action": output})}  # fmt: skip
    keys: list[Key] = [("request", number), ("channel", CHANNEL.chain, CHANNEL.number)]
    record.add(block, "Swapping", "SwapRequested", fields, *keys)
    deposited(record, block, ("Swap", {"swap_request_id": number}))


def paid_out(record: Record, block: int) -> None:
    """Write the output of swap 1, egress 3 of Bitcoin."""
    fields = {
        "swap_request_id": 1,
        "egress_id": ("Bitcoin", 3),
        "asset": "Btc",
        "amount": 5,
        "egress_fee": (0, "Btc"),
    }
    record.add(block, "Swapping", "SwapEgressScheduled", fields, ("request", 1))
    record.add(block, "Swapping", "SwapRequestCompleted", {"swap_request_id": 1}, ("request", 1))


def test_a_message_that_cannot_be_sent_has_failed() -> None:
    """Report a swap as FAILED once the runtime could not build its message, and as aborted in version 1."""
    record = Record()
    opened(record)
    requested(record, 20)
    paid_out(record, 22)
    assert status(record, str(CHANNEL))["state"] == "SENDING"
    error = {"egress_id": ("Bitcoin", 3), "error": ("FailedToBuildCcm", {})}
    record.add(23, "BitcoinIngressEgress", "CcmEgressInvalid", error, ("egress", "Bitcoin", 3))
    document = status(record, str(CHANNEL))
    assert document["state"] == "FAILED"
    failure = document["swapEgress"]["failure"]
    assert (failure["mode"], failure["reason"]["name"]) == ("SENDING_FAILED", "FailedToBuildCcm")
    assert flat_status(document)["state"] == "BROADCAST_ABORTED"


def test_a_deposit_that_was_sent_back_at_once_is_a_refund() -> None:
    """Report a deposit that the runtime sends back without a swap as SENDING, then as COMPLETED."""
    record = Record()
    opened(record)
    deposited(
        record,
        20,
        ("Refund", {"egress_id": ("Ethereum", 4), "amount": 9, "reason": "InvalidRefundParameters"}),
    )
    document = status(record, str(CHANNEL))
    assert (document["state"], document["refundEgress"]["amount"]) == ("SENDING", "9")
    batch = {"broadcast_id": 2, "egress_ids": (("Ethereum", 4),)}
    record.add(21, "EthereumIngressEgress", "BatchBroadcastRequested", batch, ("egress", "Ethereum", 4))
    end = {"broadcast_id": 2, "transaction_ref": bytes(32)}
    record.add(23, "EthereumBroadcaster", "BroadcastSuccess", end, ("broadcast", "Ethereum", 2))
    assert status(record, str(CHANNEL))["state"] == "COMPLETED"


def test_a_refund_below_its_fee_has_ended_too() -> None:
    """Report a refund that its fee has eaten up as COMPLETED: nothing more will come."""
    record = Record()
    opened(record)
    deposited(record, 20, ("Refund", {"egress_id": None, "amount": 0, "reason": "InvalidRefundParameters"}))
    assert status(record, str(CHANNEL))["state"] == "COMPLETED"


def test_liquidity_of_a_later_channel_with_the_number_is_not_the_swaps() -> None:
    """Keep a liquidity deposit to a later channel of the number out of the swap channel's status."""
    record = Record(height_=10_000)
    opened(record)
    fields = {"asset": "Eth", "channel_id": CHANNEL.number, "deposit_address": ("Eth", EVM)}
    keys = [("channel", CHANNEL.chain, CHANNEL.number), ("address", ("Eth", EVM))]
    record.add(5_000, "LiquidityProvider", "LiquidityDepositAddressReady", fields, *keys)
    deposited(record, 5_010, ("LiquidityProvision", {"lp_account": bytes(32)}))
    document = status(record, str(CHANNEL))
    assert (document["state"], document["depositChannel"]["isExpired"], "deposit" in document) == (
        "WAITING",
        True,
        False,
    )
    for name in (ChannelId(CHANNEL.chain, CHANNEL.number, 5_000), "00" * 32):
        with pytest.raises(RequestRefusal):
            status(record, str(name))


def test_a_deposit_in_the_block_of_the_next_opening_belongs_to_the_older_one() -> None:
    """Give a deposit in the block of the next opening to the channel that was open before it."""
    record = Record()
    opened(record)
    requested(record, 30)
    opened(record, block=30)
    assert status(record, str(CHANNEL))["swapId"] == "1"
    assert status(record, str(ChannelId(CHANNEL.chain, CHANNEL.number, 30)))["state"] == "WAITING"
    assert status(record, "1")["depositChannel"]["id"] == str(CHANNEL)


def test_a_number_that_is_opened_for_another_asset_keeps_both_channels_apart() -> None:
    """Keep the ETH channel's deposit with it when its number is opened again for USDC."""
    record = Record()
    opened(record)
    requested(record, 20)
    opened(record, block=5_000, source="Usdc")
    old, new = (
        status(record, str(CHANNEL)),
        status(record, str(ChannelId(CHANNEL.chain, CHANNEL.number, 5_000))),
    )
    assert (old["srcAsset"], old["state"], old["deposit"]["amount"]) == ("ETH", "SWAPPING", str(ETHER))
    assert (new["srcAsset"], new["state"], "deposit" in new, "swapId" in new) == (
        "USDC",
        "WAITING",
        False,
        False,
    )


def test_a_record_that_begins_in_a_channels_life_has_the_swap_without_it() -> None:
    """Give a swap without its channel where the record begins after the opening, and refuse the channel."""
    record = Record()
    requested(record, 30)
    document = status(record, "1")
    assert (document["state"], "depositChannel" in document) == ("SWAPPING", False)
    with pytest.raises(RequestRefusal):
        status(record, str(CHANNEL))


def refunded(record: Record, block: int, number: int, egress: int) -> None:
    """Write a refund of 5 wei, to the channel's refund address, of a swap."""
    fields = {"swap_request_id": number, "egress_id": ("Ethereum", egress), "asset": "Eth", "amount": 5,
              "egress_fee": (0, "Eth")}  # fmt: skip
    keys: list[Key] = [("request", number), ("egress", "Ethereum", egress)]
    record.add(block, "Swapping", "RefundEgressScheduled", fields, *keys)


@pytest.mark.parametrize("failed", [0, 1, 2])
def test_each_of_equal_transfers_of_a_batch_has_a_call_of_its_own(failed: int) -> None:
    """Two refunds of the same amount to one address, of which the receiver rejects some."""
    record, batch = Record(), {"broadcast_id": 2, "egress_ids": (("Ethereum", 4), ("Ethereum", 5))}
    opened(record)
    for number, egress in ((1, 4), (2, 5)):
        requested(record, 20, number)
        refunded(record, 22, number, egress)
    keys = [("egress", "Ethereum", number) for number in (4, 5)]
    record.add(23, "EthereumIngressEgress", "BatchBroadcastRequested", batch, *keys)
    end = {"broadcast_id": 2, "transaction_ref": bytes(32)}
    record.add(24, "EthereumBroadcaster", "BroadcastSuccess", end, ("broadcast", "Ethereum", 2))
    for number in range(3, 3 + failed):
        again = {"broadcast_id": number, "asset": "Eth", "amount": 5, "destination_address": EVM}
        key = ("broadcast", "Ethereum", number)
        record.add(
            24,
            "EthereumIngressEgress",
            "TransferFallbackRequested",
            again,
            ("fallback", "Eth", ("Eth", EVM), 5),
            key,
        )
        payload = {"contract": EVM, "value": 0, "chain_id": 1, "data": bytes([number])}
        signed = {"broadcast_id": number, "transaction_payload": payload}
        record.add(25, "EthereumBroadcaster", "TransactionBroadcastRequest", signed, key)
    payouts = [status(record, number)["refundEgress"] for number in ("1", "2")]
    data = [payout.get("transactionPayload", {}).get("data") for payout in payouts]
    assert data == [*["0x03", "0x04"][:failed], None, None][:2]
    assert ["txRef" in payout for payout in payouts] == [call is None for call in data]


def test_an_expired_call_is_not_handed_out() -> None:
    """Its key is gone: sending it costs gas for nothing."""
    record = Record()
    opened(record)
    requested(record, 20)
    fields = {
        "swap_request_id": 1,
        "egress_id": ("Ethereum", 4),
        "asset": "Eth",
        "amount": 5,
        "egress_fee": (0, "Eth"),
    }
    record.add(22, "Swapping", "RefundEgressScheduled", fields, ("request", 1))
    batch = {"broadcast_id": 2, "egress_ids": (("Ethereum", 4),)}
    record.add(23, "EthereumIngressEgress", "BatchBroadcastRequested", batch, ("egress", "Ethereum", 4))
    end = {"broadcast_id": 2, "transaction_ref": bytes(32)}
    record.add(24, "EthereumBroadcaster", "BroadcastSuccess", end, ("broadcast", "Ethereum", 2))
    again = {"broadcast_id": 3, "asset": "Eth", "amount": 5, "destination_address": EVM}
    keys = [("fallback", "Eth", ("Eth", EVM), 5), ("broadcast", "Ethereum", 3)]
    record.add(24, "EthereumIngressEgress", "TransferFallbackRequested", again, *keys)
    payload = {"contract": EVM, "value": 0, "chain_id": 1, "data": b"\1"}
    signed = {"broadcast_id": 3, "transaction_payload": payload}
    record.add(25, "EthereumBroadcaster", "TransactionBroadcastRequest", signed, ("broadcast", "Ethereum", 3))
    assert "transactionPayload" in status(record, "1")["refundEgress"]
    resigned = {"broadcast_id": 3, "threshold_signature_id": 8}
    record.add(
        60, "EthereumIngressEgress", "FailedForeignChainCallResigned", resigned, ("broadcast", "Ethereum", 3)
    )
    assert "transactionPayload" not in status(record, "1")["refundEgress"]
    again = signed | {"transaction_payload": payload | {"data": b"\2"}}
    record.add(62, "EthereumBroadcaster", "CallResigned", again, ("broadcast", "Ethereum", 3))
    assert status(record, "1")["refundEgress"]["transactionPayload"]["data"] == "0x02"
    expired = {"broadcast_id": 3}
    record.add(
        90, "EthereumIngressEgress", "FailedForeignChainCallExpired", expired, ("broadcast", "Ethereum", 3)
    )
    document = status(record, "1")
    assert (document["state"], "transactionPayload" in document["refundEgress"]) == ("FAILED", False)
    failure = document["refundEgress"]["failure"]
    assert failure["reason"]["name"] == "FailedForeignChainCallExpired"
    assert failure["failedBlockIndex"].startswith("24-")


def test_the_rate_of_a_boost_is_the_one_that_was_charged() -> None:
    """The chain rounds the fee down: 500 of 1,000,999 are 4.995 basis points, and 5 was the rate."""
    record = Record()
    opened(record, boost_fee=30)
    fields = {"asset": "Eth", "amounts": (("BoostPool", 1_000_999),), "boost_fee": (("BoostPool", 500),),
              "deposit_details": {"tx_hashes": ()}, "channel_id": CHANNEL.number, "ingress_fee": 0,
              "prewitnessed_deposit_id": 1, "action": ("Swap", {"swap_request_id": 1})}  # fmt: skip
    key = ("channel", CHANNEL.chain, CHANNEL.number)
    record.add(20, "EthereumIngressEgress", "DepositBoosted", fields, key)
    document = status(record, str(CHANNEL))
    assert (document["state"], document["boost"]["effectiveBoostFeeBps"]) == ("SWAPPING", 5)


@pytest.mark.parametrize("side", ["destination", "refund"])
def test_one_letter_in_the_wrong_case_is_refused(side: str) -> None:
    """Refuse an address whose case contradicts its checksum, on both sides, and write the right one."""
    good, names = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266", RuntimeNames(tuple(ASSETS), tuple(CHAINS))
    body = {
        "srcChain": "Ethereum",
        "srcAsset": "ETH",
        "destChain": "Arbitrum",
        "destAsset": "ETH",
        "amount": "1",
        "destAddress": good,
        "fillOrKillParams": {"retryDurationBlocks": 1, "refundAddress": good, "minPriceX128": "0"},
    }
    read_terms(body, names)
    wrong = good.replace("F6F4", "f6F4")
    terms = body["fillOrKillParams"]
    assert isinstance(terms, dict)
    changed = {
        "destination": {"destAddress": wrong},
        "refund": {"fillOrKillParams": terms | {"refundAddress": wrong}},
    }
    with pytest.raises(RequestRefusal, match=f"the checksum of {wrong} is wrong .* {good} if") as caught:
        read_terms(body | changed[side], names)
    assert caught.value.status == 400


def test_receivers_are_answered_with_their_checksum_and_expiry_by_the_chains_time() -> None:
    """Write addresses with their checksum, and reckon the expiry by Ethereum's blocks of 12 seconds."""
    record = Record()
    opened(record)
    document = status(record, str(CHANNEL))
    assert document["fillOrKillParams"]["refundAddress"] == checksum_address(EVM) != f"0x{EVM.hex()}"
    channel = document["depositChannel"]
    assert channel["depositAddress"] == f"0x{EVM.hex()}"
    assert channel["estimatedExpiryTime"] - channel["createdAt"] == 6_171 * 12_000
