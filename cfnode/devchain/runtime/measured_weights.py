"""Weights of the chain's calls and transaction extensions.

The figures are those of runtime 2.2.9, and of 2.3.0 for its new calls, from each pallet's `weights.rs` and
the `pallet::weight` attribute of the call; `changed_weights` has the figures that differ in other releases.
Those of the extensions are from frame_system and pallet_transaction_payment of the Polkadot SDK, stable2509.
Extensions of frame_system count reads and writes at the SDK's default prices (RocksDB), all else at the
runtime's own (`System.DbWeight`). A call whose weight grows with an argument names it (`of`, `each`).
"""

from __future__ import annotations

from collections.abc import Mapping

from .frame.weights import READ_PS, WRITE_PS, CallWeight, Weight

ROCKS_READ, ROCKS_WRITE = 25_000_000, 100_000_000

STORAGE_UPDATES = CallWeight(2_175_000, of="updates", each=CallWeight(841_511, writes=1))
"""The weight of `System.set_storage`, which pallets without their own figure use for settings."""

CALL_WEIGHTS: Mapping[str, Mapping[str, CallWeight]] = {
    "frame_system": {
        "remark": CallWeight(2_119_000, of="remark", each=CallWeight(390)),
        "set_heap_pages": CallWeight(4_782_000, 1_485, reads=1, writes=2, dispatch_class="Operational"),
        "set_code": CallWeight(87_586_619_000, 1_485, reads=1, writes=2, dispatch_class="Operational"),
        "set_code_without_checks": CallWeight(
            87_586_619_000, 1_485, reads=1, writes=2, dispatch_class="Operational"
        ),
        "set_storage": CallWeight(
            2_175_000, of="items", each=CallWeight(841_511, writes=1), dispatch_class="Operational"
        ),
        "kill_storage": CallWeight(
            2_255_000, of="keys", each=CallWeight(662_473, writes=1), dispatch_class="Operational"
        ),
        "remark_with_event": CallWeight(8_097_000, of="remark", each=CallWeight(1_455)),
    },
    "pallet_timestamp": {
        "set": CallWeight(11_000_000, reads=2, writes=1, dispatch_class="Mandatory"),
    },
    "pallet_cf_environment": {
        "update_safe_mode": CallWeight(7_606_000, writes=1),
        "update_consolidation_parameters": CallWeight(6_783_000, writes=1),
        "non_native_signed_call": CallWeight(10_284_000, dispatch_class="Operational", follows_nested=True),
        "batch": CallWeight(
            7_496_401,
            of="calls",
            each=CallWeight(1_663_232),
            dispatch_class="Operational",
            follows_nested=True,
        ),
    },
    "pallet_cf_flip": {
        "update_pallet_config": CallWeight(7_038_000, writes=1),
    },
    "pallet_cf_funding": {
        "update_minimum_funding": CallWeight(12_941_000, 1_628, reads=1, writes=1),
        "update_restricted_addresses": CallWeight(
            2_358_559_290,
            29_303,
            reads=10,
            writes=11,
            of="addresses_to_remove",
            each=CallWeight(203_570_650, 9),
        ),
        "bind_redeem_address": CallWeight(16_269_000, 3_605, reads=1, writes=1),
        "update_redemption_tax": CallWeight(13_086_000, 1_628, reads=1, writes=1),
        "bind_executor_address": CallWeight(16_236_000, 3_605, reads=1, writes=1),
        "rebalance": CallWeight(133_959_000, 8_849, reads=17, writes=11),
        "redeem": CallWeight(269_470_000, 14_356, reads=35, writes=14),
    },
    "pallet_cf_account_roles": {
        "set_vanity_name": CallWeight(19_568_000, 2_265, reads=1, writes=1),
        "spawn_sub_account": CallWeight(102_390_000, 7_410, reads=15, writes=5),
        "as_sub_account": CallWeight(16_056_000, 3_529, reads=1),
    },
    "pallet_cf_validator": {
        "force_rotation": CallWeight(410_347_092, 18_826, reads=44, writes=18),
    },
    "pallet_cf_chain_tracking": {
        "update_fee_multiplier": CallWeight(0, writes=1),
    },
    "pallet_cf_threshold_signature": {
        "signature_success": CallWeight(35_602_000, 4_119, reads=3, writes=3, dispatch_class="Operational"),
        "on_keygen_verification_result": CallWeight(21_352_000, 3_965, reads=1, writes=2),
    },
    "pallet_cf_broadcast": {
        "transaction_failed": CallWeight(38_707_000, 4_672, reads=5, writes=2, dispatch_class="Operational"),
        "re_sign_aborted_broadcasts": CallWeight(
            46_571_741,
            12_845,
            reads=18,
            writes=7,
            of="broadcast_ids",
            each=CallWeight(51_133_050, 2_621, reads=1, writes=3),
        ),
        "update_pallet_config": CallWeight(6_557_000, writes=1),
        "on_signature_ready": CallWeight(99_484_000, 7_519, reads=12, writes=8),
    },
    "pallet_cf_swapping": {
        "update_pallet_config": STORAGE_UPDATES,
        "request_swap_deposit_address": CallWeight(77_414_000, 5_107, reads=12, writes=4),
        "request_swap_deposit_address_with_affiliates": CallWeight(77_500_000, 5_176, reads=12, writes=4),
        "request_account_creation_deposit_address": CallWeight(259_078_000, 5_206, reads=14, writes=4),
        "register_as_broker": CallWeight(26_657_000, 4_620, reads=2, writes=1),
        "deregister_as_broker": CallWeight(59_005_000, 4_975, reads=5, writes=1),
        "withdraw": CallWeight(64_632_000, 5_278, reads=10, writes=4),
        "bind_broker_fee_withdrawal_address": CallWeight(22_689_000, 4_138, reads=2, writes=1),
        "set_vault_swap_minimum_broker_fee": CallWeight(17_095_000, 4_035, reads=1, writes=1),
        "open_private_btc_channel": CallWeight(41_777_000, 4_958, reads=5, writes=3),
        "close_private_btc_channel": CallWeight(35_498_000, 4_944, reads=3, writes=2),
        "register_affiliate": CallWeight(1_016_282_000, 647_831, reads=258, writes=4),
        "deregister_affiliate": CallWeight(102_647_000, 6_313, reads=8, writes=13),
        "affiliate_withdrawal_request": CallWeight(100_871_000, 7_708, reads=17, writes=7),
    },
    "pallet_cf_lp": {
        "register_lp_account": CallWeight(21_568_000, 4_035, reads=1, writes=1),
        "deregister_lp_account": CallWeight(205_849_000, 46_873, reads=42, writes=1),
        "register_liquidity_refund_address": CallWeight(18_341_000, 4_035, reads=1, writes=1),
        "request_liquidity_deposit_address": CallWeight(76_628_000, 5_267, reads=12, writes=4),
        "withdraw_asset": CallWeight(61_838_000, 5_218, reads=10, writes=4),
        "transfer_asset": CallWeight(61_838_000, 5_218, reads=10, writes=4),
        "schedule_swap": CallWeight(77_626_000, 7_951, reads=13, writes=5),
        "purge_balances": CallWeight(
            69_550_000,
            10_214,
            reads=17,
            writes=5,
            of="accounts",
            each=CallWeight(58_372_772, 2_662, reads=3, writes=2),
        ),
        "transfer_flip_to_on_chain_balance": CallWeight(81_729_000, 6_145, reads=11, writes=5),
    },
    "pallet_cf_asset_balances": {
        "update_pallet_config": CallWeight(6_672_000, writes=1),
        "update_whitelist": CallWeight(71_114_000, 4_664, reads=4, writes=1),
        "set_whitelist_timelock": CallWeight(48_074_000, 3_786, reads=4, writes=1),
    },
    "pallet_cf_ingress_egress": {
        "enable_or_disable_egress": CallWeight(16_066_000, 3_671, reads=1, writes=1),
        "update_pallet_config": STORAGE_UPDATES,
        "mark_transaction_for_rejection": CallWeight(18_541_000, 3_671, reads=5, writes=4),
        "mark_deposit_channel_for_rejection": CallWeight(18_541_000, 3_671, reads=3, writes=2),
    },
    "pallet_cf_pools": {
        "new_pool": CallWeight(25_647_000, 3_508, reads=1, writes=1),
        "set_pool_fees": CallWeight(26_732_000, 5_018, reads=1, writes=1),
        "set_maximum_price_impact": CallWeight(5_254_740, of="limits", each=CallWeight(3_543_330, writes=1)),
        "update_pallet_config": STORAGE_UPDATES,
        "update_range_order": CallWeight(303_243_000, 12_255, reads=7, writes=3),
        "set_range_order": CallWeight(299_001_000, 12_255, reads=7, writes=3),
        "update_limit_order": CallWeight(219_931_000, 12_255, reads=6, writes=2),
        "set_limit_order": CallWeight(229_850_000, 12_255, reads=8, writes=4),
        "cancel_orders_batch": CallWeight(
            63_012_000, 8_143, reads=5, writes=3, of="orders", each=CallWeight(128_220_951, 440)
        ),
    },
}
"""Weights by crate and call. `Validator.force_rotation` is that of one authority."""

CHECK_MORTAL = Weight(6_703_000 + ROCKS_READ, 3_509)
CHECK_IMMORTAL = Weight(6_605_000 + ROCKS_READ, 3_509)
EXTENSION_WEIGHTS: Mapping[str, Weight] = {
    "CheckNonZeroSender": Weight(570_000),
    "CheckSpecVersion": Weight(430_000),
    "CheckTxVersion": Weight(455_000),
    "CheckGenesis": Weight(3_577_000 + ROCKS_READ, 3_509),
    "CheckNonce": Weight(7_261_000 + ROCKS_READ + ROCKS_WRITE, 3_593),
    "CheckWeight": Weight(3_006_000),
    "ChargeTransactionPayment": Weight(35_979_000 + READ_PS + WRITE_PS, 3_593),
    "WeightReclaim": Weight(4_747_000 + ROCKS_READ + ROCKS_WRITE, 1_489),
}
"""Weights by identifier; others weigh nothing, except CheckMortality, which depends on the era."""
