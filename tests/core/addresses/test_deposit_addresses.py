"""Deposit addresses against the vectors of the State Chain's own tests and of the main net."""

from __future__ import annotations

import base58
import pytest
from eth_utils import keccak
from hypothesis import given
from hypothesis import strategies as st
from py_ecc.secp256k1 import secp256k1

from cfnode.core.addresses import (
    NETWORKS,
    AddressError,
    address_to_text,
    assethub,
    evm,
    script_from_text,
    script_to_text,
    solana,
    taproot,
)
from cfnode.core.hashing import sha2_256
from cfnode.core.ss58 import decode as ss58_decode

ETHEREUM_VAULT = bytes.fromhex("F5e10380213880111522dd0efD3dbb45b9f62Bcc")
ARBITRUM_VAULT = bytes.fromhex("79001a5e762f3bEFC8e5871b42F6734e00498920")
TRON_VAULT = bytes.fromhex("32e07e5dfcb75c2977adddc593eb8d6b6e71f96e")
TEST_VAULT = bytes.fromhex("e7f1725E7734CE288F8367e1Bb143E90bb3F0512")


@pytest.mark.parametrize(
    ("chain", "vault", "asset", "channel_id", "address"),
    [
        ("Ethereum", TEST_VAULT, "Eth", 420696969, "311373270d730749ff22fd3c1f9836aa803be47a"),
        ("Ethereum", ETHEREUM_VAULT, "Eth", 1, "2be65f1beba5b332f6b778e6c39e69811adfe711"),
        ("Ethereum", ETHEREUM_VAULT, "Usdc", 2, "f9737db76f37a258cccb1d4bfa6595668fa277ec"),
        ("Arbitrum", ARBITRUM_VAULT, "ArbEth", 1, "0192c40b0d18a92372260c574a0b6bd49dcb8dd3"),
        ("Arbitrum", ARBITRUM_VAULT, "ArbUsdc", 1, "ecd950e1bc6d8eaba610c936767822a7a1d69678"),
        ("Tron", TRON_VAULT, "Trx", 1, "2a8c89d1bd97d47eb29c243715ca042a71de117d"),
        ("Tron", TRON_VAULT, "TrxUsdt", 1, "44c0f8fada476079a51e9e923de4d60b796f1115"),
        (
            "Tron",
            bytes.fromhex("adeecfa46eb3579c0f733085ba69a296ae9ee743"),
            "Trx",
            0,
            "eb9b3220f5e1c7f719ce7b67d88b170f917c5999",
        ),
    ],
)
def test_evm_channels_stand_where_their_vault_will_deploy_them(
    chain: str, vault: bytes, asset: str, channel_id: int, address: str
) -> None:
    """Compute the deposit addresses of EVM and Tron channels that the State Chain and the main net gave."""
    got = evm.deposit_address(chain, vault, channel_id, evm.INIT_CODE_HASHES[asset])
    assert got == bytes.fromhex(address)


@given(vault=st.binary(min_size=20, max_size=20), channel_id=st.integers(0, 2**64 - 1))
def test_an_evm_channel_is_create2_of_its_id(vault: bytes, channel_id: int) -> None:
    """Derive an EVM channel by CREATE2 from the vault, the channel's number and the code's hash."""
    init_code_hash = evm.INIT_CODE_HASHES["Usdt"]
    expected = keccak(b"\xff" + vault + bytes(24) + channel_id.to_bytes(8, "big") + init_code_hash)[-20:]
    assert evm.deposit_address("Ethereum", vault, channel_id, init_code_hash) == expected


def test_tron_channels_are_written_with_their_own_prefix() -> None:
    """Write a Tron channel in base58 with the prefix 0x41, which no other EVM chain has."""
    assert address_to_text(("Tron", TRON_VAULT)) == base58.b58encode_check(b"\x41" + TRON_VAULT).decode()


VAULT_KEY = bytes.fromhex("FEDBDC04F4666AF03167E2EF5FA5405BB012BC62A3B3180088E63972BD06EAD8")


@pytest.mark.parametrize(
    ("key", "salt", "address"),
    [
        (VAULT_KEY, 15, "bc1phgs87wzfdqp9amtyc6darrhk3sm38tpf9a39mgjycthcet7vxl3qktqz86"),
        (VAULT_KEY, 50, "bc1p2uf6vzdzmv0u7wyfnljnrctr5qr6hy6mmzyjpr6z7x8yt39gppfq3a54c9"),
        (VAULT_KEY, 123456789, "bc1p8ea6zrds8q5mke8l6rlrluyle82xdr3sx4dk73r78l859gjfpsrq6gq3ev"),
        (
            bytes.fromhex("2E897376020217C8E385A30B74B758293863049FA66A3FD177E012B076059105"),
            0,
            "bc1p96yhxaszqgtu3cu95v9hfd6c9yuxxpyl5e4rl5thuqftqas9jyzsdersag",
        ),
    ],
)
def test_bitcoin_channels_are_taproot_outputs_of_the_vault_key(key: bytes, salt: int, address: str) -> None:
    """Compute the Taproot address of a Bitcoin channel from the vault's key and the channel's number."""
    output = taproot.deposit(key, salt)
    assert script_to_text(output.script, NETWORKS["Mainnet"]) == address
    assert script_from_text(address, NETWORKS["Mainnet"]) == output.script


