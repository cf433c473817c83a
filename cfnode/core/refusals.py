"""Refusals of calls by the State Chain, in words, with the next step where one is known.

The official node writes a refusal as Rust prints it, and clients depend on that text:

    KnownModuleError { pallet: "Swapping", name: "NoFundsAvailable", error: "The withdrawal is …" }
    DispatchError(BadOrigin)      Invalid(Payment)

`error` is the documentation that the pallet's authors gave the error. People get that sentence, the error's
name to search for, and the next step where one is known. The node's text stays available to programs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

__all__ = ["NOT_REGISTERED", "ModuleRefusal", "advice_for", "read_refusal", "refusal_text"]

NOT_REGISTERED: Final = {
    "broker_": "this account is not registered as a broker: call broker_register_account first",
    "lp_": "this account is not registered as a liquidity provider: call lp_register_account first",
}
"""Advice for BadOrigin, by the beginning of the method's name."""
_STRING: Final = r'"((?:[^"\\]|\\.)*)"'
_MODULE: Final = re.compile(
    rf"^KnownModuleError \{{ pallet: {_STRING}, name: {_STRING}, error: {_STRING} \}}$"
)
_STAND_ALONE: Final = re.compile(r"^Module error .(\w+). from pallet .(\w+).: .(.*).$", re.DOTALL)
_DISPATCH: Final = re.compile(r"^DispatchError(?:: |\()(.+?)\)?$", re.DOTALL)
_INVALID: Final = re.compile(r"^(?:Invalid|InvalidTransaction|Unknown|UnknownTransaction)\((\w+)\)$")
MAX_REFUSAL_TEXT: Final = 16_384
"""Characters of a message that may be a refusal."""

_WORDS: Final = {
    "BadOrigin": "this account may not make this call",
    "CannotLookup": "the account is unknown",
    "ConsumerRemaining": "the account is still in use",
    "NoProviders": "the account holds no FLIP",
    "Token(FundsUnavailable": "the account has too little FLIP",
    "Token(BelowMinimum": "the account would have less than the minimum",
    "Arithmetic(Underflow": "the chain computed a number below zero",
    "Arithmetic(Overflow": "the chain computed a number that is too large",
    "Arithmetic(DivisionByZero": "the chain divided by zero",
    "Exhausted": "the block is full",
    "Payment": "the account cannot pay the transaction's fee",
    "Stale": "the transaction's nonce has been used",
    "Future": "the transaction's nonce is ahead of the account's",
    "BadProof": "the transaction's signature is wrong",
    "AncientBirthBlock": "the transaction has expired",
    "ExhaustsResources": "the block is full",
    'Other(""': "the chain gave no reason that could be read",
}
"""Errors that belong to no pallet, in words. Their text may continue after a bracket."""
_FUND: Final = "fund the account with FLIP"
_ADVICE: Final = {
    "Payment": _FUND,
    "Token(FundsUnavailable": _FUND,
    "Stale": "read the nonce again, and sign again",
    "ExhaustsResources": "try again in the next block",
    "Exhausted": "try again in the next block",
    "AncientBirthBlock": "sign it again",
}
_ADVICE_OF_PALLETS: Final = {
    "AccountRoleAlreadyRegistered": "deregister it first, or use another key",
    "AffiliateNotRegisteredForBroker": "register it by broker_register_affiliate",
    "BelowEgressDustLimit": "ask for more; cf_swapping_environment lists the minimum of each asset",
    "BrokerCommissionBpsTooHigh": "ask for 1000 basis points or less, all affiliates included",
    "ChainDeprecated": "choose another chain",
    "ChannelExpired": "open a new channel, with `cfnode swap request`",
    "ChunkIntervalTooLow": "choose an interval of 3 blocks or more",
    "DepositChannelCreationDisabled": "the network has paused deposits of this chain; try again later",
    "InsufficientBalance": "ask for less; `cfnode lp balances` prints what is free",
    "InvalidDepositAddress": "copy the address again, or open a channel with `cfnode swap request`",
    "LiquidityDepositDisabled": "the network has paused deposits; try again later",
    "NoFundsAvailable": "wait for the first fee; `cfnode status` prints what was earned",
    "NoLiquidityRefundAddressRegistered": "set one with `cfnode lp refund-address CHAIN ADDRESS`",
    "NoPrivateChannelExistsForBroker": "open one with `cfnode rpc broker_open_private_btc_channel`",
    "OraclePriceNotAvailable": "leave the oracle's slippage out",
    "OrderDoesNotExist": "`cfnode lp orders` prints the open ones",
    "PoolDoesNotExist": "cf_available_pools lists the pools",
    "WithdrawalsDisabled": "the network has paused withdrawals; try again later",
}
"""Advice by the name of a pallet's error; these names are unique enough."""
_DEV: Final = "Dev"
_ADVICE_OF_DEV: Final = {
    "BelowMinimumFunding": "give more",
    "InvalidAmount": "give an amount above zero that the chain can count",
    "InvalidPool": "give a price above zero, of an asset other than USDC",
    "InvalidPrice": "choose from BTC, ETH, SOL, USDC and USDT, and give a price above zero",
    "NobodyAsked": "wait until an authority is asked to send it, or name another broadcast",
    "NotNoticed": "give the answer of broker_request_swap_parameter_encoding, unchanged",
    "WrongChain": "give an address of the asset's chain; a receiver that fails is on an EVM chain",
}
"""Advice for the errors of a development chain's own pallet, whose names other pallets may have."""
_SWAPPING: Final = "Swapping"
_BARE: Final = {
    "AffiliateFeeTooHigh": "an affiliate's commission is above 255 basis points",
    "AffiliateNotRegisteredForBroker": "the broker has not registered this affiliate",
    "BrokerFeeTooHigh": "the broker's commission is above 255 basis points",
    "InvalidDcaParameters": "the number of chunks or their interval is too large",
    "InvalidDestinationAddress": "the destination address is not one of the asset's chain",
    "NoPrivateChannelExistsForBroker": "the broker has no open private channel for vault swaps of Bitcoin",
    "OraclePriceNotAvailable": "the oracle has no price of the asset",
    "RetryDurationTooHigh": "the retry duration is too long",
    "ZeroNumberOfChunksNotAllowed": "a swap has one chunk or more",
}
"""Errors of the pallet Swapping that the encoding of a vault swap returns by name alone, in words."""


