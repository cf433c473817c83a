"""The errors of failed calls: exceptions as JSON-RPC codes and texts.

No other module turns exceptions into codes and texts. These are the official node's, since clients depend on
them: 4003 and -32022 for unknown blocks and discarded states, 1010 and the codes next to it for transactions
that the pool refuses, -32024 for a failed submission of the broker or the liquidity provider, -32021 for a
refusal of a runtime API and -32026 for a runtime API that the runtime lacks. An unforeseen exception is
logged with its traceback, and answered as an internal error without details.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Final

from cfnode.core.jsonrpc import ErrorCode, RpcError
from cfnode.core.refusals import NOT_REGISTERED
from cfnode.node.chain.errors import ChainRefusal
from cfnode.node.chain.runtime_api import ApiMissing, ApiRefused, ApiReturnedNone
from cfnode.node.pool import errors as pool
from cfnode.node.signing.outcome import EventError, SubmissionError
from cfnode.node.signing.submission import NotReady, NotYetIncluded, TooManyCalls
from cfnode.rpc.table.extrinsics import BadExtrinsic, execution_failed
from cfnode.rpc.table.serde import quoted
from cfnode.runtime.calls import RuntimeCallError, UnknownFunction
from cfnode.store import StateDiscarded, StoreError, UnknownBlock

log = logging.getLogger("cfnode.rpc")

AUTHOR_OTHER: Final = 1040
STATE_CLIENT: Final = 4003
RUNTIME_ERROR: Final = 1
OTHER_ERROR: Final = -32020
DISPATCH_ERROR: Final = -32021
RUNTIME_API_ERROR: Final = -32022
SUBSTRATE_CLIENT_ERROR: Final = -32023
POOL_CLIENT_ERROR: Final = -32024
EVENTS_ERROR: Final = -32025
UNSUPPORTED: Final = -32026
BUSY: Final = "Server is busy, try again later"
PROCESSING: Final = RpcError(ErrorCode.INTERNAL_ERROR, "Internal error while processing request.")

# The texts of Substrate's `InvalidTransaction`, the `data` of code 1010.
_INVALID: Final = {
    "Call": "Transaction call is not expected",
    "Payment": "Inability to pay some fees (e.g. account balance too low)",
    "Future": "Transaction will be valid in the future",
    "Stale": "Transaction is outdated",
    "BadProof": "Transaction has a bad signature",
    "AncientBirthBlock": "Transaction has an ancient birth block",
    "ExhaustsResources": "Transaction would exhaust the block limits",
    "BadMandatory": "A call was labelled as mandatory, but resulted in an Error.",
    "MandatoryValidation": "Transaction dispatch is mandatory; transactions must not be validated.",
    "BadSigner": "Invalid signing address",
    "IndeterminateImplicit": "The implicit data was unable to be calculated",
    "UnknownOrigin": "The transaction extension did not authorize any origin",
}
_CLIENT_ERROR: Final = "Client error: "
_BAD_ORIGIN: Final = "BadOrigin"
_OWN: Final = ("cf_", "broker_", "lp_")
_FRAME_METHODS: Final = {
    "system_accountNextIndex": "Unable to query nonce.",
    "account_nextIndex": "Unable to query nonce.",
    "system_dryRun": "Unable to dry run extrinsic.",
    "payment_queryInfo": "Unable to query dispatch info.",
    "payment_queryFeeDetails": "Unable to query fee details.",
}
_BY_RUNTIME_API: Final = (
    "state_getMetadata",
    "state_getRuntimeVersion",
    "chain_getRuntimeVersion",
    *_FRAME_METHODS,
)
"""Methods that ask a runtime API by its declaration.

