"""The swap service of a development node: quotes, channels and statuses as a swap SDK asks for them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cfnode.node.signing import submission
from tests.conftest import shared
from tests.node.live import made
from tests.rpc.conftest import Served
from tests.support.rpc.assets import BTC, BTC_ADDRESS, ETH, EVM_ADDRESS
from tests.support.rpc.backend import BITCOIN, CHANNEL, ETHER, TERMS, get, post, quote_query


async def opened(served: Served, **changes: Any) -> dict[str, Any]:
    """Open a channel by the swap service."""
    code, channel = await post(served, "/api/openSwapDepositChannel", CHANNEL | changes)
    assert code == 201, channel
    opened_channel: dict[str, Any] = channel
    return opened_channel


async def status(served: Served, name: Any) -> dict[str, Any]:
    """Return a swap's status."""
    code, document = await get(served, f"/v2/swaps/{name}")
    assert code == 200, document
    status_document: dict[str, Any] = document
    return status_document


# Quotes


async def test_a_quote_is_what_the_runtime_simulates(instant: Served) -> None:
    """Quote what the runtime simulates, with its fees and price."""
    code, (quote,) = await get(instant, "/v2/quote", **quote_query(brokerCommissionBps=15))
    rate = await instant.call("cf_swap_rate_v3", BTC, ETH, hex(BITCOIN), 15)
    assert code == 200
    assert (quote["type"], quote["depositAmount"]) == ("REGULAR", str(BITCOIN))
    assert quote["egressAmount"] == str(int(rate["output"], 16))
    assert quote["intermediateAmount"] == str(int(rate["intermediary"], 16))
    names = ("ingress_fee", "network_fee", "broker_commission", "egress_fee")
    assert [included_fee["type"] for included_fee in quote["includedFees"]] == [
        "INGRESS",
        "NETWORK",
        "BROKER",
        "EGRESS",
    ]
    assert [included_fee["amount"] for included_fee in quote["includedFees"]] == [
        str(int(rate[name]["amount"], 16)) for name in names
    ]
    swapped = BITCOIN - int(rate["ingress_fee"]["amount"], 16)
    output = int(rate["output"], 16) + int(rate["egress_fee"]["amount"], 16)
    assert float(quote["estimatedPrice"]) == pytest.approx(output / 10**18 / (swapped / 10**8), rel=1e-12)


async def test_a_quote_has_the_members_of_the_public_services(instant: Served) -> None:
    """Quote with the members and types of the public service's examples."""
    (regular, dca) = (await get(instant, "/v2/quote", **quote_query(amount=10 * BITCOIN, dcaEnabled="true")))[
        1
    ]
    optional = {"recommendedLivePriceSlippageTolerancePercent"}  # there is no oracle here
    for quote, example in ((regular, "quote-regular"), (dca, "quote-dca")):
        wanted = json.loads(shared("sdk-examples", f"{example}.json").read_text())
        assert set(wanted) - optional <= set(quote)
        for name in set(wanted) - optional:
            assert type(quote[name]) is type(wanted[name]), name
        assert [set(pool) for pool in quote["poolInfo"]] == [set(pool) for pool in wanted["poolInfo"]]


