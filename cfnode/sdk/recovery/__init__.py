r"""Recovery of failed transfers on EVM chains.

Fetch the signed call, check it, explain it, send it:

    from cfnode.sdk import SwapSDK
    from cfnode.sdk.recovery import CheckContracts, FetchFailedCall, FindFailedCalls, explained

    with SwapSDK(network="dev") as sdk:
        offered = sdk.call(FindFailedCalls("ethereum"))
        print(len(offered), "calls on offer")
        for payload in offered:
            failed = sdk.call(FetchFailedCall("ethereum", payload.broadcast_id))
            print("\n".join(explained(failed)))
            sdk.call(CheckContracts(failed, "http://127.0.0.1:8545"))

Signing needs the extra `cfnode[evm]`; everything else does not.
"""

from cfnode.core.schnorr import Signature
from cfnode.core.vault_calls import TransferParams
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
    subject,
    summary,
    underway,
    unlisted,
    unsigned,
    wallet_fields,
)
from cfnode.sdk.recovery.offered import FindFailedCalls
from cfnode.sdk.recovery.offered_call import FailedCall, FetchFailedCall, FetchKeys, check_key
from cfnode.sdk.recovery.owner import Account, Address, Batch, Channel, Owner, Swap, Transaction, read_owner
from cfnode.sdk.recovery.payload import Payload, address_text, read_payload
from cfnode.sdk.recovery.preparing import PrepareTransaction
from cfnode.sdk.recovery.search import Progress
from cfnode.sdk.recovery.sending import Confirmation, ConfirmReceipt, FetchReceipt, SendTransaction
from cfnode.sdk.recovery.simulation import SimulateCall
from cfnode.sdk.recovery.tokens import amount_text, coin
from cfnode.sdk.recovery.transaction import PendingTransaction, Receipt, UnsignedTransaction
from cfnode.sdk.recovery.wallet import KeyFile, Wallet, is_open_to_others, read_password
from cfnode.swaps.identity import ChannelId

__all__ = [
    "Account",
    "Address",
    "AlreadySent",
    "BadPayload",
    "Batch",
    "BeingSigned",
    "Candidates",
    "Channel",
    "ChannelId",
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
    "Owner",
    "Payload",
    "Pending",
    "PendingTransaction",
    "PrepareTransaction",
    "Progress",
    "Receipt",
    "RecoveryError",
    "SendTransaction",
    "Signature",
    "SimulateCall",
    "Swap",
    "TooExpensive",
    "Transaction",
    "TransferParams",
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
    "subject",
    "summary",
    "underway",
    "unlisted",
    "unsigned",
    "wallet_fields",
]
