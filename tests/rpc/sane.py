"""A call of each method that has an answer: its parameters, and the documented error where there is none.

`@best`, `@genesis` and `@transaction` stand for what only a running chain can fill in.
"""

from __future__ import annotations

from typing import Any, Final

from cfnode.core.hashing import twox_128
from tests.rpc import samples
from tests.rpc.samples import BTC, ETH, EVM_ADDRESS, REFUND

BTC_ADDRESS: Final = "bcrt1qs758ursh4q9z627kt3pp5yysm78ddny6txaqgw"
AFFILIATE: Final = samples.ACCOUNT
NUMBER: Final = "0x" + (twox_128(b"System") + twox_128(b"Number")).hex()
CHILD: Final = "0x" + b":child_storage:default:none".hex()
PEER: Final = "12D3KooWSd6hNehpzYSwVemzDqpYYiGnNMzkgVDjn4qLKZzp4YuS"
ETHEREUM_TERMS: Final = {
    "chain": "Ethereum",
    "input_amount": "0xde0b6b3a7640000",
    "refund_parameters": REFUND,
}
SIGNATURE: Final = {"Ethereum": {"signature": "0x" + "11" * 65, "signer": EVM_ADDRESS, "sig_type": "Eip712"}}
ITEMS: Final = [{"key": NUMBER, "type": "value"}]

LIMITS: Final = {"min_price": "0x0", "max_oracle_price_slippage": 100}
DOLLARS: Final = samples.USDC
ONE: Final = {"Liquidity": {"liquidity": "0x1"}}

VAULT_CALL: Final = {"chain": "Ethereum", "calldata": "0x", "value": "0x0", "to": EVM_ADDRESS}

PARAMS: Final[dict[str, list[Any]]] = {
    **samples.PARAMS,
    "cf_witness_count": ["0x" + "12" * 32],
    "archive_v1_body": ["@best"],
    "archive_v1_call": ["@best", "Core_version", "0x"],
    "archive_v1_hashByHeight": [1],
    "archive_v1_header": ["@best"],
    "archive_v1_storage": ["@best", ITEMS],
    "archive_v1_storageDiff": ["@best"],
    "author_hasKey": ["0x" + "11" * 32, "brok"],
    "author_hasSessionKeys": ["0x"],
    "author_insertKey": [
        "test",
        "//Alice",
        "0xd43593c715fdd31c61141abd04a99fd6822c8558854ccde39a5684e7a56da27d",
    ],
    "author_removeExtrinsic": [[{"hash": "0x" + "11" * 32}]],
    "author_submitAndWatchExtrinsic": ["@transaction"],
    "author_submitExtrinsic": ["@transaction"],
    "broker_affiliate_withdrawal_request": [AFFILIATE],
    "broker_bind_fee_withdrawal_address": [EVM_ADDRESS],
    "broker_decode_vault_swap_parameter": [VAULT_CALL],
    "broker_deregister_affiliate": [AFFILIATE],
    "broker_encode_cf_parameters": [ETH, BTC, BTC_ADDRESS, 10, REFUND],
    "broker_get_open_deposit_channels": ["All"],
    "broker_mark_transaction_for_rejection": [{"Bitcoin": "0x" + "11" * 32}],
    "broker_register_affiliate": [EVM_ADDRESS],
    "broker_request_account_creation_deposit_address": [
        SIGNATURE,
        {"nonce": 0, "expiry_block": 10_000},
        ETH,
        None,
        EVM_ADDRESS,
    ],
    "broker_request_swap_deposit_address": [ETH, BTC, BTC_ADDRESS, 10, None, None, None, REFUND],
    "broker_request_swap_parameter_encoding": [ETH, BTC, BTC_ADDRESS, 10, ETHEREUM_TERMS],
    "broker_set_vault_swap_minimum_broker_fee": [10],
    "broker_subscribe_ingress_events": ["Bitcoin"],
    "broker_withdraw_fees": [ETH, EVM_ADDRESS],
    "cf_subscribe_ingress_events": ["Bitcoin"],
    "cf_subscribe_pool_price": samples.PAIR,
    "cf_subscribe_pool_price_v2": samples.PAIR,
    "cf_subscribe_scheduled_swaps": samples.PAIR,
    "chainHead_v1_body": ["none", "@best"],
    "chainHead_v1_call": ["none", "@best", "Core_version", "0x"],
    "chainHead_v1_continue": ["none", "0"],
    "chainHead_v1_follow": [True],
    "chainHead_v1_header": ["none", "@best"],
    "chainHead_v1_stopOperation": ["none", "0"],
    "chainHead_v1_storage": ["none", "@best", ITEMS],
    "chainHead_v1_unpin": ["none", "@best"],
    "childstate_getKeys": [CHILD, "0x"],
    "childstate_getKeysPaged": [CHILD, "0x", 10],
    "childstate_getStorage": [CHILD, "0x"],
    "childstate_getStorageEntries": [CHILD, ["0x"]],
    "childstate_getStorageHash": [CHILD, "0x"],
    "childstate_getStorageSize": [CHILD, "0x"],
    "dev_abortBroadcast": ["Ethereum"],
    "dev_announceDeposit": [EVM_ADDRESS, ETH, 10],
    "dev_deposit": [EVM_ADDRESS, ETH, 10],
    "dev_failBroadcast": ["Ethereum", 77],
    "dev_failReceiver": [EVM_ADDRESS, ETH, False],
    "dev_fundAccount": [samples.ACCOUNT],
    "dev_holdBroadcasts": ["Ethereum", False],
    "dev_holdFinality": [False],
    "dev_holdSignatures": [False],
    "dev_govern": ["Swapping", "update_pallet_config", {"updates": []}],
    "dev_sendToVault": [VAULT_CALL],
    "dev_setBoost": [BTC, 10],
    "dev_setOracle": ["Btc"],
    "dev_setPool": [ETH],
    "dev_settleRedemption": [samples.ACCOUNT],
    "dev_silence": [[]],
    "dev_timeTravel": [0],
    "dev_upgrade": ["2.2.3"],
    "grandpa_proveFinality": [0],
    "lp_cancel_orders_batch": [[{"base_asset": ETH, "quote_asset": DOLLARS, "id": 1}]],
    "lp_register_liquidity_refund_address": ["Ethereum", EVM_ADDRESS],
    "lp_request_liquidity_deposit_address": [ETH, "NoWait"],
    "lp_request_liquidity_deposit_address_v2": [ETH],
    "lp_request_redemption": [EVM_ADDRESS, "0x1"],
    "lp_schedule_swap": ["0x1", ETH, DOLLARS, 5, LIMITS],
    "lp_set_limit_order": [ETH, DOLLARS, "sell", 1, 0, "0x1"],
    "lp_set_range_order": [ETH, DOLLARS, 1, samples.TICKS, ONE],
    "lp_transfer_asset": [1, ETH, samples.ACCOUNT],
    "lp_update_limit_order": [ETH, DOLLARS, "buy", 1, 0, {"increase": "0x1"}],
    "lp_update_range_order": [ETH, DOLLARS, 1, samples.TICKS, {"increase": ONE}],
    "lp_withdraw_asset": ["0x1", ETH, EVM_ADDRESS],
    "offchain_localStorageClear": ["PERSISTENT", "0x01"],
    "offchain_localStorageGet": ["PERSISTENT", "0x01"],
    "offchain_localStorageSet": ["PERSISTENT", "0x01", "0x02"],
    "payment_queryFeeDetails": ["@transaction"],
    "payment_queryInfo": ["@transaction"],
    "state_call": ["Core_version", "0x"],
    "state_getChildReadProof": [CHILD, ["0x"]],
    "state_getKeys": [NUMBER],
    "state_getKeysPaged": [None, 10],
    "state_getPairs": [NUMBER],
    "state_getReadProof": [[NUMBER]],
    "state_getStorage": [NUMBER],
    "state_getStorageHash": [NUMBER],
    "state_getStorageSize": [NUMBER],
    "state_queryStorage": [[NUMBER], "@genesis"],
    "state_queryStorageAt": [[NUMBER]],
    "state_subscribeStorage": [[NUMBER]],
    "state_traceBlock": ["@best"],
    "system_accountNextIndex": [samples.ACCOUNT],
    "system_addLogFilter": ["cfnode.rpc=info"],
    "system_addReservedPeer": [f"/ip4/127.0.0.1/tcp/1/p2p/{PEER}"],
    "system_dryRun": ["@transaction"],
    "system_removeReservedPeer": [PEER],
    "transaction_v1_broadcast": ["@transaction"],
    "transaction_v1_stop": ["none"],
    "transactionWatch_v1_submitAndWatch": ["@transaction"],
}
"""By the method's first name, without those that need none; a dev_* method may be left to its own tests."""

