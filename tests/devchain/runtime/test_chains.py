"""The figures of the foreign chains, and the keys of their vaults."""

from __future__ import annotations

import pytest
from coincurve import PrivateKey

from cfnode.core.addresses.evm import INIT_CODE_HASHES
from cfnode.core.addresses.solana import is_on_curve
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.chains import CHAIN_INSTANCES
from cfnode.devchain.runtime.config import CONTRACTS
from cfnode.devchain.runtime.keys import evm_key, evm_secret, solana_environment

HALF_ORDER = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0
MAIN_NET_LIFETIMES = {
    "Ethereum": 6_171,
    "Arbitrum": 345_600,
    "Bitcoin": 144,
    "Solana": 216_000,
    "Assethub": 7_200,
    "Tron": 28_800,
    "Bsc": 192_000,
    "Polkadot": 14_400,
}


def test_channels_live_as_long_as_main_nets_genesis_says() -> None:
    """Give channels the lifetimes of the main net's genesis, chain by chain."""
    assert {name: chain.lifetime for name, chain in CHAIN_INSTANCES.items()} == MAIN_NET_LIFETIMES


@pytest.mark.parametrize("name", CHAIN_INSTANCES)
def test_a_height_is_a_multiple_of_the_witness_period_and_moves_with_the_clock(name: str) -> None:
    """Keep heights multiples of the witness period, and advance them by the block time."""
    chain = CHAIN_INSTANCES[name]
    start = 1_750_000_000_123
    assert chain.height_at(start) % chain.witness_period == 0
    period_ms = chain.block_time * chain.witness_period
    assert chain.height_at(start + period_ms) == chain.height_at(start) + chain.witness_period


def test_after_a_period_comes_the_next_one_even_from_its_first_block() -> None:
    """Return the end of the next witness period, even from a period's first block."""
    arbitrum = CHAIN_INSTANCES["Arbitrum"]
    assert [arbitrum.after_period(height) for height in (0, 23, 24, 25)] == [24, 24, 48, 48]


def test_a_time_that_is_too_long_ends_with_the_last_block_that_can_be_counted() -> None:
    """Clamp an expiry to the last height that the chain's type can hold."""
    hub, bitcoin = CHAIN_INSTANCES["Assethub"], CHAIN_INSTANCES["Bitcoin"]
    assert hub.after_period(2**33) == hub.last_height == 2**32 - 1
    assert bitcoin.after_period(2**64) == bitcoin.last_height == 2**64 - 1


def test_the_evm_key_is_one_that_the_key_manager_contract_accepts() -> None:
    """Choose an EVM key that the KeyManager accepts: its x is at most half the order of the curve."""
    public = PrivateKey(evm_secret()).public_key.format()
    assert int.from_bytes(public[1:], "big") <= HALF_ORDER
    assert evm_key() == values.EvmAggKey(
        pub_key_x=public[1:], pub_key_y_parity={2: "Even", 3: "Odd"}[public[0]]
    )


def test_the_tokens_of_genesis_are_those_whose_deposit_contracts_are_known() -> None:
    """List only tokens whose deposit contract is known, with addresses of 20 bytes."""
    for contracts in CONTRACTS.values():
        for asset, address in contracts.tokens:
            assert asset in INIT_CODE_HASHES
            assert len(address) == 20
    assert dict(CONTRACTS["Tron"].tokens)["TrxUsdt"] == bytes.fromhex(
        "a614f803b6fd780986a42c78ec9c7f77e6ded13c"
    )


def test_programs_on_solana_are_points_of_the_curve_since_the_chain_derives_under_no_others() -> None:
    """Place Solana's programs on the curve: the chain derives no program address under any other."""
    programs = solana_environment()
    for name in ("vault_program", "swap_endpoint_program", "alt_manager_program"):
        assert is_on_curve(getattr(programs, name))


def test_token_accounts_on_solana_are_program_addresses() -> None:
    """Place Solana's token accounts off the curve, as program addresses are."""
    accounts = solana_environment()
    for name in ("token_vault_pda_account", "usdc_token_vault_ata", "usdt_token_vault_ata"):
        assert not is_on_curve(getattr(accounts, name))