Other methods read the state, or call a function by name.
"""
_BY_EXECUTOR: Final = "state_call"
_LOW_PRIORITY: Final = (
    "The transaction has too low priority to replace another transaction already in the pool."
)
_DROPPED: Final = "The transaction couldn't enter the pool because of the limit"


_UNACTIONABLE: Final = (
    "The transaction is unactionable since it is not propagable and the local node does not author blocks"
)
_NO_TAGS: Final = "Transaction does not provide any tags, so the pool can't identify it"


# The texts of `transactionWatch_v1` (sc-rpc-spec-v2).
_UNKNOWN: Final = {
    "CannotLookup": "Could not lookup information required to validate the transaction",
    "NoUnsignedValidator": "Could not find an unsigned validator for the unsigned transaction",
    "Custom": "UnknownTransaction custom error",
}
_REFUSAL_EVENTS: Final[tuple[tuple[Any, str], ...]] = (
    (pool.TemporarilyBanned, "Transaction is temporarily banned"),
    (pool.AlreadyImported, "Transaction is already imported"),
    (pool.CycleDetected, "The transaction contains a cyclic dependency"),
    (pool.ImmediatelyDropped, "The transaction could not enter the pool because of the limit"),
    (
        pool.Unactionable,
        "Transaction cannot be propagated and the local node does not author blocks",
    ),
    (
        pool.NoTagsProvided,
        "Transaction does not provide any tags, so the pool cannot identify it",
    ),
    ((pool.BadFormat, BadExtrinsic), "Extrinsic bytes cannot be decoded"),
)


def explain(error: Exception, method: str) -> RpcError:
    """Return the answer to a call of `method` that ended with `error`."""
    for kinds, explanation in _EXPLANATIONS:
        if isinstance(error, kinds):
            return explanation(error, method)
    log.error("%s ended with a bug, please report it", method, exc_info=error)
    return RpcError(ErrorCode.INTERNAL_ERROR, "Internal error")


def one_line(error: Exception, method: str) -> str:
    """Return the error as the text of an event, in one line, without the prefix `Client error: `."""
    explained = explain(error, method)
    text = ": ".join(filter(None, (explained.message, explained.data)))
    return text.removeprefix(_CLIENT_ERROR)


def refusal_event(error: pool.PoolError | BadExtrinsic) -> str:
    """Return why the pool refused a transaction, as the text of an event, on one line.

    The event is one of `transactionWatch_v1`.
    """
    if isinstance(error, pool.InvalidTransaction):
        if error.reason.reason == "Custom":
            return f"Invalid transaction with custom error: {error.reason.code}"
        return f"Invalid transaction: {_INVALID.get(error.reason.reason, error.reason.reason)}"
    if isinstance(error, pool.UnknownTransaction):
        return f"Unknown transaction validity: {_UNKNOWN[error.reason.reason]}"
    if isinstance(error, pool.TooLowPriority):
        return f"The priority of the transaction is too low (pool {error.old} > current {error.new})"
    if isinstance(error, pool.VerificationFailed):
        return " ".join(f"Verification error: Runtime error: {_execution(error)}".split())
    return next(text for kinds, text in _REFUSAL_EVENTS if isinstance(error, kinds))


def _no_state(error: Any, method: str) -> RpcError:
    """Return the official node's error, which depends on its layer that misses the block or the state."""
    block = f"0x{error.block.hex()}"
    if isinstance(error, StateDiscarded):
        text = f"State already discarded for {block}"
    else:
        text = f"Header was not found in the database: {block}"
    if method.startswith(_OWN):
        return RpcError(RUNTIME_API_ERROR, f"Unknown block: {text}")
    if method.startswith(_BY_RUNTIME_API):
        return _client_error(f"Api called for an unknown Block: {text}", method)
    if method.startswith(_BY_EXECUTOR) and isinstance(error, UnknownBlock):
        text = f"Expect block number from id: BlockId::Hash({block})"
    return _client_error(f"UnknownBlock: {text}", method)


def _runtime(error: Any, method: str) -> RpcError:
    if method.startswith(_OWN):
        return RpcError(RUNTIME_API_ERROR, f"Application error: {error}")
    for name, message in _FRAME_METHODS.items():
        if method.startswith(name):
            return RpcError(RUNTIME_ERROR, message, execution_failed(error))
    return _client_error(f"Execution failed: {error}", method)


def _client_error(text: str, method: str) -> RpcError:
    """Return an error with `text` as the message of state_* methods.

    FRAME's methods have fixed messages: there it is the data.
    """
    for name, message in _FRAME_METHODS.items():
        if method.startswith(name):
            return RpcError(RUNTIME_ERROR, message, text)
    return RpcError(STATE_CLIENT, f"{_CLIENT_ERROR}{text}")


def _store(error: Any, method: str) -> RpcError:
    if method.startswith(_OWN):
        return RpcError(SUBSTRATE_CLIENT_ERROR, str(error))
    return _client_error(str(error), method)


def _missing(error: Any, method: str) -> RpcError:
    return RpcError(UNSUPPORTED, f"CfApiError::UnsupportedRuntimeApiVersion: {error}")


