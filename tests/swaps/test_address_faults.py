"""Why a text is no address of a chain."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfnode.core.assets import CHAINS
from cfnode.swaps.address_faults import address_fault

EVM = "0xFcd3C82b154CB4717Ac98718D0Fd13EEBA3D2754"
MAIN = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"
TEST = "tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx"
SOL = "3yKDHJgzS2GbZB9qruoadRYtq8597HZifnRju7fHpdRC"
TRON = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"
ACCOUNT = "cFNfitvPd2acNNFgijVN3Ls4gG112PZPq7sY2FGtPgEk25wV9"
MISTYPED = "its checksum is wrong, so a letter is wrong or missing: copy it again, or give "


@pytest.mark.parametrize(
    ("chain", "text", "bitcoin", "fault"),
    [
        ("Ethereum", "", None, "it is empty; give 0x and 40 hexadecimal digits"),
        ("Ethereum", f"{EVM[:9]} {EVM[9:]}", None, "it contains a blank; write it without"),
        (
            "Ethereum",
            EVM.replace("F", "f", 1),
            None,
            f"its checksum is wrong (upper and lower case); write {EVM} if the letters are right",
        ),
        ("Ethereum", EVM[:-1], None, "give 0x and 40 hexadecimal digits"),
        ("Ethereum", MAIN, None, "it is an address of Bitcoin; give one of Ethereum"),
        ("Ethereum", SOL, None, "it is an address of Solana; give one of Ethereum"),
        ("Arbitrum", TRON, None, "it is an address of Tron; give one of Arbitrum"),
        ("Ethereum", ACCOUNT, None, "it is a State Chain account; give an address of Ethereum"),
        ("Bitcoin", EVM, "Mainnet", "it is an address of Ethereum or Arbitrum or Bsc; give one of Bitcoin"),
        (
            "Bitcoin",
            MAIN,
            "Testnet",
            "it is a Bitcoin address of the main net; give one of the test nets",
        ),
        (
            "Bitcoin",
            TEST,
            "Mainnet",
            "it is a Bitcoin address of the test nets; give one of the main net",
        ),
        (
            "Bitcoin",
            MAIN[:-1] + "5",
            "Mainnet",
            f"{MISTYPED}a Bitcoin address",
        ),
        ("Solana", EVM, None, "it is an address of Ethereum or Arbitrum or Bsc; give one of Solana"),
        (
            "Tron",
            TRON[:-1] + "v",
            None,
            f"{MISTYPED}T and 33 characters of base58",
        ),
        ("Polkadot", "hello", None, "give SS58, or 0x and 64 hexadecimal digits"),
    ],
)  # fmt: skip
def test_the_fault_is_named(chain: str, text: str, bitcoin: str | None, fault: str) -> None:
    """Name what is wrong with an address and what to give: checksum, length, other chain, other network."""
    assert address_fault(chain, text, bitcoin) == fault


@given(st.sampled_from(sorted(CHAINS)), st.text(max_size=300))
def test_every_text_has_a_fault(chain: str, text: str) -> None:
    """Return some fault for any text at all: the function itself never fails."""
    assert address_fault(chain, text, "Mainnet")
