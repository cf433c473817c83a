"""Requests of a broker that are wrong, by what is wrong with them, and the error that each has to get."""

from __future__ import annotations

from typing import Any

from cfnode.core import ss58

STRANGER = ss58.encode(bytes(range(32)))

ETH = {"chain": "Ethereum", "asset": "ETH"}
USDC = {"chain": "Ethereum", "asset": "USDC"}
BTC = {"chain": "Bitcoin", "asset": "BTC"}
SOL = {"chain": "Solana", "asset": "SOL"}
DOT = {"chain": "Polkadot", "asset": "DOT"}
EVM_ADDRESS = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"
BTC_ADDRESS = "bcrt1p785mga8djc3r5f7afaechlth4laxaty2rt08ncgydw4j7zv8np5suf7etv"
REFUND = {"retry_duration": 10, "refund_address": EVM_ADDRESS, "min_price": "0x0"}

SOL_ADDRESS = "3yKDHJgzS2GbZB9qruoadRYtq8597HZifnRju7fHpdRC"

Error = dict[str, Any]


def module(pallet: str, name: str, words: str) -> Error:
    """Return a module error as the pool client of the official node says it."""
    message = f'KnownModuleError {{ pallet: "{pallet}", name: "{name}", error: "{words}" }}'
    return {"code": -32024, "message": message}


def swapping(name: str, words: str) -> Error:
    """Return the refusal of the swapping pallet."""
    return module("Swapping", name, words)


def refused(text: str) -> Error:
    """Return the error with which a runtime API refuses a call."""
    return {"code": -32021, "message": f"DispatchError: {text}"}


def no_address(name: str, text: str, fault: str) -> Error:
    """Return the official node's message for an Ethereum address, and what it leaves out."""
    data = f"{name}: {text!r} is not an address of Ethereum: {fault}"
    return {"code": -32020, "message": "Invalid hex", "data": data}


def params(data: str) -> Error:
    """Return the refusal of malformed parameters."""
    return {"code": -32602, "message": "Invalid params", "data": data}


def misread(data: str, column: int) -> Error:
    """Return serde's error for the request as `json.dumps` writes it."""
    return params(f"{data} at line 1 column {column}")


def channel(**changes: Any) -> dict[str, Any]:
    """Return a request for a deposit channel, good but for the changes; None leaves a member out."""
    request = {
        "source_asset": ETH,
        "destination_asset": BTC,
        "destination_address": BTC_ADDRESS,
        "broker_commission": 10,
        "refund_parameters": REFUND,
    }
    return {name: entry for name, entry in (request | changes).items() if entry is not None}


def message(length: int) -> dict[str, Any]:
    """Return a message of that many bytes."""
    return {"message": "0x" + "5a" * length, "gas_budget": "0x1", "ccm_additional_data": ""}


OPEN = "broker_request_swap_deposit_address"
ENCODE = "broker_request_swap_parameter_encoding"
COMMISSION = swapping("BrokerCommissionBpsTooHigh", "Broker commission bps is limited to 1000 points.")
NO_ADDRESS = swapping("InvalidDestinationAddress", "The provided address could not be decoded.")
NO_RETRY = swapping("RetryDurationTooHigh", "Swap Retry duration is set above the max allowed.")
NOT_AFFILIATED = swapping(
    "AffiliateNotRegisteredForBroker", "The affiliate id is not registered for the broker."
)
NO_POOL = refused("PoolDoesNotExist")
HEX_256 = "a (both 0x-prefixed or not) hex string or byte array containing between (0; 32] bytes"
NO_WORDS = {"code": -32024, "message": 'DispatchError(Other(""))'}
"""A refusal in words that do not survive the encoding of the error, on the main net neither."""


def refund(**changes: Any) -> dict[str, Any]:
    """Return a channel request with a changed refund."""
    return channel(refund_parameters=REFUND | changes)


def dca(chunks: int, interval: int) -> dict[str, Any]:
    """Return a channel request in chunks."""
    return channel(dca_parameters={"number_of_chunks": chunks, "chunk_interval": interval})


def to_usdc(**changes: Any) -> dict[str, Any]:
    """Return a channel request to USDC on Ethereum."""
    return channel(destination_asset=USDC, destination_address=EVM_ADDRESS, **changes)


def vault_swap(**changes: Any) -> dict[str, Any]:
    """Return a request of a vault swap from Bitcoin."""
    extra = {"chain": "Bitcoin", "min_output_amount": "0x1", "retry_duration": 10} | changes.pop("extra", {})
    request = channel(source_asset=BTC, refund_parameters=None, extra_parameters=extra)
    return request | {"destination_asset": USDC, "destination_address": EVM_ADDRESS} | changes