REFUSED: Final[dict[str, int]] = {
    "author_hasSessionKeys": 1040,
    "broker_affiliate_withdrawal_request": -32024,
    "broker_close_private_btc_channel": -32024,
    "broker_decode_vault_swap_parameter": -32021,
    "broker_deregister_affiliate": -32024,
    "broker_open_private_btc_channel": -32024,
    "broker_register_account": -32024,
    "broker_request_account_creation_deposit_address": -32024,
    "broker_withdraw_fees": -32024,
    "cf_decode_vault_swap_parameter": -32021,
    "cf_request_swap_parameter_encoding": -32021,
    "dev_announceDeposit": -32000,
    "dev_deposit": -32000,
    "dev_failBroadcast": -32024,
    "dev_sendToVault": -32024,
    "grandpa_proveFinality": 4,
    "lp_register_account": -32024,
    "lp_request_liquidity_deposit_address_v2": -32024,
    "lp_schedule_swap": -32024,
    "lp_set_limit_order": -32024,
    "lp_set_range_order": -32024,
    "lp_transfer_asset": -32024,
    "lp_update_limit_order": -32024,
    "lp_update_range_order": -32024,
    "lp_withdraw_asset": -32024,
    "offchain_localStorageSet": -32000,
    "state_traceBlock": 4001,
    "dev_settleRedemption": -32024,
    "dev_upgrade": -32024,
    "grandpa_roundState": 1,
    "transaction_v1_stop": -32602,
}
"""The code with which a method may refuse that call, as it is documented to: the account is a broker already
and has earned nothing, the liquidity provider is one already and owns nothing, its private channel is
there or is not, the affiliate is none, the call is no swap, nothing has a channel at the address of the
deposit, the node takes no part in GRANDPA.
"""
UNSUPPORTED: Final = -32026
"""The code of a `cf_*` method whose runtime API the runtime does not have."""
