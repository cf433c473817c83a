"""What was seen of the foreign chains, on a running development node: to the last member."""

from __future__ import annotations

from typing import Any

import pytest

from cfnode.rpc.table.convert import account
from tests.rpc.conftest import Served
from tests.support.rpc.assets import BTC, BTC_ADDRESS, ETH, EVM_ADDRESS, REFUND

ETHER = 10**18
HASH = "0x" + "77" * 32
NOTHING: dict[str, list[Any]] = {"deposits": [], "broadcasts": [], "vault_deposits": []}


@pytest.fixture
async def broker(instant: Served) -> str:
    """Register the node's account as a broker and return it."""
    await instant.call("broker_registerAccount")
    assert instant.node.broker is not None
    return account(instant.node.broker.account)


async def vault_swap(served: Served, source: Any, target: Any, address: str, *extra: Any) -> Any:
    """Encode a vault swap."""
    return await served.call("broker_requestSwapParameterEncoding", source, target, address, 10, *extra)


async def test_new_deposits_and_broadcasts_are_reported(instant: Served, broker: str) -> None:
    """Report deposits and broadcasts of the block that has seen them, and nothing in the next one."""
    channel = await instant.call(
        "broker_requestSwapDepositAddress", ETH, BTC, BTC_ADDRESS, 10, None, None, None, REFUND
    )
    await instant.call("dev_deposit", channel["address"], ETH, ETHER, HASH)
    events = await instant.call("cf_ingress_egress_events", "Ethereum")
    (deposit,) = events["deposits"]
    assert deposit.pop("deposit_chain_block_height") > 0
    assert deposit == {
        "deposit_address": channel["address"],
        "amount": hex(ETHER),
        "asset": ETH,
        "deposit_details": {"tx_hashes": [HASH]},
    }
    assert events["broadcasts"] == events["vault_deposits"] == []
    await instant.call("dev_newBlock")  # the fetch is signed and sent
    (broadcast,) = (await instant.call("cf_ingress_egress_events", "Ethereum"))["broadcasts"]
    assert (broadcast["broadcast_id"], set(broadcast["tx_out_id"])) == (1, {"signature"})
    signature = broadcast["tx_out_id"]["signature"]
    assert {name: len(bytes(numbers)) for name, numbers in signature.items()} == {
        "s": 32,
        "k_times_g_address": 20,
    }
    assert len(broadcast["tx_ref"]["hash"]) == 66
    await instant.call("dev_newBlock")  # and is final
    assert await instant.call("cf_ingress_egress_events", "Ethereum") == NOTHING
    error = await instant.error("cf_ingress_egress_events", "Solana")
    assert error["message"] == "DispatchError: Chain not supported for witnessed events"


async def test_a_vault_swap_is_reported_with_all_its_terms(instant: Served, broker: str) -> None:
    """Report a vault swap with all its terms."""
    affiliate = await instant.call("broker_register_affiliate", EVM_ADDRESS)
    refund = REFUND | {"max_oracle_price_slippage": 50}
    extra = {"chain": "Ethereum", "input_amount": hex(ETHER), "refund_parameters": refund}
    shares = [{"account": affiliate, "bps": 7}]
    details = await vault_swap(instant, ETH, BTC, BTC_ADDRESS, extra, None, 0, shares)
    await instant.call("dev_sendToVault", details, None, None, HASH, False)
    (deposit,) = (await instant.call("cf_ingress_egress_events", "Ethereum"))["vault_deposits"]
    assert deposit.pop("deposit_chain_block_height") > 0
    assert deposit == {
        "tx_id": HASH,
        "input_asset": ETH,
        "output_asset": BTC,
        "amount": hex(ETHER),
        "destination_address": BTC_ADDRESS,
        "ccm_deposit_metadata": None,
        "deposit_details": {"tx_hashes": [HASH]},
        "broker_fee": {"account": broker, "bps": 10},
        "affiliate_fees": shares,
        "refund_params": {
            "retry_duration": REFUND["retry_duration"],
            "refund_address": EVM_ADDRESS,
            "min_price": REFUND["min_price"],
            "refund_ccm_metadata": None,
            "max_oracle_price_slippage": 50,
        },
        "dca_params": None,
        "max_boost_fee": 0,
    }


async def test_a_deposit_on_a_private_channel_has_the_transaction_id_of_explorers(
    instant: Served, broker: str
) -> None:
    """Write a Bitcoin transaction's id reversed in the details, as explorers do, and plain in tx_id."""
    await instant.call("broker_openPrivateBtcChannel")
    terms = {"chain": "Bitcoin", "min_output_amount": "0x1", "retry_duration": 10}
    details = await vault_swap(instant, BTC, ETH, EVM_ADDRESS, terms)
    await instant.call("dev_sendToVault", details, 10**8, BTC_ADDRESS, "0x" + "12" + "77" * 31)
    (deposit,) = (await instant.call("cf_ingress_egress_events", "Bitcoin"))["vault_deposits"]
    assert deposit["tx_id"] == "0x" + "12" + "77" * 31  # of all chains alike
    assert deposit["deposit_details"] == {"tx_id": "77" * 31 + "12", "vout": 0}
    assert (deposit["refund_params"]["refund_address"], deposit["destination_address"]) == (
        BTC_ADDRESS,
        EVM_ADDRESS,
    )
    assert deposit["dca_params"] == {"number_of_chunks": 1, "chunk_interval": 2}
