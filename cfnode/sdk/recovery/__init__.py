r"""Recovery of failed transfers on EVM chains.

Fetch the signed call, check it, explain it, send it:

    from cfnode.sdk import SwapSDK
    from cfnode.sdk.recovery import CheckContracts, FetchFailedCall, explained

    with SwapSDK(network="mainnet") as sdk:
        failed = sdk.call(FetchFailedCall("ethereum", 123))
        print("\n".join(explained(failed)))
        sdk.call(CheckContracts(failed, "https://my-ethereum-node"))

Signing needs the extra `cfnode[evm]`; everything else does not.
"""

from cfnode.sdk.recovery.candidates import Candidates, FindCallsOf, FindCallsOfBatch, FindCandidates
from cfnode.sdk.recovery.contracts import CheckContracts
from cfnode.sdk.recovery.errors import (
    AlreadySent,
    BadPayload,
    BeingSigned,
    Expired,
    IsBatch,
    KeyFileError,
    KeyRotated,
    MissingExtra,
    NeedsArchive,
    NoFundsForGas,
    NoSuchCall,
    Pending,
    RecoveryError,
    TooExpensive,
    WouldRevert,
    WrongChain,
    WrongPassword,
)
from cfnode.sdk.recovery.formatting import (
    bare_call,
    bare_gas,
    candidate,
    described,
    explained,
    for_tron,
    summary,
    unsigned,
    wallet_fields,
)
from cfnode.sdk.recovery.node import FailedCall, FetchFailedCall, FetchKeys, check_key
from cfnode.sdk.recovery.offered import FindFailedCalls
from cfnode.sdk.recovery.owner import read_owner
from cfnode.sdk.recovery.payload import Payload, address_text, read_payload
from cfnode.sdk.recovery.preparing import PrepareTransaction
from cfnode.sdk.recovery.search import Progress
from cfnode.sdk.recovery.sending import Confirmation, ConfirmReceipt, FetchReceipt, SendTransaction
from cfnode.sdk.recovery.tokens import amount_text, coin
from cfnode.sdk.recovery.transaction import PendingTransaction, Receipt, UnsignedTransaction
from cfnode.sdk.recovery.wallet import KeyFile, Wallet, is_open_to_others, read_password

__all__ = [
    "AlreadySent",
    "BadPayload",
    "BeingSigned",
    "Candidates",
    "CheckContracts",
    "ConfirmReceipt",
    "Confirmation",
    "Expired",
    "FailedCall",
    "FetchFailedCall",
    "FetchKeys",
    "FetchReceipt",
    "FindCallsOf",
    "FindCallsOfBatch",
    "FindCandidates",
    "FindFailedCalls",
    "IsBatch",
    "KeyFile",
    "KeyFileError",
    "KeyRotated",
    "MissingExtra",
    "NeedsArchive",
    "NoFundsForGas",
    "NoSuchCall",
    "Payload",
    "Pending",
    "PendingTransaction",
    "PrepareTransaction",
    "Progress",
    "Receipt",
    "RecoveryError",
    "SendTransaction",
    "TooExpensive",
    "UnsignedTransaction",
    "Wallet",
    "WouldRevert",
    "WrongChain",
    "WrongPassword",
    "address_text",
    "amount_text",
    "bare_call",
    "bare_gas",
    "candidate",
    "check_key",
    "coin",
    "described",
    "explained",
    "for_tron",
    "is_open_to_others",
    "read_owner",
    "read_password",
    "read_payload",
    "summary",
    "unsigned",
    "wallet_fields",
]
