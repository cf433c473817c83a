"""The life of `cfnode run`: a base path, the node in one trio nursery, and an orderly stop when asked.

The first SIGINT or SIGTERM stops the node in order, exit 0. A second one ends the process at once, exit 130:
the store survives that too.
"""

from __future__ import annotations

import gc
import logging
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import trio

from cfnode import __version__
from cfnode.cli.exits import ExitCode, Failure
from cfnode.cli.failures import explained
from cfnode.devchain.config import DevConfig
from cfnode.node.config import Config

log = logging.getLogger("cfnode.service")


@contextmanager
def temporary_base_path() -> Iterator[Path]:
    """A fresh directory that is removed at the end."""
    fresh = Path(tempfile.mkdtemp(prefix="cfnode-"))
    try:
        yield fresh
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


async def stop_on_signals(
    scope: trio.CancelScope, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
) -> None:
    """Cancel `scope` at the first signal; end the process at the second."""
    with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        task_status.started()
        async for _ in signals:
            if scope.cancel_called:
                os._exit(ExitCode.INTERRUPTED)
            log.info("🛑 Stopping")
            scope.cancel()


def favour_the_loop() -> None:
    """Hold up the trio loop as little as can be while threads check signatures, walk tries, pack answers.

    They let go of the interpreter after 1 ms instead of 5 where the loop waits for it: checking a warp proof
    on one core held it up by 7 ms then, not by 14. What has been imported is not looked through for garbage.
    """
    sys.setswitchinterval(0.001)
    gc.freeze()


async def live(config: Config, dev: DevConfig | None) -> None:
    """Run the node with its JSON-RPC server until a signal comes."""
    from cfnode.cli.banner import serve_and_announce
    from cfnode.devchain.chain import run

    favour_the_loop()
    async with trio.open_nursery() as watch:
        with trio.CancelScope() as scope:
            await watch.start(stop_on_signals, scope)
            await run(config, dev, services=[serve_and_announce])
        watch.cancel_scope.cancel()


def greet(config: Config, ignored: Sequence[str]) -> None:
    """The first log lines."""
    log.info("cfnode, a light-RPC node for the Chainflip State Chain")
    log.info("✌️  version %s", __version__)
    if ignored:
        log.warning("Accepted without effect, since cfnode has no use for them: %s", ", ".join(ignored))
    if config.rpc.external and not config.rpc.broker_clients:
        log.warning(
            "JSON-RPC listens on all interfaces: with a broker key, whoever reaches the port can spend its "
            "funds, whatever --rpc-methods says. --rpc-broker-clients names who may."
        )


@contextmanager
def single_errors() -> Iterator[None]:
    """Nurseries wrap what ends them in groups; a group of one is that one."""
    try:
        yield
    except BaseExceptionGroup as group:
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
            error = error.exceptions[0]
        raise error from None


@contextmanager
def start_told() -> Iterator[None]:
    """Ends the command in words where the node cannot start."""
    from cfnode.devchain.authorities import AuthoritiesError
    from cfnode.devchain.clock import ClockError
    from cfnode.node.metrics_port import MetricsPortError
    from cfnode.node.sync.checkpoint import BadCheckpoint
    from cfnode.rpc.peers import BadNetworkError
    from cfnode.rpc.server import ListenError
    from cfnode.runtime.calls import UnsupportedCode

    try:
        with single_errors():
            yield
    except (ListenError, MetricsPortError) as error:
        raise Failure(str(error), ExitCode.NETWORK) from None
    except BadNetworkError as error:
        raise Failure(str(error), ExitCode.USAGE) from None
    except (AuthoritiesError, BadCheckpoint, ClockError, UnsupportedCode) as error:
        raise Failure(str(error), ExitCode.CONFIGURATION) from None


def run_until_stopped(config: Config, dev: DevConfig | None, ignored: Sequence[str]) -> None:
    """Run the node of that configuration to its end; raises Failure with the exit code that fits."""
    greet(config, ignored)
    with explained(), start_told():
        if not config.temporary:
            trio.run(live, config, dev)
            return
        with temporary_base_path() as fresh:
            trio.run(live, replace(config, base_path=fresh), dev)
