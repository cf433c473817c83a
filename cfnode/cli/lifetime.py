"""Start and stop of the node of `cfnode run`, which lives in one trio nursery until a signal.

The first SIGINT or SIGTERM stops the node gracefully, exit code 0. A second one ends the process at once,
exit code 130; the store survives that, too. SIGHUP does not stop it (`web/hangup.py`).
"""

from __future__ import annotations

import logging
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import trio

from cfnode import __version__
from cfnode.cli.exits import CommandFailure, ExitCode
from cfnode.cli.failures import explained
from cfnode.devchain.config import DevConfig
from cfnode.node.config import Config
from cfnode.runtime.imports import without_collection
from cfnode.web.hangup import ignore_hangups, nothing_to_reload, on_hangups

log = logging.getLogger("cfnode.service")


@contextmanager
def temporary_base_path() -> Iterator[Path]:
    """Yield a fresh directory, and remove it at the end."""
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
    """Delay the trio loop as little as possible while threads check signatures, walk tries, pack answers.

    A thread releases the interpreter after 1 ms instead of 5 if the loop waits for it: checking a warp proof
    on one core then delayed the loop by 7 ms, not by 14.
    """
    sys.setswitchinterval(0.001)


async def live(config: Config, dev: DevConfig | None) -> None:
    """Run the node with its JSON-RPC server until a signal arrives."""
    with without_collection():
        from cfnode.cli.banner import serve_and_announce
        from cfnode.cli.service_manager import notify_service_manager
        from cfnode.devchain.chain import run

    favour_the_loop()
    async with trio.open_nursery() as watch:
        with trio.CancelScope() as scope:
            await watch.start(stop_on_signals, scope)
            await watch.start(on_hangups, partial(nothing_to_reload, "--rpc-auth-token-file"))
            await run(config, dev, services=[serve_and_announce, notify_service_manager])
        watch.cancel_scope.cancel()


def greet(ignored: Sequence[str]) -> None:
    """Log the first lines: name, version, and the flags without effect."""
    log.info("cfnode, a light-RPC node for the Chainflip State Chain")
    log.info("✌️  version %s", __version__)
    if ignored:
        log.warning("Ignoring flags that have no meaning for cfnode: %s", ", ".join(ignored))


@contextmanager
def single_errors() -> Iterator[None]:
    """Unwrap exception groups with a single exception, as nurseries raise them."""
    try:
        yield
    except BaseExceptionGroup as group:
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
            error = error.exceptions[0]
        raise error from None


@contextmanager
def start_failures(config: Config) -> Iterator[None]:
    """End the command with a text and exit code if the node cannot start; name all ports in use."""
    from cfnode.devchain.authorities import AuthoritiesError
    from cfnode.devchain.clock import ClockError
    from cfnode.node.sync.warping.checkpoint import BadCheckpoint
    from cfnode.runtime.calls import UnsupportedCode
    from cfnode.serving.listening import ListenError
    from cfnode.web.networks import BadFlagError

    try:
        with single_errors():
            yield
    except ListenError as error:
        from cfnode.cli.ports import taken_ports

        faults = trio.run(taken_ports, config)
        raise CommandFailure("\n".join(faults) or str(error), ExitCode.NETWORK) from None
    except BadFlagError as error:
        raise CommandFailure(str(error), ExitCode.USAGE) from None
    except (AuthoritiesError, BadCheckpoint, ClockError, UnsupportedCode) as error:
        raise CommandFailure(str(error), ExitCode.CONFIGURATION) from None


def run_until_stopped(config: Config, dev: DevConfig | None, ignored: Sequence[str]) -> None:
    """Run the node until it stops. Raise Failure with the matching exit code."""
    ignore_hangups()
    greet(ignored)
    with explained(), start_failures(config):
        if not config.temporary:
            trio.run(live, config, dev)
            return
        with temporary_base_path() as fresh:
            trio.run(live, replace(config, base_path=fresh), dev)