CASES: dict[str, tuple[str, Any, Error]] = {
    "commission over the cap": (OPEN, channel(broker_commission=1_001), COMMISSION),
    "commission over the cap with an affiliate's": (
        OPEN,
        channel(broker_commission=1_000, affiliate_fees=[{"account": STRANGER, "bps": 1}]),
        COMMISSION,
    ),
    "commission beyond a number of the chain": (
        OPEN,
        channel(broker_commission=65_536),
        misread("invalid value: integer `65536`, expected u16", 232),
    ),
    "commission as text": (
        OPEN,
        channel(broker_commission="10"),
        misread('invalid type: string "10", expected u16', 231),
    ),
    "six affiliates": (
        OPEN,
        channel(affiliate_fees=[{"account": STRANGER, "bps": 1}] * 6),
        misread("out of bounds", 834),
    ),
    "boost fee beyond a number of the chain": (
        OPEN,
        channel(boost_fee=65_536),
        misread("invalid value: integer `65536`, expected u16", 378),
    ),
    "slippage beyond a number of the chain": (
        OPEN,
        refund(max_oracle_price_slippage=70_000),
        misread("invalid value: integer `70000`, expected u16", 393),
    ),
    "slippage as text": (
        OPEN,
        refund(max_oracle_price_slippage="1%"),
        misread('invalid type: string "1%", expected u16', 392),
    ),
    "slippage of an asset without price feed": (
        OPEN,
        channel(
            source_asset={"chain": "Ethereum", "asset": "FLIP"},
            refund_parameters=REFUND | {"max_oracle_price_slippage": 100},
        ),
        swapping("OraclePriceNotAvailable", "Oracle price not available for one or more of the assets."),
    ),
    "price as a word": (
        OPEN,
        refund(min_price="cheap"),
        misread("invalid hex character: h, at 1", 359),
    ),
    "price below zero": (
        OPEN,
        refund(min_price=-1),
        misread(f"invalid type: integer `-1`, expected {HEX_256}", 354),
    ),
    "price beyond 256 bits": (
        OPEN,
        refund(min_price=hex(2**256)),
        misread(f"invalid length 65, expected {HEX_256}", 421),
    ),
    "retries for too long": (OPEN, refund(retry_duration=601), NO_RETRY),
    "retries beyond a number of the chain": (
        OPEN,
        refund(retry_duration=2**32),
        misread("invalid value: integer `4294967296`, expected u32", 281),
    ),
    "refund to an address of another chain": (
        OPEN,
        refund(refund_address=BTC_ADDRESS),
        no_address("refund_address", BTC_ADDRESS, "it is an address of Bitcoin; give one of Ethereum"),
    ),
    "no refund parameters": (
        OPEN,
        channel(refund_parameters=None),
        misread("missing field `refund_parameters`", 230),
    ),
    "chunks without fill-or-kill": (
        OPEN,
        channel(refund_parameters=None, dca_parameters={"number_of_chunks": 2, "chunk_interval": 2}),
        misread("missing field `refund_parameters`", 294),
    ),
    "no chunks": (
        OPEN,
        dca(0, 2),
        swapping("ZeroNumberOfChunksNotAllowed", "The number of DCA chunks must be greater than 0."),
    ),
    "chunks at once": (
        OPEN,
        dca(2, 0),
        swapping("ChunkIntervalTooLow", "The chunk interval must be greater than the swap delay (2)."),
    ),
    "chunks for too long": (
        OPEN,
        dca(7_202, 2),
        swapping(
            "SwapRequestDurationTooLong",
            "The total duration of a DCA swap request must be less then the max allowed.",
        ),
    ),
    "chunks for ever": (
        OPEN,
        dca(2**32 - 1, 2**32 - 1),
        swapping("InvalidDcaParameters", "Invalid DCA parameters."),
    ),
    "chunks without an interval": (
        OPEN,
        channel(dca_parameters={"number_of_chunks": 2}),
        misread("missing field `chunk_interval`", 401),
    ),
    "message to Bitcoin": (
        OPEN,
        channel(channel_metadata=message(10)),
        swapping("CcmUnsupportedForTargetChain", "The target chain does not support CCM."),
    ),
    "message too long": (
        OPEN,
        to_usdc(channel_metadata=message(15_001)),
        params("invalid length 15001, expected 15000 bytes"),
    ),
    "message with too much additional data": (
        OPEN,
        to_usdc(channel_metadata=message(1) | {"ccm_additional_data": "0x" + "00" * 3_001}),
        params("invalid length 3001, expected 3000 bytes at line 1 column 6431"),
    ),
    "message with data that no call uses": (
        OPEN,
        to_usdc(channel_metadata=message(1) | {"ccm_additional_data": "0x00"}),
        swapping("InvalidCcm", "Failed to open deposit channel because the CCM message is invalid."),
    ),
    "message with a refund to Bitcoin": (
        OPEN,
        to_usdc(
            source_asset=BTC,
            refund_parameters=REFUND | {"refund_address": BTC_ADDRESS, "refund_ccm_metadata": message(1)},
        ),
        NO_WORDS,
    ),
    "address of Ethereum for Bitcoin": (OPEN, channel(destination_address=EVM_ADDRESS), NO_ADDRESS),
    "address of another Bitcoin network": (
        OPEN,
        channel(destination_address="bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"),
        NO_ADDRESS,
    ),
    "address of Bitcoin for Ethereum": (
        OPEN,
        channel(destination_asset=ETH),
        no_address("destination_address", BTC_ADDRESS, "it is an address of Bitcoin; give one of Ethereum"),
    ),
    "address that is too short": (
        OPEN,
        channel(destination_asset=ETH, destination_address="0x11"),
        no_address("destination_address", "0x11", "give 0x and 40 hexadecimal digits")
        | {"message": "Invalid address length"},
    ),
    "asset of another chain": (
        OPEN,
        channel(destination_asset={"chain": "Ethereum", "asset": "SOL"}),
        misread(
            "Expected a valid asset specifier. Assets should be specified as upper-case strings, "
            'e.g. `"ETH"`, and can be optionally distinguished by chain, e.g. '
            '`{ chain: "Ethereum", asset: "ETH" }.',
            114,
        ),
    ),
    "chain that is no more": (
        OPEN,
        channel(source_asset=DOT, refund_parameters=REFUND | {"refund_address": "0x" + "2a" * 32}),
        module(
            "PolkadotIngressEgress",
            "ChainDeprecated",
            "The Chain is deprecated, support is being phased out.",
        ),
    ),
    "private channel twice": (
        "broker_open_private_btc_channel",
        [],
        swapping(
            "PrivateChannelExistsForBroker",
            "Broker cannot deregister or open a new private channel because one already exists.",
        ),
    ),
    "broker twice": (
        "broker_register_account",
        [],
        module("AccountRoles", "AccountRoleAlreadyRegistered", "The account already has a registered role."),
    ),
    "unknown affiliate": ("broker_deregister_affiliate", [STRANGER], NOT_AFFILIATED),
    "pay of another broker's affiliate": (
        "broker_affiliate_withdrawal_request",
        [STRANGER],
        NOT_AFFILIATED,
    ),
    "withdrawal to an address of another chain": (
        "broker_withdraw_fees",
        [USDC, BTC_ADDRESS],
        no_address("destination_address", BTC_ADDRESS, "it is an address of Bitcoin; give one of Ethereum"),
    ),
    "least fee over the cap": ("broker_set_vault_swap_minimum_broker_fee", [1_001], COMMISSION),
    "mark of a channel that never was": (
        "broker_mark_transaction_for_rejection",
        [{"SolanaDepositChannel": SOL_ADDRESS}],
        module(
            "SolanaIngressEgress",
            "InvalidDepositAddress",
            "The deposit address is not valid. It may have expired or may never have been issued.",
        ),
    ),
    "mark on an unknown chain": (
        "broker_mark_transaction_for_rejection",
        [{"Doge": "0x11"}],
        misread(
            "unknown variant `Doge`, expected one of `Bitcoin`, `Ethereum`, `Arbitrum`, `Tron`, "
            "`Solana`, `SolanaDepositChannel`, `Bsc`",
            7,
        ),
    ),
    "vault swap whose fee does not fit": (
        ENCODE,
        vault_swap(broker_commission=256),
        refused("BrokerFeeTooHigh"),
    ),
    "vault swap with a message from Bitcoin": (
        ENCODE,
        vault_swap(channel_metadata=message(3)),
        refused("Vault swaps with CCM are not supported for the Bitcoin Chain"),
    ),
    "vault swap that retries for too long": (
        ENCODE,
        vault_swap(extra={"retry_duration": 601}),
        refused("RetryDurationTooHigh"),
    ),
    "vault swap from another chain": (
        ENCODE,
        vault_swap(source_asset=ETH),
        refused("Incompatible or unsupported source_asset and extra_parameters"),
    ),
    "vault swap to an address of another chain": (
        ENCODE,
        vault_swap(destination_address=BTC_ADDRESS),
        {"code": -32603, "message": "Internal error while processing request."},
    ),
    "vault swap of more than an amount of the chain": (
        ENCODE,
        vault_swap(extra={"min_output_amount": hex(2**128)}),
        {"code": -32603, "message": "Internal error while processing request."},
    ),
    "delegation of more than an amount of the chain": (
        "cf_evm_calldata",
        [EVM_ADDRESS, {"API": "Delegation", "call": {"Undelegate": {"decrease": {"Some": hex(2**128)}}}}],
        {
            "code": -32602,
            "message": "Failed to convert call parameters: integer overflow when casting to u128.",
        },
    ),
    "price of a missing pool": ("cf_pool_price_v2", [ETH, BTC], NO_POOL),
    "figures of a missing pool": ("cf_pool_info", [ETH, BTC], NO_POOL),
    "orders of a missing pool": ("cf_pool_orders", [ETH, BTC], NO_POOL),
    "swap of nothing": (
        "cf_swap_rate",
        [ETH, USDC, 0],
        {"code": -32602, "message": "Swap input amount cannot be zero."},
    ),
    "swap of too much": (
        "cf_swap_rate",
        [ETH, USDC, hex(2**128)],
        {"code": -32602, "message": "Swap input amount too large."},
    ),
    "check of no chunks": ("cf_validate_dca_params", [0, 2], refused("ZeroNumberOfChunksNotAllowed")),
    "check of long retries": (
        "cf_validate_refund_params",
        [ETH, USDC, 601],
        refused("RetryDurationTooHigh"),
    ),
}
