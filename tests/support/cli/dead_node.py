"""A command line of each command that asks a node, complete but for the node."""

from __future__ import annotations

__all__ = ["ASKING", "WAITING"]

_ACCOUNT = "cFM6ZcrDUtrcUDFCDJZQ6bX9iA9z8w1zVd3PhBukicFpnK6FD"
_EVM = "0xFcd3C82b154CB4717Ac98718D0Fd13EEBA3D2754"
_BTC = "bcrt1p785mga8djc3r5f7afaechlth4laxaty2rt08ncgydw4j7zv8np5suf7etv"
_LP = f"--lp-account {_ACCOUNT}"

WAITING = ("ledger run", "swap watch --every=0.1 1-Bitcoin-1 --network=dev")
"""Command lines that wait for a node that is away: a service, and who watches a swap for some seconds."""

ASKING = (
    "rpc system_health",
    f"dev fund {_ACCOUNT}",
    f"dev deposit {_EVM} ETH 1",
    f"dev announce {_EVM} ETH 1",
    "dev send-to-vault {}",
    "dev boost ETH 1",
    "dev price ETH 1",
    "dev depth ETH 1",
    "dev oracle ETH 1",
    f"dev fail-receiver {_EVM} ETH",
    "dev abort Ethereum",
    "dev hold Ethereum",
    "dev fail-broadcast Ethereum",
    "dev hold-signatures",
    "dev jump 1h",
    "dev epoch",
    "dev upgrade 2.3.0",
    "dev rotate",
    "dev seal",
    "dev events",
    "dev evm",
    "dev finalize",
    "swap quote BTC ETH 1 --network=dev",
    f"swap request BTC ETH 1 --to={_EVM} --refund={_BTC} --min-price=1 --network=dev",
    "swap status 1-Bitcoin-1 --network=dev",
    "lp register",
    f"lp refund-address Ethereum {_EVM}",
    "lp deposit ETH",
    f"lp withdraw ETH 1 {_EVM}",
    f"lp balances {_LP}",
    f"lp orders {_LP}",
    "lp book ETH",
    f"lp set-limit ETH sell 1 --price=1 --id=1 {_LP}",
    f"lp set-range ETH --tick 1 2 --liquidity=1 --id=1 {_LP}",
    f"lp cancel ETH {_LP}",
    f"lp fills {_LP}",
    "recover ethereum 1 --network=dev",
    "ledger check",
    "service run --check",
    "status",
    "wait --timeout=0",
    "export-state --dev",
    "inspect-runtime",
)
