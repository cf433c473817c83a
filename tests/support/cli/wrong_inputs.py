"""Command lines with one mistake each, by what the mistake is about."""

from __future__ import annotations

__all__ = ["ADDRESSES", "CASES"]

ADDRESSES = {
    "EVM": "0xFcd3C82b154CB4717Ac98718D0Fd13EEBA3D2754",
    "BTC": "bcrt1p785mga8djc3r5f7afaechlth4laxaty2rt08ncgydw4j7zv8np5suf7etv",
    "MAIN": "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4",
    "ACCOUNT": "cFNfitvPd2acNNFgijVN3Ls4gG112PZPq7sY2FGtPgEk25wV9",
    "SOL": "3yKDHJgzS2GbZB9qruoadRYtq8597HZifnRju7fHpdRC",
}
_OPEN = "swap request BTC ETH 0.1"
_ETH = '\'{"chain": "Ethereum", "asset": "ETH"}\''
_BTC = '\'{"chain": "Bitcoin", "asset": "BTC"}\''
_USDC = '\'{"chain": "Ethereum", "asset": "USDC"}\''
_TERMS = '\'{"retry_duration": 10, "min_price": "0x0", "refund_address": "zz"}\''
_VAULT = '\'{"chain": "Bitcoin", "min_output_amount": "0x1", "retry_duration": 10}\''

CASES: dict[str, tuple[str, ...]] = {
    "Commands and flags": (
        "quote BTC ETH 1",
        "swap qoute BTC ETH 1",
        "status --watsh",
        "build-block",
        "completion bsh",
        "swap quote BTC ETH",
        "swap quote BTC ETH 1 --network maynet",
        "run --dev --dev-seal sometimes",
        "run --chain berghaim",
        "wait --block x",
        "status --timeout 0",
    ),
    "The node": (
        "status --node 127.0.0.1:9944",
        "rpc system_health --node http://127.0.0.1:1",
        "swap quote BTC ETH 1 --node http://127.0.0.1:1",
        "rpc system_health --token-file nowhere",
        "rpc system_helth",
        "rpc cf_accountInfo",
        "rpc system_health --named [1]",
        "rpc chain_getBlock 0x12",
    ),
    "Assets and amounts": (
        "swap quote BTK ETH 1",
        "swap quote USDCC ETH 1",
        "swap quote BTC ETH 1_0",
        "swap quote BTC ETH 1,5",
        "swap quote BTC ETH 0",
        "swap quote BTC ETH 0.123456789",
        "swap quote BTC ETH 0.00000001",
        "swap quote BTC ETH 1e40",
    ),
    "Addresses": (
        f"{_OPEN} --slippage 2 --refund $BTC --to 0xfcd3C82b154CB4717Ac98718D0Fd13EEBA3D2754",
        f"{_OPEN} --slippage 2 --refund $BTC --to $BTC",
        f"{_OPEN} --slippage 2 --refund $BTC --to $SOL",
        f"{_OPEN} --slippage 2 --refund $BTC --to $ACCOUNT",
        f"{_OPEN} --slippage 2 --refund $BTC --to 0xFcd3C82b154CB4717Ac98718D0Fd13EEBA3D275",
        f"{_OPEN} --slippage 2 --refund $BTC --to ''",
        f"{_OPEN} --slippage 2 --refund $BTC --to 'my wallet'",
        f"{_OPEN} --slippage 2 --refund $MAIN --to $EVM",
        f"{_OPEN} --slippage 2 --refund $EVM --to $BTC",
        f"{_OPEN} --slippage 2 --to $EVM --refund "
        "bcrt1p785mga8djc3r5f7afaechlth4laxaty2rt08ncgydw4j7zv8np5suf7etx",
        f"{_OPEN} --slippage 2 --to $EVM --refund $BTC --affiliate you=5",
        f"{_OPEN} --slippage 2 --to $EVM --refund $BTC --affiliate you",
    ),
    "Terms of a swap": (
        f"{_OPEN} --to $EVM --refund $BTC",
        f"{_OPEN} --to $EVM --refund $BTC --slippage 2 --min-price 20",
        f"{_OPEN} --to $EVM --refund $BTC --slippage 200",
        f"{_OPEN} --to $EVM --refund $BTC --slippage two",
        f"{_OPEN} --to $EVM --refund $BTC --min-price 20 --boost",
        f"{_OPEN} --to $EVM --refund $BTC --min-price 20 --message 0x12",
        f"{_OPEN} --to $EVM --refund $BTC --min-price 20 --message hello --gas-budget 1",
        f"{_OPEN} --to $EVM --refund $BTC --min-price 20 --commission 5000",
        f"{_OPEN} --to $EVM --refund $BTC --min-price 20 --commission 5 --network perseverance",
    ),
    "Swaps and channels": (
        "swap status nope",
        "swap status 1-Bitcon-2",
        "swap status 1-Bitcoin-2",
        "swap status 999",
        "swap status ''",
    ),
    "A development chain": (
        "dev deposit nowhere Btc 1",
        "dev deposit $EVM Btc 1",
        "dev deposit $EVM ETH 1",
        "dev deposit 7-Bitcoin-777 Btc 1",
        "dev announce $EVM ETH 1",
        "dev price BTC 0",
        "dev oracle FLIP 1",
        "dev jump 5y",
        "dev jump 900d",
        "dev upgrade 9.9",
        "dev hold Etherium",
        "dev seal 0",
        "dev send-to-vault x",
        "dev fund cFnope",
    ),
    "Liquidity": (
        "lp set-limit ETH sell 1 --id 1",
        "lp set-limit ETH sel 1 --price 2000 --id 1",
        "lp set-limit ETH sell 1 --price 0 --id 1",
        "lp withdraw ETH 1 $BTC",
        "lp withdraw ETH 5 $EVM",
        "lp withdraw ETH all $EVM",
        "lp deposit ETH",
        "lp cancel",
        "lp refund-address eth $EVM",
        "lp register",
    ),
    "A broker's calls": (
        f"rpc broker_withdraw_fees {_USDC} $EVM",
        f"rpc broker_withdraw_fees {_USDC} $BTC",
        f"rpc broker_request_swap_deposit_address {_USDC} {_ETH} $EVM 0 null null null {_TERMS}",
        f"rpc broker_request_swap_deposit_address {_USDC} {_ETH} $EVM 5000",
        f"rpc broker_request_swap_parameter_encoding {_BTC} {_ETH} $EVM 10 {_VAULT}",
    ),
    "Keys and files": (
        "key inspect 'some words that are no phrase'",
        "purge-chain --chain nowhere.json",
        "ledger show swops",
        "ledger show swaps --database sqlite:///nowhere/books.sqlite",
    ),
}
"""`$NAME` stands for an address of ADDRESSES."""
