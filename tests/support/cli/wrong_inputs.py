"""Command lines with one mistake each, by what the mistake is about."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["ADDRESSES", "CASES", "FILES", "Mistake"]


class Mistake(NamedTuple):
    """A command line, and the parts of its error: the wrong value, its place, and what to do.

    The place is a parameter, an option, a file, a method or the command.
    """

    line: str
    what: str
    where: str
    step: str


ADDRESSES = {
    "EVM": "0xFcd3C82b154CB4717Ac98718D0Fd13EEBA3D2754",
    "BTC": "bcrt1p785mga8djc3r5f7afaechlth4laxaty2rt08ncgydw4j7zv8np5suf7etv",
    "MAIN": "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4",
    "ACCOUNT": "cFNfitvPd2acNNFgijVN3Ls4gG112PZPq7sY2FGtPgEk25wV9",
    "SOL": "3yKDHJgzS2GbZB9qruoadRYtq8597HZifnRju7fHpdRC",
}
FILES = {
    "typo.toml": "[status]\ntimout = 3\n",
    "kind.toml": "[status]\nwatch = 'yes'\n",
    "syntax.toml": "[status\n",
}
"""Configuration files with one mistake each, in the folder of the commands."""
_OPEN = "swap request BTC ETH 0.1"
_TO_EVM = f"{_OPEN} --to $EVM --refund $BTC"
_REFUNDED = f"{_OPEN} --slippage 2 --refund $BTC"
_ETH = '\'{"chain": "Ethereum", "asset": "ETH"}\''
_BTC = '\'{"chain": "Bitcoin", "asset": "BTC"}\''
_USDC = '\'{"chain": "Ethereum", "asset": "USDC"}\''
_TERMS = '\'{"retry_duration": 10, "min_price": "0x0", "refund_address": "zz"}\''
_VAULT = '\'{"chain": "Bitcoin", "min_output_amount": "0x1", "retry_duration": 10}\''
_OPEN_CHANNEL = "broker_request_swap_deposit_address"
_ENCODE = "broker_request_swap_parameter_encoding"
_REFERENCES = "give a deposit channel's id"
_UNKNOWN_SWAP = "check the reference and the network"

CASES: dict[str, tuple[Mistake, ...]] = {
    "Commands and flags": (
        Mistake("quote BTC ETH 1", "'quote'", "command", "Did you mean 'cfnode swap quote'?"),
        Mistake("swap qoute BTC ETH 1", "'qoute'", "command", "Did you mean 'quote'?"),
        Mistake("swap swop BTC ETH 1", "'swop'", "command", "`cfnode swap --help`"),
        Mistake("status --watsh", "'--watsh'", "option", "Did you mean '--watch'?"),
        Mistake("status --zzz", "'--zzz'", "option", "`cfnode status --help`"),
        Mistake("status --json=yes", "does not take a value", "'--json'", "write `--json` alone"),
        Mistake("config check f --json=yes", "does not take a value", "'--json'", "write `--json` alone"),
        Mistake("status --every", "requires an argument", "'--every'", "write `--every SECONDS`"),
        Mistake("build-block", "'build-block'", "command", "Did you mean 'build-spec'?"),
        Mistake("completion bsh", "'bsh'", "{bash|zsh|fish}", "Did you mean bash or zsh?"),
        Mistake(
            "swap quote BTC ETH",
            "Missing argument",
            "'AMOUNT'",
            "write `cfnode swap quote SOURCE DESTINATION AMOUNT`",
        ),
        Mistake("swap quote BTC ETH 1 2", "extra argument (2)", "quote", "leave it out"),
        Mistake(f"{_OPEN} --slippage 2 --refund $BTC", "Missing option", "'--to'", "add `--to ADDRESS`"),
        Mistake("swap quote BTC ETH 1 --network maynet", "'maynet'", "'--network'", "Did you mean mainnet?"),
        Mistake("run --dev --dev-seal sometimes", "'sometimes'", "'--dev-seal'", "Choose from slots"),
        Mistake("run --chain berghaim", "no such file", "berghaim", "Did you mean berghain?"),
        Mistake("wait --block x", "'x'", "'--block'", "give one from 0 on"),
        Mistake("status --timeout 0", "'0'", "'--timeout'", "give one from 0.1 to 86400"),
    ),
    "The node": (
        Mistake("status --node 127.0.0.1:9944", "'127.0.0.1:9944'", "'--node'", "begin it with http://"),
        Mistake(
            "rpc system_health --node http://127.0.0.1:1",
            "Connection refused",
            "http://127.0.0.1:1",
            "Check that the node is running, and that --node",
        ),
        Mistake(
            "swap quote BTC ETH 1 --node http://127.0.0.1:1",
            "Connection refused",
            "http://127.0.0.1:1",
            "Check that it is running",
        ),
        Mistake("rpc system_health --token-file nowhere", "nowhere", "--token-file", "check the path"),
        Mistake("rpc system_helth", "Method not found", "system_helth", "Did you mean system_health?"),
        Mistake("rpc cf_accountInfo", "Method not found", "cf_accountInfo", "Did you mean cf_account_info?"),
        Mistake("rpc system_health --named [1]", "'[1]'", "--named", "write parameters by name, as in"),
        Mistake("rpc chain_getBlock 0x12", "invalid length 2", "chain_getBlock", "Correct hash."),
    ),
    "Assets and amounts": (
        Mistake("swap quote BTK ETH 1", "'BTK'", "'SOURCE'", "Did you mean BTC?"),
        Mistake("swap quote USDCC ETH 1", "'USDCC'", "'SOURCE'", "Did you mean USDC or"),
        Mistake("swap quote BTC ETH 1_0", "'1_0'", "'AMOUNT'", "give one such as 0.5"),
        Mistake("swap quote BTC ETH 1,5", "'1,5'", "'AMOUNT'", "write a decimal point instead"),
        Mistake("swap quote BTC ETH 0", "'0'", "'AMOUNT'", "give one such as 0.5"),
        Mistake("swap quote BTC ETH 0.123456789", "0.123456789", "AMOUNT", "round it"),
        Mistake("swap quote BTC ETH 0.00000001", "below minimum", "amount", "give at least that"),
        Mistake("swap quote BTC ETH 1e40", "1E+40", "AMOUNT", "give less"),
    ),
    "Addresses": (
        Mistake(
            f"{_REFUNDED} --to 0xfcd3C82b154CB4717Ac98718D0Fd13EEBA3D2754",
            "'0xfcd3C82b154CB4717Ac98718D0Fd13EEBA3D2754'",
            "--to",
            f"write {ADDRESSES['EVM']} if the letters are right",
        ),
        Mistake(f"{_REFUNDED} --to $BTC", ADDRESSES["BTC"], "--to", "give one of Ethereum"),
        Mistake(f"{_REFUNDED} --to $SOL", ADDRESSES["SOL"], "--to", "give one of Ethereum"),
        Mistake(f"{_REFUNDED} --to $ACCOUNT", ADDRESSES["ACCOUNT"], "--to", "give an address of Ethereum"),
        Mistake(
            f"{_REFUNDED} --to 0xFcd3C82b154CB4717Ac98718D0Fd13EEBA3D275",
            "'0xFcd3C82b154CB4717Ac98718D0Fd13EEBA3D275'",
            "--to",
            "give 0x and 40 hexadecimal digits",
        ),
        Mistake(f"{_REFUNDED} --to ''", "it is empty", "--to", "give 0x and 40 hexadecimal digits"),
        Mistake(f"{_REFUNDED} --to 'my wallet'", "'my wallet'", "--to", "write it without"),
        Mistake(
            f"{_OPEN} --slippage 2 --refund $MAIN --to $EVM",
            ADDRESSES["MAIN"],
            "--refund",
            "give one of regtest",
        ),
        Mistake(
            f"{_OPEN} --slippage 2 --refund $EVM --to $BTC",
            "receiver and refund address are swapped",
            "--to",
            "exchange them",
        ),
        Mistake(
            f"{_OPEN} --slippage 2 --to $EVM --refund "
            "bcrt1p785mga8djc3r5f7afaechlth4laxaty2rt08ncgydw4j7zv8np5suf7etx",
            "etx' is not a valid Bitcoin address",
            "--refund",
            "copy it again",
        ),
        Mistake(f"{_TO_EVM} --slippage 2 --affiliate you=5", "'you'", "--affiliate", "copy it whole"),
        Mistake(f"{_TO_EVM} --slippage 2 --affiliate you", "'you'", "--affiliate", "write it as cF…=5"),
    ),
    "Terms of a swap": (
        Mistake(_TO_EVM, "no lowest price", "--slippage", "give --slippage PERCENT or --min-price PRICE"),
        Mistake(
            f"{_TO_EVM} --slippage 2 --min-price 20",
            "exclude each other",
            "--slippage and --min-price",
            "give --slippage PERCENT or --min-price PRICE",
        ),
        Mistake(f"{_TO_EVM} --slippage 200", "200", "--slippage", "give a percentage from 0 to 100"),
        Mistake(f"{_TO_EVM} --slippage two", "'two'", "'--slippage'", "give one such as 0.5"),
        Mistake(f"{_TO_EVM} --min-price 20 --boost", "--min-price", "--boost", "use --slippage instead"),
        Mistake(f"{_TO_EVM} --min-price 20 --message 0x12", "--gas-budget", "--message", "add it"),
        Mistake(
            f"{_TO_EVM} --min-price 20 --message hello --gas-budget 1",
            "'hello'",
            "--message",
            "give bytes as 0x and pairs of hex digits",
        ),
        Mistake(
            f"{_TO_EVM} --min-price 20 --commission 5000",
            "5000",
            "'--commission'",
            "give a whole number from 0",
        ),
        Mistake(
            f"{_TO_EVM} --min-price 20 --commission 5 --network perseverance",
            "--broker",
            "--commission",
            "add it",
        ),
    ),
    "Swaps and channels": (
        Mistake("swap status nope", "'nope'", "is not a swap", _REFERENCES),
        Mistake("swap status 1-Bitcon-2", "'Bitcon'", "id", "did you mean Bitcoin?"),
        Mistake("swap status 1-Bitcoin-2", "1-Bitcoin-2", "the swap service", _UNKNOWN_SWAP),
        Mistake("swap status 999", "999", "the swap service", _UNKNOWN_SWAP),
        Mistake("swap status ''", "''", "id", _REFERENCES),
    ),
    "A development chain": (
        Mistake("dev deposit nowhere Btc 1", "'nowhere'", "ADDRESS", "give a Bitcoin address"),
        Mistake("dev deposit $EVM Btc 1", ADDRESSES["EVM"], "ADDRESS", "give one of Bitcoin"),
        Mistake("dev deposit $EVM ETH 1", ADDRESSES["EVM"], "deposit address", "open a channel with"),
        Mistake("dev deposit 7-Bitcoin-777 Btc 1", "7-Bitcoin-777", "the swap service", _UNKNOWN_SWAP),
        Mistake("dev announce $EVM ETH 1", ADDRESSES["EVM"], "deposit channel", "open one with"),
        Mistake("dev price BTC 0", "'0'", "'DOLLARS'", "give one such as 0.5"),
        Mistake("dev price USDC 2", "USDC", "price", "give a price above zero, of an asset other than USDC"),
        Mistake("dev oracle FLIP 1", "FLIP", "FEED", "choose from BTC"),
        Mistake("dev jump 5y", "'5y'", "'DURATION'", "write one such as 90s"),
        Mistake("dev jump 900d", "its reserve is used up", "the chain's clock", "Start a new chain"),
        Mistake("dev upgrade 9.9", "'9.9'", "{2.2.3|2.2.9|2.3.0}", "Choose from 2.2.3"),
        Mistake("dev hold Etherium", "'Etherium'", "'CHAIN'", "Did you mean Ethereum?"),
        Mistake("dev seal 0", "0 is too small", "'[COUNT]'", "give a whole number from 1 to 10000"),
        Mistake("dev send-to-vault x", "'x'", "JSON", f"give the answer of {_ENCODE}"),
        Mistake("dev fund cFnope", "'cFnope'", "'ACCOUNT'", "copy it whole"),
    ),
    "Liquidity": (
        Mistake("lp set-limit ETH sell 1 --id 1", "no price", "--price", "give --price PRICE or --tick TICK"),
        Mistake("lp set-limit ETH sel 1 --price 2000 --id 1", "'sel'", "{sell|buy}", "Did you mean sell?"),
        Mistake("lp set-limit ETH sell 1 --price 0 --id 1", "not 0", "price", "give a price from"),
        Mistake("lp withdraw ETH 1 $BTC", ADDRESSES["BTC"], "ADDRESS", "give one of Ethereum"),
        Mistake("lp withdraw ETH 5 $EVM", "InsufficientBalance", "lp_withdraw_asset", "ask for less"),
        Mistake("lp withdraw ETH all $EVM", "no free ETH", "the account", "`cfnode lp balances`"),
        Mistake(
            "lp deposit ETH",
            "NoLiquidityRefundAddressRegistered",
            "lp_request_liquidity_deposit_address",
            "set one with `cfnode lp refund-address",
        ),
        Mistake("lp cancel", "no order", "ASSET", "give an ASSET"),
        Mistake("lp refund-address eth $EVM", "'eth'", "'CHAIN'", "Did you mean Ethereum?"),
        Mistake("lp register", "AccountRoleAlreadyRegistered", "lp_register_account", "deregister it first"),
    ),
    "A broker's calls": (
        Mistake(
            f"rpc broker_withdraw_fees {_USDC} $EVM",
            "NoFundsAvailable",
            "broker_withdraw_fees",
            "wait for the first fee",
        ),
        Mistake(
            f"rpc broker_withdraw_fees {_USDC} $BTC",
            ADDRESSES["BTC"],
            "destination_address",
            "give one of Ethereum",
        ),
        Mistake(
            f"rpc {_OPEN_CHANNEL} {_USDC} {_ETH} $EVM 0 null null null {_TERMS}",
            "'zz'",
            "refund_address",
            "give 0x and 40 hexadecimal digits",
        ),
        Mistake(
            f"rpc {_OPEN_CHANNEL} {_USDC} {_ETH} $EVM 5000",
            "No more params",
            _OPEN_CHANNEL,
            "Add refund_parameters",
        ),
        Mistake(
            f"rpc {_ENCODE} {_BTC} {_ETH} $EVM 10 {_VAULT}",
            "NoPrivateChannelExistsForBroker",
            _ENCODE,
            "open one with `cfnode rpc broker_open_private_btc_channel`",
        ),
    ),
    "Keys and files": (
        Mistake("status --config typo.toml", "timout", "typo.toml:2", "Did you mean timeout?"),
        Mistake("status --config kind.toml", "not a text", "kind.toml:2: status.watch", "give true or false"),
        Mistake("status --config syntax.toml", "not TOML", "syntax.toml:1", "correct this line"),
        Mistake(
            "key inspect 'some words that are no phrase'", "this one has 6", "phrase/URI", "give all of them"
        ),
        Mistake(
            "purge-chain --chain nowhere.json",
            "no such file",
            "--chain nowhere.json",
            "give the path of a chain specification",
        ),
        Mistake("ledger show swops", "'swops'", "'REPORT'", "Did you mean swaps?"),
        Mistake(
            "ledger show swaps --database sqlite:///nowhere/books.sqlite",
            "no books",
            "nowhere/books.sqlite",
            "`cfnode ledger run` begins them",
        ),
    ),
}
"""`$NAME` stands for an address of ADDRESSES."""