@dataclass(frozen=True, slots=True)
class ModuleRefusal:
    """A refusal. `pallet` is "" if the error belongs to none; `words` is the error's documentation."""

    pallet: str
    name: str
    words: str

    @property
    def advice(self) -> str:
        """The next step for the caller, or ""."""
        if not self.pallet:
            return _matching(_ADVICE, self.name)
        own = _ADVICE_OF_DEV.get(self.name) if self.pallet == _DEV else None
        return own or _ADVICE_OF_PALLETS.get(self.name, "")


def advice_for(name: str) -> str:
    """Return the next step for the error of a pallet with this name, or ""."""
    return _ADVICE_OF_PALLETS.get(name, "")


def read_refusal(message: str) -> ModuleRefusal | None:
    """Return the refusal in a node's or a broker's error message; None for any other text."""
    if len(message) > MAX_REFUSAL_TEXT:
        return None
    if match := _MODULE.match(message):
        pallet, name, words = (_unescape(part) for part in match.groups())
        return ModuleRefusal(pallet, name, words)
    if match := _STAND_ALONE.match(message):
        return ModuleRefusal(match[2], match[1], match[3])
    if match := _DISPATCH.match(message) or _INVALID.match(message):
        if match[1] in _BARE:
            return ModuleRefusal(_SWAPPING, match[1], _BARE[match[1]])
        return ModuleRefusal("", match[1], _matching(_WORDS, match[1]))
    return None


def refusal_text(refusal: ModuleRefusal, method: str = "") -> str:
    """Return a refusal in words: `The sentence of the pallet (Pallet.Name): what to do`.

    `method`: the JSON-RPC method that was called, which decides the advice for BadOrigin.
    """
    name = f"{refusal.pallet}.{refusal.name}" if refusal.pallet else refusal.name
    words = " ".join(refusal.words.split()).rstrip(".")
    advice = refusal.advice
    if refusal.name == "BadOrigin":
        advice = next((text for prefix, text in NOT_REGISTERED.items() if method.startswith(prefix)), "")
    return (f"{words} ({name})" if words else name) + (f"; {advice}" if advice else "")


def _matching(table: dict[str, str], name: str) -> str:
    """Return the value of the first key with which the name begins; "" without one."""
    return next((text for key, text in table.items() if name == key or name.startswith(key)), "")


def _unescape(text: str) -> str:
    return re.sub(r"\\(.)", lambda match: {"n": "\n", "t": "\t"}.get(match[1], match[1]), text)
