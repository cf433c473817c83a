"""Weights of calls that differ in releases 2.2.3 and 2.3.0, and the weights of all releases.

`measured_weights` has the figures of 2.2.9. The figures here are from the same places of the other releases'
sources: those of 2.2.3 were taken without reads, writes and proofs. The argument with which a weight grows,
and the class of the call, are the same in each release.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from .frame.weights import CallWeight
from .measured_weights import CALL_WEIGHTS

__all__ = ["WEIGHTS"]

CallWeights = Mapping[str, Mapping[str, CallWeight]]
"""Weights by crate and call."""

_IN_2_2_3: CallWeights = {
    "pallet_cf_environment": {
        "update_safe_mode": CallWeight(7_109_000),
        "update_consolidation_parameters": CallWeight(6_440_000),
        "non_native_signed_call": CallWeight(10_134_000),
        "batch": CallWeight(7_204_575, each=CallWeight(1_552_196)),
    },
    "pallet_cf_flip": {
        "update_pallet_config": CallWeight(6_375_000),
    },
    "pallet_cf_funding": {
        "update_minimum_funding": CallWeight(12_435_000),
        "update_restricted_addresses": CallWeight(2_367_264_680, each=CallWeight(204_693_791)),
        "bind_redeem_address": CallWeight(15_815_000),
        "update_redemption_tax": CallWeight(12_938_000),
        "bind_executor_address": CallWeight(15_872_000),
        "rebalance": CallWeight(132_383_000),
        "redeem": CallWeight(218_864_000),
    },
    "pallet_cf_account_roles": {
        "set_vanity_name": CallWeight(19_128_000),
        "spawn_sub_account": CallWeight(102_117_000),
        "as_sub_account": CallWeight(15_215_000),
    },
    "pallet_cf_validator": {
        "force_rotation": CallWeight(424_513_748),
    },
    "pallet_cf_threshold_signature": {
        "signature_success": CallWeight(35_796_000),
        "on_keygen_verification_result": CallWeight(21_007_000),
    },
    "pallet_cf_broadcast": {
        "transaction_failed": CallWeight(39_464_000),
        "re_sign_aborted_broadcasts": CallWeight(49_820_097, each=CallWeight(51_560_554)),
        "update_pallet_config": CallWeight(6_591_000),
        "on_signature_ready": CallWeight(100_501_000),
    },
    "pallet_cf_swapping": {
        "request_swap_deposit_address": CallWeight(77_893_000),
        "request_swap_deposit_address_with_affiliates": CallWeight(78_008_000),
        "request_account_creation_deposit_address": CallWeight(255_041_000),
        "register_as_broker": CallWeight(26_693_000),
        "deregister_as_broker": CallWeight(58_446_000),
        "withdraw": CallWeight(64_067_000),
        "bind_broker_fee_withdrawal_address": CallWeight(23_035_000),
        "set_vault_swap_minimum_broker_fee": CallWeight(17_028_000),
        "open_private_btc_channel": CallWeight(41_805_000),
        "close_private_btc_channel": CallWeight(35_465_000),
        "register_affiliate": CallWeight(1_028_245_000),
        "deregister_affiliate": CallWeight(102_925_000),
        "affiliate_withdrawal_request": CallWeight(92_073_000),
    },
    "pallet_cf_lp": {
        "register_lp_account": CallWeight(20_911_000),
        "deregister_lp_account": CallWeight(206_231_000),
        "register_liquidity_refund_address": CallWeight(18_349_000),
        "request_liquidity_deposit_address": CallWeight(76_363_000),
        "withdraw_asset": CallWeight(61_285_000),
        "transfer_asset": CallWeight(61_285_000),
        "schedule_swap": CallWeight(79_422_000),
        "purge_balances": CallWeight(69_675_000, each=CallWeight(54_638_225)),
    },
    "pallet_cf_ingress_egress": {
        "enable_or_disable_egress": CallWeight(16_381_000),
        "mark_transaction_for_rejection": CallWeight(18_614_000),
        "mark_deposit_channel_for_rejection": CallWeight(18_614_000),
    },
    "pallet_cf_pools": {
        "new_pool": CallWeight(25_366_000),
        "set_pool_fees": CallWeight(26_652_000),
        "set_maximum_price_impact": CallWeight(5_131_417, each=CallWeight(3_543_096)),
        "update_range_order": CallWeight(306_050_000),
        "set_range_order": CallWeight(305_203_000),
        "update_limit_order": CallWeight(224_941_000),
        "set_limit_order": CallWeight(237_246_000),
        "cancel_orders_batch": CallWeight(62_911_000, each=CallWeight(120_961_808)),
    },
}

_IN_2_3_0: CallWeights = {
    "pallet_cf_environment": {
        "update_safe_mode": CallWeight(7_621_000, writes=1),
        "update_consolidation_parameters": CallWeight(6_830_000, writes=1),
        "non_native_signed_call": CallWeight(10_773_000),
        "batch": CallWeight(7_779_098, each=CallWeight(1_585_480)),
    },
    "pallet_cf_flip": {
        "update_pallet_config": CallWeight(6_775_000, writes=1),
    },
    "pallet_cf_funding": {
        "update_minimum_funding": CallWeight(12_526_000, 1_628, 1, 1),
        "update_restricted_addresses": CallWeight(
            2_376_393_310, 29_303, 10, 11, each=CallWeight(204_749_489, 9)
        ),
        "bind_redeem_address": CallWeight(16_366_000, 3_605, 1, 1),
        "update_redemption_tax": CallWeight(13_283_000, 1_628, 1, 1),
        "bind_executor_address": CallWeight(16_682_000, 3_605, 1, 1),
        "rebalance": CallWeight(150_240_000, 8_954, 20, 14),
        "redeem": CallWeight(225_323_000, 14_496, 37, 14),
    },
    "pallet_cf_account_roles": {
        "set_vanity_name": CallWeight(19_176_000, 2_265, 1, 1),
        "spawn_sub_account": CallWeight(107_536_000, 7_477, 17, 5),
        "as_sub_account": CallWeight(15_753_000, 3_529, 1),
    },
    "pallet_cf_validator": {
        "force_rotation": CallWeight(438_404_708, 18_926, 49, 18),
    },
    "pallet_cf_threshold_signature": {
        "signature_success": CallWeight(36_225_000, 4_119, 3, 3),
        "on_keygen_verification_result": CallWeight(21_065_000, 3_965, 1, 2),
    },
    "pallet_cf_broadcast": {
        "transaction_failed": CallWeight(39_081_000, 4_739, 5, 2),
        "re_sign_aborted_broadcasts": CallWeight(
            51_121_631, 12_985, 18, 7, each=CallWeight(51_784_542, 2_621, 1, 3)
        ),
        "update_pallet_config": CallWeight(6_618_000, writes=1),
        "on_signature_ready": CallWeight(101_240_000, 7_586, 12, 8),
    },
    "pallet_cf_swapping": {
        "request_swap_deposit_address": CallWeight(77_991_000, 5_208, 12, 4),
        "request_swap_deposit_address_with_affiliates": CallWeight(78_354_000, 5_277, 12, 4),
        "request_account_creation_deposit_address": CallWeight(259_088_000, 5_307, 14, 4),
        "register_as_broker": CallWeight(26_291_000, 4_653, 2, 1),
        "deregister_as_broker": CallWeight(66_120_000, 5_162, 7, 2),
        "withdraw": CallWeight(64_568_000, 5_246, 11, 4),
        "bind_broker_fee_withdrawal_address": CallWeight(22_101_000, 4_215, 2, 1),
        "set_vault_swap_minimum_broker_fee": CallWeight(17_018_000, 4_035, 1, 1),
        "open_private_btc_channel": CallWeight(42_184_000, 4_992, 5, 3),
        "close_private_btc_channel": CallWeight(35_843_000, 4_978, 3, 2),
        "register_affiliate": CallWeight(1_006_077_000, 647_864, 258, 4),
        "deregister_affiliate": CallWeight(118_084_000, 6_464, 11, 16),
        "affiliate_withdrawal_request": CallWeight(109_430_000, 7_786, 19, 7),
    },
    "pallet_cf_lp": {
        "register_lp_account": CallWeight(21_006_000, 4_035, 1, 1),
        "deregister_lp_account": CallWeight(246_752_000, 54_446, 51, 2),
        "register_liquidity_refund_address": CallWeight(39_180_000, 4_291, 4, 2),
        "request_liquidity_deposit_address": CallWeight(86_800_000, 5_359, 12, 4),
        "withdraw_asset": CallWeight(68_213_000, 5_289, 12, 4),
        "transfer_asset": CallWeight(68_213_000, 5_289, 12, 4),
        "schedule_swap": CallWeight(81_952_000, 7_897, 13, 5),
        "purge_balances": CallWeight(141_945_928, 10_133, 17, 5, each=CallWeight(59_785_975, 2_662, 3, 2)),
    },
    "pallet_cf_ingress_egress": {
        "enable_or_disable_egress": CallWeight(16_334_000, 3_671, 1, 1),
        "mark_transaction_for_rejection": CallWeight(18_570_000, 3_671, 5, 4),
        "mark_deposit_channel_for_rejection": CallWeight(18_570_000, 3_671, 3, 2),
    },
    "pallet_cf_pools": {
        "new_pool": CallWeight(25_666_000, 3_508, 1, 1),
        "set_pool_fees": CallWeight(31_176_000, 5_018, 1, 1),
        "set_maximum_price_impact": CallWeight(5_189_723, each=CallWeight(3_611_551, writes=1)),
        "update_range_order": CallWeight(303_801_000, 12_167, 7, 3),
        "set_range_order": CallWeight(304_869_000, 12_167, 7, 3),
        "update_limit_order": CallWeight(229_871_000, 12_167, 7, 2),
        "set_limit_order": CallWeight(237_095_000, 12_167, 9, 4),
        "cancel_orders_batch": CallWeight(67_282_000, 8_268, 5, 3, each=CallWeight(119_415_531, 440)),
    },
}


def _changed(changes: CallWeights) -> CallWeights:
    return {
        crate: {name: _with(weight, changes.get(crate, {}).get(name)) for name, weight in calls.items()}
        for crate, calls in CALL_WEIGHTS.items()
    }


def _with(weight: CallWeight, figures: CallWeight | None) -> CallWeight:
    if figures is None:
        return weight
    return replace(
        figures, of=weight.of, dispatch_class=weight.dispatch_class, follows_nested=weight.follows_nested
    )


WEIGHTS: Mapping[str, CallWeights] = {
    "2.2.3": _changed(_IN_2_2_3),
    "2.2.9": CALL_WEIGHTS,
    "2.3.0": _changed(_IN_2_3_0),
}
"""The weights of calls by release."""