def _unknown_function(error: Any, method: str) -> RpcError:
    if method.startswith(_OWN):
        return _missing(error, method)
    text = f"Execution failed: Other: Exported method {error.function} is not found"
    return _client_error(text, method)


def _refused(error: Any, method: str) -> RpcError:
    if error.text is None:
        log.info("%s: %s", method, error)
        return PROCESSING
    return RpcError(DISPATCH_ERROR, f"DispatchError: {error.text}", _advice(error.text, method))


def _advice(text: str, method: str) -> str | None:
    """Return a hint for the node's own accounts, where the error's text is the official node's."""
    if _BAD_ORIGIN not in text:
        return None
    return next((hint for prefix, hint in NOT_REGISTERED.items() if method.startswith(prefix)), None)


def _invalid(error: Any, method: str) -> RpcError:
    reason = error.reason
    if reason.reason == "Custom":
        return RpcError(1010, "Invalid Transaction", f"Custom error: {reason.code}")
    return RpcError(1010, "Invalid Transaction", _INVALID.get(reason.reason, reason.reason))


def _too_low(error: Any, method: str) -> RpcError:
    return RpcError(1014, f"Priority is too low: ({error.old} vs {error.new})", _LOW_PRIORITY)


def _execution(error: pool.VerificationFailed) -> str:
    """Return why the runtime did not validate a transaction."""
    if isinstance(error, pool.NotJudged):
        return str(error)
    cause = error.__cause__
    return execution_failed(cause if isinstance(cause, Exception) else error)


def _not_verified(error: Any, method: str) -> RpcError:
    text = _execution(error)
    return RpcError(1002, f"Verification Error: Runtime error: {text}", f"RuntimeApi({quoted(text)})")


def _malformed(error: Any, method: str) -> RpcError:
    """Return the error for a malformed extrinsic, which author_submitExtrinsic has of its own."""
    if method == "author_submitExtrinsic":
        return RpcError(AUTHOR_OTHER, f"Client error: {error}")
    return RpcError(1001, f"Extrinsic has invalid format: {error}")


def _fixed(code: int, message: str, data: str | None = None) -> Callable[[Any, str], RpcError]:
    return lambda error, method: RpcError(code, message, data)


def _as_text(code: int) -> Callable[[Any, str], RpcError]:
    return lambda error, method: RpcError(code, str(error))


_EXPLANATIONS: Final[tuple[tuple[Any, Callable[[Any, str], RpcError]], ...]] = (
    ((UnknownBlock, StateDiscarded), _no_state),
    (pool.InvalidTransaction, _invalid),
    (
        pool.UnknownTransaction,
        lambda e, m: RpcError(1011, "Unknown Transaction Validity", f"UnknownTransaction::{e.reason}"),
    ),
    (pool.TemporarilyBanned, _fixed(1012, "Transaction is temporarily banned")),
    (pool.AlreadyImported, _fixed(1013, "Transaction Already Imported", "Any { .. }")),
    (pool.TooLowPriority, _too_low),
    (pool.CycleDetected, _fixed(1015, "Cycle Detected")),
    (pool.ImmediatelyDropped, _fixed(1016, "Immediately Dropped", _DROPPED)),
    (
        pool.Unactionable,
        _fixed(1018, "Unactionable", _UNACTIONABLE),
    ),
    (pool.NoTagsProvided, _fixed(1019, "No tags provided", _NO_TAGS)),
    ((pool.BadFormat, BadExtrinsic), _malformed),
    (pool.VerificationFailed, _not_verified),
    (NotReady, _as_text(ErrorCode.CALL_FAILED)),
    (TooManyCalls, lambda e, m: RpcError(ErrorCode.SERVER_BUSY, BUSY, str(e))),
    (SubmissionError, lambda e, m: RpcError(POOL_CLIENT_ERROR, str(e), _advice(str(e), m))),
    (NotYetIncluded, lambda e, m: RpcError(POOL_CLIENT_ERROR, str(e), {"tx_hash": f"0x{e.tx_hash.hex()}"})),
    (EventError, _as_text(EVENTS_ERROR)),
    (ApiMissing, _missing),
    (ApiRefused, _refused),
    (ApiReturnedNone, _as_text(OTHER_ERROR)),
    (UnknownFunction, _unknown_function),
    (RuntimeCallError, _runtime),
    (ChainRefusal, _as_text(ErrorCode.CALL_FAILED)),
    (StoreError, _store),
)
