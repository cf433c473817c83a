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


@pytest.mark.parametrize(
    ("chain", "text", "bitcoin", "fault"),
    [
        ("Ethereum", "", None, "it is empty"),
        ("Ethereum", f"{EVM[:9]} {EVM[9:]}", None, "it contains a blank"),
        (
            "Ethereum",
            EVM.replace("F", "f", 1),
            None,
            f"its checksum is wrong (upper and lower case); {EVM} if the letters are right",
        ),
        ("Ethereum", EVM[:-1], None, "expected 0x and 40 hexadecimal digits"),
        ("Ethereum", MAIN, None, "it is an address of Bitcoin"),
        ("Ethereum", SOL, None, "it is an address of Solana"),
        ("Arbitrum", TRON, None, "it is an address of Tron"),
        ("Ethereum", ACCOUNT, None, "it is a State Chain account; an address of the other chain is expected"),
        ("Bitcoin", EVM, "Mainnet", "it is an address of Ethereum or Arbitrum or Bsc"),
        (
            "Bitcoin",
            MAIN,
            "Testnet",
            "it is a Bitcoin address of the main net; one of the test nets is expected",
        ),
        (
            "Bitcoin",
            TEST,
            "Mainnet",
            "it is a Bitcoin address of the test nets; one of the main net is expected",
        ),
        (
            "Bitcoin",
            MAIN[:-1] + "5",
            "Mainnet",
            "expected a Bitcoin address; its checksum is wrong: a letter is wrong or missing",
        ),
        ("Solana", EVM, None, "it is an address of Ethereum or Arbitrum or Bsc"),
        (
            "Tron",
            TRON[:-1] + "v",
            None,
            "expected T and 33 characters of base58; its checksum is wrong: a letter is wrong or missing",
        ),
        ("Polkadot", "hello", None, "expected SS58, or 0x and 64 hexadecimal digits"),
    ],
)  # fmt: skip
def test_the_fault_is_named(chain: str, text: str, bitcoin: str | None, fault: str) -> None:
    assert address_fault(chain, text, bitcoin) == fault


@given(st.sampled_from(sorted(CHAINS)), st.text(max_size=300))
def test_every_text_has_a_fault(chain: str, text: str) -> None:
    assert address_fault(chain, text, "Mainnet")