@pytest.mark.parametrize(
    ("salt", "push"),
    [(1, "51"), (16, "60"), (17, "0111"), (128, "0180"), (129, "4f"), (130, "0182"), (256, "020001")],
)
def test_the_salt_is_pushed_as_the_state_chain_writes_numbers(salt: int, push: str) -> None:
    """Push the channel's number as the State Chain does: another form gives an address it does not watch."""
    output = taproot.deposit(VAULT_KEY, salt)
    assert output.leaf_script == bytes.fromhex(push) + b"\x75\x20" + VAULT_KEY + b"\xac"


@given(salt=st.integers(1, taproot.MAX_TAPROOT_CHANNEL_ID))
def test_the_output_key_is_the_internal_key_plus_the_tweak(salt: int) -> None:
    """Tweak the internal key by BIP 341, computed here from the curve's own formulas."""
    output = taproot.deposit(VAULT_KEY, salt)
    tag = sha2_256(b"TapTweak")
    tweak = int.from_bytes(sha2_256(tag + tag + b"\xee" * 32 + output.leaf_hash), "big")
    x = int.from_bytes(b"\xee" * 32, "big")
    y = pow(x**3 + 7, (secp256k1.P + 1) // 4, secp256k1.P)
    internal = (x, y if y % 2 == 0 else secp256k1.P - y)
    point = secp256k1.add(internal, secp256k1.multiply(secp256k1.G, tweak))
    assert output.output_key == bytes([2 + point[1] % 2]) + point[0].to_bytes(32, "big")


def test_a_bitcoin_channel_id_beyond_32_bits_is_refused() -> None:
    """Refuse a Bitcoin channel id over 32 bits instead of cutting it to another channel's address."""
    with pytest.raises(AddressError, match="32 bits"):
        taproot.deposit(VAULT_KEY, 2**32)


def test_solana_channels_are_program_addresses_of_the_vault_program() -> None:
    """Compute the address of a Solana channel, with its bump, as a program address of the vault."""
    program = base58.b58decode("AusZPVXPoUM8QJJ2SL4KwvRGCQ22cDg6Y4rg7EvFrxi7")
    address, bump = solana.deposit_address(program, 1)
    assert (address_to_text(("Sol", address)), bump) == ("5N52ZVbPWdTTHg6vsywwDnt3uf1fxwYoZTtBuEH7ezNL", 255)


def test_a_hash_on_the_curve_lowers_the_bump() -> None:
    """Lower the bump when a hash lies on the curve: such an address would have a private key."""
    program = base58.b58decode("AusZPVXPoUM8QJJ2SL4KwvRGCQ22cDg6Y4rg7EvFrxi7")
    bumps = {solana.deposit_address(program, channel_id)[1] for channel_id in range(1, 20)}
    assert bumps > {255, 254}


@given(seed=st.binary(min_size=32, max_size=32))
def test_every_public_key_is_on_the_curve(seed: bytes) -> None:
    """Recognize every public key as a point of the curve."""
    from nacl.signing import SigningKey

    assert solana.is_on_curve(SigningKey(seed).verify_key.encode())


@pytest.mark.parametrize(
    ("vault", "channel_id", "account"),
    [
        (
            "15uPkKV7SsNXxw5VCu3LgnuaR5uSZ4QMyzxnLfDFE9J5nni9",
            6259,
            "12AeXofJkQErqQuiJmJapqwS4KiAZXBhAYoj9HZ2sYo36mRg",
        ),
        (
            "15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5",
            0x0004000300020001,
            "1422Jc2BYRh5ENjxWJchoHPSC2Rd4jFs8PDWHqBJue4yskEt",
        ),
    ],
)
def test_assethub_channels_are_derivatives_of_the_vault_account(
    vault: str, channel_id: int, account: str
) -> None:
    """Compute Assethub's channel accounts that the chain's own tests and the main net have."""
    assert assethub.deposit_account(ss58_decode(vault)[1], channel_id) == ss58_decode(account)[1]


def test_a_zero_word_inside_a_channel_id_is_applied_and_leading_ones_are_not() -> None:
    """Apply a zero word inside a channel's id, but no leading ones: id 0 is the vault itself."""
    vault = bytes(32)
    low = assethub.deposit_account(vault, 0)
    assert low == vault
    assert assethub.deposit_account(vault, 0x10000) != assethub.deposit_account(vault, 1)
