"""Recovery of failed transfers on EVM chains: fetch, check, explain, send.

    from cfnode.sdk import SwapSDK
    from cfnode.sdk.recovery import CheckContracts, FetchFailedCall, explained

    with SwapSDK(network="mainnet") as sdk:
        failed = sdk.call(FetchFailedCall("ethereum", 123))
        print("\\n".join(explained(failed)))
        sdk.call(CheckContracts(failed, "https://my-ethereum-node"))

Signing needs the extra `cfnode[evm]`; everything else does not.
"""

from cfnode.sdk.recovery.errors import (
    AlreadySent,
    BadPayload,
    BeingSigned,
    Expired,
    KeyRotated,
    MissingExtra,
    NeedsArchive,
    NoFundsForGas,
    NoSuchCall,
    RecoveryError,
    WouldRevert,
    WrongChain,
)
from cfnode.sdk.recovery.evm import (
    CheckContracts,
    FetchReceipt,
    PrepareTransaction,
    Receipt,
    SendTransaction,
    UnsignedTransaction,
)
from cfnode.sdk.recovery.find import FindCallsOf, FindFailedCalls
from cfnode.sdk.recovery.node import FailedCall, FetchFailedCall
from cfnode.sdk.recovery.payload import Payload, read_payload
from cfnode.sdk.recovery.wallet import Wallet
from cfnode.sdk.recovery.words import bare_call, described, explained, for_tron, unsigned

__all__ = [
    "AlreadySent",
    "BadPayload",
    "BeingSigned",
    "CheckContracts",
    "Expired",
    "FailedCall",
    "FetchFailedCall",
    "FetchReceipt",
    "FindCallsOf",
    "FindFailedCalls",
    "KeyRotated",
    "MissingExtra",
    "NeedsArchive",
    "NoFundsForGas",
    "NoSuchCall",
    "Payload",
    "PrepareTransaction",
    "Receipt",
    "RecoveryError",
    "SendTransaction",
    "UnsignedTransaction",
    "Wallet",
    "WouldRevert",
    "WrongChain",
    "bare_call",
    "described",
    "explained",
    "for_tron",
    "read_payload",
    "unsigned",
]