async def test_a_large_amount_is_also_offered_in_chunks(instant: Served) -> None:
    """Offer a large amount in chunks as well, which takes longer and brings more."""
    regular, dca = (await get(instant, "/v2/quote", **quote_query(amount=BITCOIN, dcaEnabled="true")))[1]
    chunks = dca["dcaParams"]["numberOfChunks"]
    assert (dca["type"], dca["dcaParams"]["chunkIntervalBlocks"]) == ("DCA", 2)
    assert chunks == -(-int(regular["intermediateAmount"]) // (3_000 * 10**6))
    assert int(dca["egressAmount"]) > int(regular["egressAmount"])
    swap = regular["estimatedDurationsSeconds"]["swap"]
    assert dca["estimatedDurationsSeconds"]["swap"] == swap + 12 * (chunks - 1)


async def test_the_first_version_gives_one_quote(instant: Served) -> None:
    """Give one quote in the first version of the API."""
    code, quote = await get(instant, "/quote", **quote_query(amount=10 * BITCOIN, dcaEnabled="true"))
    assert (code, quote["type"]) == (200, "REGULAR")


async def test_a_message_is_part_of_the_quote(instant: Served) -> None:
    """Include the gas of a message in the quote."""
    (plain,) = (await get(instant, "/v2/quote", **quote_query()))[1]
    more = {"ccmGasBudget": 125000, "ccmMessageLengthBytes": 4}
    (quote,) = (await get(instant, "/v2/quote", **quote_query(**more)))[1]
    assert quote["ccmParams"] == {"gasBudget": "125000", "messageLengthBytes": 4}
    assert int(quote["egressAmount"]) < int(plain["egressAmount"])


REFUSED_QUESTIONS: list[tuple[dict[str, Any], str]] = [
    ({"amount": "0"}, "invalid request: amount"),
    ({"amount": "1.5"}, "invalid request: amount"),
    ({"amount": str(2**128)}, "invalid request: amount"),
    ({"amount": "9" * 5000}, "invalid request"),
    ({"srcAsset": "DOGE"}, "invalid request: srcAsset"),
    ({"destChain": "Bitcoin", "destAsset": "BTC"}, "Requested assets cannot be swapped"),
    ({"ccmGasBudget": "1"}, "invalid request: ccmMessageLengthBytes"),
    (
        {"srcAsset": "ETH", "srcChain": "Ethereum", "destAsset": "BTC", "destChain": "Bitcoin"}
        | {"ccmGasBudget": "1", "ccmMessageLengthBytes": "1", "amount": str(10**18)},
        "invalid request: ccmGasBudget (Bitcoin takes no messages)",
    ),
    (
        {"srcAsset": "DOT", "srcChain": "Assethub", "isVaultSwap": "true"},
        "invalid request: isVaultSwap (Assethub has no vault swaps)",
    ),
    ({"isOnChain": "true", "isVaultSwap": "true"}, "invalid request: isOnChain"),
    ({"brokerCommissionBps": "ten"}, "invalid request: brokerCommissionBps"),
    ({"amount": "1"}, "expected amount is below minimum swap amount ("),
    (
        {"srcAsset": "ETH", "srcChain": "Ethereum", "destAsset": "BTC", "destChain": "Bitcoin"}
        | {"amount": str(2**127)},
        "insufficient liquidity for requested amount",
    ),
]


async def test_a_bad_question_is_refused_in_words(instant: Served) -> None:
    """Refuse a bad question in words that name its field."""
    for changes, message in REFUSED_QUESTIONS:
        code, answer = await get(instant, "/v2/quote", **quote_query(**changes))
        assert code == 400, changes
        assert answer["message"].startswith(message), (changes, answer)


# Channels


async def test_requests_beyond_the_queue_get_try_again_later(
    instant: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Answer requests beyond the queue with 429 in both envelopes."""
    assert (await post(instant, "/api/openSwapDepositChannel", CHANNEL))[0] == 201
    monkeypatch.setattr(submission, "MAX_WAITING_CALLS", 0)
    text = "Too many requests, please try again later"
    assert await post(instant, "/api/openSwapDepositChannel", CHANNEL) == (429, {"message": text})
    code, answer = await post(instant, "/trpc/openSwapDepositChannel", {"json": CHANNEL})
    assert (code, answer["error"]["json"]["message"]) == (429, text)


async def test_a_channel_is_opened_without_a_broker_of_ones_own(make_served: Any) -> None:
    """Open a channel with the service's own broker, and another one for the next request."""
    served = await make_served(seal="instant", broker=False)
    channel = await opened(served)
    block, chain, _ = channel["id"].split("-")
    assert (int(block), chain) == (channel["issuedBlock"], "Bitcoin")
    assert channel["depositAddress"].startswith("bcrt1")
    assert (channel["brokerCommissionBps"], channel["maxBoostFeeBps"]) == (0, 0)
    assert channel["srcChainExpiryBlock"].isdigit()
    assert channel["channelOpeningFee"].isdigit()
    again = await opened(served)
    assert again["depositAddress"] != channel["depositAddress"]


async def test_both_forms_of_assets_and_the_old_envelope_are_read(instant: Served) -> None:
    """Read both forms of assets, and the older envelope alone and in a batch."""
    pair = {
        "srcAsset": {"chain": "Bitcoin", "asset": "BTC"},
        "destAsset": {"chain": "Ethereum", "asset": "ETH"},
    }
    others = {name: CHANNEL[name] for name in ("destAddress", "amount", "fillOrKillParams")}
    assert (await post(instant, "/api/openSwapDepositChannel", pair | others))[0] == 201
    code, (wrapped,) = await post(instant, "/trpc/openSwapDepositChannel?batch=1", {"0": {"json": CHANNEL}})
    assert code == 200
    data = wrapped["result"]["data"]
    assert data["json"]["id"].split("-")[1] == "Bitcoin"
    assert data["meta"]["values"]["srcChainExpiryBlock"] == ["bigint"]
    code, single = await post(instant, "/trpc/openSwapDepositChannel", {"json": CHANNEL})
    assert (code, set(single["result"]["data"])) == (200, {"json", "meta"})


REFUSED_CHANNELS: list[tuple[dict[str, Any], str]] = [
    ({"amount": "1"}, "expected amount is below minimum swap amount ("),
    ({"fillOrKillParams": None}, "fill or kill params are required"),
    ({"fillOrKillParams": TERMS | {"refundAddress": 7}}, "invalid request: refundAddress"),
    ({"destAddress": "nonsense"}, "invalid request: "),
    ({"dcaParams": {"numberOfChunks": 0, "chunkIntervalBlocks": 2}}, "ZeroNumberOfChunksNotAllowed"),
    ({"dcaParams": [1]}, "invalid request: dcaParams"),
    ({"ccmParams": {"message": "0x" + "00" * 15_001, "gasBudget": "1"}}, "invalid request: ccmParams"),
    ({"brokerCommissionBps": 10}, "Broker commission is supported only"),
]


async def test_a_channel_that_cannot_be_is_refused(instant: Served) -> None:
    """Refuse a channel that cannot be, in words that name the reason."""
    for changes, words in REFUSED_CHANNELS:
        code, answer = await post(instant, "/api/openSwapDepositChannel", CHANNEL | changes)
        assert code == 400, changes
        assert words in answer["message"], (changes, answer)


async def test_a_body_that_is_no_request_is_refused(instant: Served) -> None:
    """Refuse a body that is not a request, is too large, or could be a foreign page's form."""
    path = "/api/openSwapDepositChannel"
    for body, code in ((b"{", 400), (b"[]", 400), (b"[" * 100_000, 400), (b" " * 200_000, 413)):
        async with type(instant.http)(instant.port) as http:
            answer = await http.request("POST", path, body, content_type="application/json")
            assert answer.status == code
    async with type(instant.http)(instant.port) as http:  # as a form of a foreign page could post it
        assert (await http.request("POST", path, b"{}", content_type="text/plain")).status == 415


async def test_a_vault_swap_is_encoded_in_both_envelopes_with_its_terms_alone(instant: Served) -> None:
    """Encode a vault swap in both envelopes, and its terms alone."""
    evm = {"amount": str(ETHER), "fillOrKillParams": TERMS | {"refundAddress": EVM_ADDRESS}}
    pair = {"srcAsset": ETH, "destAsset": BTC, "destAddress": BTC_ADDRESS}
    code, plain = await post(instant, "/api/encodeVaultSwapData", pair | evm)
    assert (code, plain["chain"], plain["value"]) == (200, "Ethereum", hex(ETHER))
    body = {"0": {"json": pair | evm}}
    code, (wrapped,) = await post(instant, "/trpc/encodeVaultSwapData?batch=1", body)
    assert (code, wrapped["result"]["data"]["json"]) == (200, plain)
    assert wrapped["result"]["data"]["meta"] == {"values": {"value": ["bigint"]}}
    code, terms = await post(instant, "/api/encodeCfParameters", pair | evm)
    assert code == 200
    assert terms[2:] in plain["calldata"]


async def test_a_vault_swap_from_solana_names_the_signer_and_a_seed(instant: Served) -> None:
    """Encode a vault swap from Solana for its signer, with the given seed or one drawn anew."""
    signer = "DRpbCBMxVnDK7maPM5tGv6MvB3v1sRMC86PZ8okm21hy"
    swap = {
        "srcAsset": {"chain": "Solana", "asset": "SOL"},
        "destAsset": ETH,
        "destAddress": EVM_ADDRESS,
        "amount": str(10**9),
        "fillOrKillParams": TERMS | {"refundAddress": signer},
        "srcAddress": signer,
    }
    path, seed = "/api/encodeVaultSwapData", "0x" + "5e" * 32
    code, transaction = await post(instant, path, swap | {"extraParams": {"seed": seed}})
    assert (code, transaction["chain"], set(transaction)) == (
        200,
        "Solana",
        {"chain", "programId", "accounts", "data"},
    )
    assert signer in [account["pubkey"] for account in transaction["accounts"] if account["isSigner"]]
    assert seed[2:] in transaction["data"]
    assert (await post(instant, path, swap))[1]["data"] != (await post(instant, path, swap))[1]["data"]
    for changes, words in (
        ({"srcAddress": None}, "invalid request: srcAddress"),
        ({"extraParams": {"seed": "0x00"}}, "invalid request: extraParams.seed"),
        ({"extraParams": {"seed": 7}}, "invalid request: extraParams.seed"),
    ):
        assert await post(instant, path, swap | changes) == (400, {"message": words})


async def test_a_refusal_in_the_old_envelope_is_an_error_that_its_client_reads(instant: Served) -> None:
    """Refuse in the older envelope with an error that its client reads."""
    path = "/trpc/openSwapDepositChannel"
    body = {"0": {"json": CHANNEL | {"destAddress": "nonsense"}}}
    code, (wrapped,) = await post(instant, f"{path}?batch=1", body)
    error = wrapped["error"]["json"]
    assert (code, error["code"], error["data"]["httpStatus"]) == (400, -32600, 400)
    assert error["message"].startswith("invalid request: ")
    code, single = await post(instant, path, {"json": None})
    assert single["error"]["json"]["message"] == "invalid request: json"


# Statuses


async def test_a_swap_is_followed_to_its_end(instant: Served) -> None:
    """Follow a swap from waiting to completed, by each of its names and in both versions."""
    channel = await opened(instant)
    waiting = await status(instant, channel["id"])
    assert waiting["state"] == "WAITING"
    assert waiting["depositChannel"]["expectedDepositAmount"] == str(BITCOIN)
    assert waiting["depositChannel"]["openedThroughBackend"] is True
    assert waiting["fillOrKillParams"] == {
        "refundAddress": BTC_ADDRESS,
        "minPrice": "0",
        "retryDurationBlocks": 10,
    }

    transaction = bytes(range(32))
    await instant.call("dev_deposit", channel["depositAddress"], BTC, BITCOIN, "0x" + transaction.hex())
    swapping = await status(instant, channel["id"])
    assert (swapping["state"], swapping["swapId"]) == ("SWAPPING", "1")
    assert swapping["deposit"]["txRef"] == transaction[::-1].hex()
    assert swapping["swap"]["swappedOutputAmount"] == "0"

    for _ in range(2):
        await instant.call("dev_newBlock")
    sending = await status(instant, channel["id"])
    assert sending["state"] == "SENDING"
    regular = sending["swap"]["regular"]
    assert sending["swap"]["remainingInputAmount"] == "0"
    assert int(regular["outputAmount"]) > int(sending["swapEgress"]["amount"])

    for _ in range(2):
        await instant.call("dev_newBlock")
    completed = await status(instant, channel["id"].lower())
    assert completed["state"] == "COMPLETED"
    assert completed["swapEgress"]["txRef"].startswith("0x")
    assert [fee["type"] for fee in completed["fees"]] == ["INGRESS", "NETWORK", "EGRESS"]
    for name in ("1", transaction.hex(), "0x" + transaction[::-1].hex()):
        assert await status(instant, name) == completed
    code, flat = await get(instant, f"/swaps/{channel['id']}")
    assert (code, flat["state"], flat["egressType"]) == (200, "COMPLETE", "SWAP")
    assert flat["egressAmount"] == completed["swapEgress"]["amount"]


async def test_a_deposit_that_is_too_small_fails(instant: Served) -> None:
    """Report a deposit below the minimum as failed."""
    channel = await opened(instant)
    refused = await instant.error("dev_deposit", channel["depositAddress"], BTC, 1)
    assert refused["data"]["reason"] == "BelowMinimumDeposit"
    failed = await status(instant, channel["id"])
    assert failed["state"] == "FAILED"
    assert failed["deposit"]["failure"]["reason"]["name"] == "BelowMinimumDeposit"
    assert (await get(instant, f"/swaps/{channel['id']}"))[1]["failure"] == "INGRESS_IGNORED"


async def test_a_boosted_swap_begins_before_the_confirmation(instant: Served) -> None:
    """Swap a boosted deposit before its confirmation, for the fee that was quoted."""
    assert "boostQuote" not in (await get(instant, "/v2/quote", **quote_query()))[1][0]
    await instant.call("dev_setBoost", BTC, 5 * BITCOIN)
    (plain,) = (await get(instant, "/v2/quote", **quote_query()))[1]
    boost = plain["boostQuote"]
    assert (boost["estimatedBoostFeeBps"], boost["maxBoostFeeBps"]) == (5, 30)
    assert boost["includedFees"][0] == {"type": "BOOST", **BTC, "amount": str(BITCOIN * 5 // 10_000)}
    assert boost["estimatedDurationsSeconds"]["deposit"] < plain["estimatedDurationsSeconds"]["deposit"]

    channel = await opened(instant, maxBoostFeeBps=30)
    assert channel["maxBoostFeeBps"] == 30
    transaction = "0x" + "5a" * 32
    await instant.call("dev_announceDeposit", channel["depositAddress"], BTC, BITCOIN, transaction)
    boosted = await status(instant, channel["id"])
    assert boosted["state"] == "SWAPPING"
    assert (boosted["boost"]["effectiveBoostFeeBps"], boosted["deposit"]["amount"]) == (5, str(BITCOIN))
    assert "witnessedAt" not in boosted["deposit"]

    await instant.call("dev_deposit", channel["depositAddress"], BTC, BITCOIN, transaction)
    for _ in range(5):
        await instant.call("dev_newBlock")
    completed = await status(instant, channel["id"])
    assert (completed["state"], completed["swapId"]) == ("COMPLETED", boosted["swapId"])
    assert "witnessedAt" in completed["deposit"]
    assert completed["swapEgress"]["amount"] == boost["egressAmount"]


async def test_a_transfer_that_was_not_taken_has_a_payload(instant: Served) -> None:
    """Offer the payload of a transfer that the receiver rejected."""
    channel = await opened(instant)
    await instant.call("dev_failReceiver", EVM_ADDRESS, ETH)
    await instant.call("dev_deposit", channel["depositAddress"], BTC, BITCOIN)
    for _ in range(5):
        await instant.call("dev_newBlock")
    failed = await status(instant, channel["id"])
    assert failed["state"] == "FAILED"
    assert failed["swapEgress"]["failure"]["mode"] == "SENDING_FAILED"
    payload = failed["swapEgress"]["transactionPayload"]
    call = await instant.call("cf_failed_call_ethereum", 2)
    assert payload["data"] == "0x" + call["data"]
    assert payload["contract"] == call["contract"]


async def test_an_aborted_batch_has_a_payload_until_the_key_rotates(instant: Served) -> None:
    """Offer the payload of an aborted batch until the key rotates, after which no contract takes it."""
    channel = await opened(instant)
    await instant.call("dev_abortBroadcast", "Ethereum")
    await instant.call("dev_deposit", channel["depositAddress"], BTC, BITCOIN)
    for _ in range(8):
        await instant.call("dev_newBlock")
    aborted = (await status(instant, channel["id"]))["swapEgress"]
    assert aborted["failure"]["reason"]["name"] == "BroadcastAborted"
    assert aborted["transactionPayload"]["data"].startswith("0x5f8c0f9a")
    await instant.call("dev_rotate")
    outdated = (await status(instant, channel["id"]))["swapEgress"]
    assert outdated["failure"]["reason"]["name"] == "FailedForeignChainCallExpired"
    assert "transactionPayload" not in outdated


async def test_what_is_not_there_is_not_found(instant: Served) -> None:
    """Answer 404 for what does not exist, and 400 for a chain that does not."""
    for name in ("nope", "7", "1-Ethereum-1", "0x" + "ab" * 32, "9" * 300):
        assert await get(instant, f"/v2/swaps/{name}") == (404, {"message": "resource not found"})
    assert await get(instant, "/v2/swaps/1-Doge-1") == (400, {"message": "Invalid chain: Doge"})


async def test_a_block_that_is_left_takes_its_events_along(make_served: Any) -> None:
    """Forget the events of a block that the chain has left."""
    served = await make_served(seal="instant", finality_lag=10)
    channel = await opened(served)
    await served.call("dev_holdFinality")
    before = served.node.chain.best.hash
    await served.call("dev_deposit", channel["depositAddress"], BTC, BITCOIN)
    assert (await status(served, channel["id"]))["state"] == "SWAPPING"
    parent = "0x" + before.hex()
    for _ in range(2):
        parent = await served.call("dev_newBlock", {"parent": parent, "transactions": []})
    assert (await status(served, channel["id"]))["state"] == "WAITING"


# The rest


async def test_network_info_lists_the_assets_that_an_sdk_knows(instant: Served) -> None:
    """List the assets that this version of an SDK knows, and which of them are open."""
    code, info = await get(instant, "/api/networkInfo")
    assert code == 200
    names = {asset["asset"] for asset in info["assets"]}
    assert {"Btc", "Eth", "Usdc", "ArbUsdt", "Trx"} < names
    assert all(asset["depositChannelCreationEnabled"] for asset in info["assets"])
    await instant.call("dev_setBoost", BTC, BITCOIN)
    red = ("Environment", ("update_safe_mode", {"update": "CodeRed"}))
    boosted = (await get(instant, "/api/networkInfo"))[1]["assets"]
    assert [asset["asset"] for asset in boosted if asset["boostDepositsEnabled"]] == ["Btc"]
    await made(instant.node).control.as_governance(red)
    closed = (await get(instant, "/api/networkInfo"))[1]["assets"]
    assert not any(asset["depositChannelCreationEnabled"] or asset["egressEnabled"] for asset in closed)
    older = await instant.http.request("GET", "/api/networkInfo", x_chainflip_sdk_version="1.11.2")
    known = {asset["asset"] for asset in older.json()["assets"]}
    assert names - known == {"Wbtc", "ArbUsdt", "SolUsdt", "Trx", "TrxUsdt", "Bnb", "BscUsdt", "Cbbtc"}
    assert "Dot" not in names  # nothing can be swapped for it


async def test_an_sdk_of_1_9_gets_the_assets_by_function(instant: Served) -> None:
    """List assets by function for an SDK of 1.9."""
    path = "/trpc/networkStatus"
    await instant.call("dev_setBoost", BTC, BITCOIN)
    answer = await instant.http.request("GET", path, x_chainflip_sdk_version="1.9.5")
    status = answer.json()["result"]["data"]["json"]
    assert {"Btc", "Eth", "Usdc", "HubDot"} < set(status["assets"]["all"])
    assert "Trx" not in status["assets"]["all"]
    assert status["assets"]["deposit"] == status["assets"]["destination"] == status["assets"]["all"]
    assert (status["boostDepositsEnabled"], status["cfBrokerCommissionBps"]) == (True, 0)
    await made(instant.node).control.as_governance(
        ("Environment", ("update_safe_mode", {"update": "CodeRed"}))
    )
    closed = (await get(instant, path))[1]["result"]["data"]["json"]
    assert closed["assets"]["deposit"] == closed["assets"]["destination"] == []
    assert closed["boostDepositsEnabled"] is False


async def test_the_health_check_answers_ok(instant: Served) -> None:
    """Answer the health check."""
    answer = await instant.http.request("GET", "/healthcheck")
    assert (answer.status, answer.body) == (200, b"OK")
