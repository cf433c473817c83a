"""The text that a development chain logs at its start: accounts, addresses, and a first swap.

The banner is logged after the first block, so that it is the last long text on the screen. It contains no
secrets except the well-known development keys.
"""

from __future__ import annotations

import logging
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import trio

from cfnode.cli.options import DEFAULT_URL, NODE_VARIABLE
from cfnode.core import ss58
from cfnode.core.aura import SLOT_MS
from cfnode.core.keys import Keypair
from cfnode.core.scale import ScaleError
from cfnode.devchain.chain import DevelopmentChain, development_chain
from cfnode.devchain.registration import BROKER_ROLE, PROVIDER_ROLE, AccountRole, role_at
from cfnode.devchain.runtime.well_known import FLIP, WELL_KNOWN, WELL_KNOWN_FLIP
from cfnode.devchain.serving import serve
from cfnode.devchain.spec import DEVELOPMENT
from cfnode.node.config import Config
from cfnode.node.node import Node
from cfnode.node.signing.account import SigningAccount
from cfnode.sdk.times import time_text
from cfnode.store import StateDiscarded, UnknownBlock

__all__ = ["Start", "banner", "serve_and_announce"]

log = logging.getLogger("cfnode.dev")

FIRST_BLOCK_TIMEOUT_S = 20.0
"""Seconds to wait for the first block: a chain whose authorities run elsewhere may have no block for long."""
RECEIVER = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"
REFUND = "bcrt1p785mga8djc3r5f7afaechlth4laxaty2rt08ncgydw4j7zv8np5suf7etv"
"""Example addresses: the first account of common EVM development chains, a taproot address of regtest."""
COMMISSION_BPS = 10
"""Commission of the broker in the example, in basis points."""
BLOCKS_OF_A_SWAP = 6
"""Blocks from the deposit to the payout; a chain with manual seal needs a command for them."""


@dataclass(frozen=True, slots=True)
class Start:
    """Content of the banner.

    `broker`, `provider` (of liquidity): its account, or None. `program`: the folder of `cfnode`, None if it
    is on the PATH. `chain_time`: Unix ms, of a chain with its own clock.
    """

    url: str
    seal: Literal["slots", "instant", "manual"] = "slots"
    broker: bytes | None = None
    is_registered: bool = False
    program: Path | None = None
    provider: bytes | None = None
    is_provider_registered: bool = False
    chain_time: int | None = None


async def serve_and_announce(
    node: Node, config: Config, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
) -> None:
    """Serve JSON-RPC until cancelled, and log the banner of a development chain that has started."""
    async with trio.open_nursery() as nursery:
        addresses = await nursery.start(serve, node, config)
        task_status.started()
        dev_chain = development_chain(node)
        if dev_chain is not None and config.chain == DEVELOPMENT:
            url = f"http://127.0.0.1:{addresses[0].rpartition(':')[2]}"
            await _announce(node, url, dev_chain)


async def _announce(node: Node, url: str, dev_chain: DevelopmentChain) -> None:
    chain, seal, clock = node.chain, dev_chain.config.seal, dev_chain.clock
    if seal != "manual":
        with trio.move_on_after(FIRST_BLOCK_TIMEOUT_S), chain.subscribe() as events:
            while chain.best.number == 0:
                await anext(aiter(events))
    broker, is_broker = await _account(node, node.broker, BROKER_ROLE)
    provider, is_provider = await _account(node, node.provider, PROVIDER_ROLE)
    slot = chain.slot_of(chain.best.hash)
    time = None if clock.is_real else (slot or clock.next_slot(None)) * SLOT_MS
    log.info("%s", banner(Start(url, seal, broker, is_broker, _program(), provider, is_provider, time)))


async def _account(node: Node, client: SigningAccount | None, role: AccountRole) -> tuple[bytes | None, bool]:
    """Return the account of a client, and whether it has its role."""
    if client is None:
        return None, False
    try:
        actual_role = await role_at(node.chain, node.chain.best.hash, client.account)
    except (ScaleError, StateDiscarded, UnknownBlock) as error:
        log.debug("the role of the %s is unknown: %s", role.key.name, error)
        return client.account, False
    return client.account, actual_role == role.name


def _program() -> Path | None:
    """Return the folder of the running `cfnode`, None if another terminal's shell finds the program."""
    started = Path(sys.argv[0])
    program = started if started.name == "cfnode" else Path(sys.executable).with_name("cfnode")
    in_path = shutil.which("cfnode")
    if not program.exists() or (in_path is not None and Path(in_path).samefile(program)):
        return None
    return program.absolute().parent


def banner(start: Start) -> str:
    """Return the text of the banner, which ends with an empty line."""
    return "\n".join(["The development chain is ready", "", *_accounts(start), "", *_commands(start), ""])


def _accounts(start: Start) -> Iterator[str]:
    yield f"  Accounts with {WELL_KNOWN_FLIP // FLIP:,} FLIP each; their keys are public"
    names = {Keypair.from_suri(f"//{name}").account: f"//{name}" for name in WELL_KNOWN}
    for account, uri in names.items():
        yield f"    {uri:<11} {ss58.encode(account)}"
    yield ""
    if start.broker is None:
        yield "  Broker        none; --dev-broker //Alice starts the chain with one"
    else:
        role = "registered" if start.is_registered else "not registered: cfnode rpc broker_register_account"
        yield f"  Broker        {_named(names, start.broker)} ({role})"
    if start.provider is not None:
        role = (
            "registered" if start.is_provider_registered else "not registered: cfnode rpc lp_register_account"
        )
        yield f"  LP            {_named(names, start.provider)} ({role})"
    yield f"  JSON-RPC      {start.url}  {start.url.replace('http', 'ws', 1)}"
    yield f"  Swap service  {start.url}"
    if start.chain_time is not None:
        yield f"  Chain time    {time_text(start.chain_time)}; a block adds 6 s, `cfnode dev jump 1h` an hour"


def _named(names: Mapping[bytes, str], account: bytes) -> str:
    name_text = f"{names[account]}, " if account in names else ""
    return f"{name_text}{ss58.encode(account)}"


def _commands(start: Start) -> Iterator[str]:
    """Yield the lines of a first swap, in commands to paste."""
    if start.seal == "manual":
        yield "  Call `cfnode dev seal` (dev_newBlock) to add a block."
        return
    yield "  A first swap, in another terminal:"
    yield ""
    if start.program is not None:
        yield f"    export PATH={shlex.quote(str(start.program))}:$PATH"
    if start.url != DEFAULT_URL:
        yield f"    export {NODE_VARIABLE}={start.url}"
    commission = f" --commission {COMMISSION_BPS}" if start.is_registered else ""
    yield f"    cfnode swap request BTC ETH 0.1 --slippage 2 --network dev{commission} \\"
    yield f"      --to {RECEIVER} \\"
    yield f"      --refund {REFUND}"
    yield ""
    yield "  It prints the address and the channel's id, and these commands with both:"
    yield ""
    yield "    cfnode dev deposit ADDRESS BTC 0.1"
    if start.seal == "instant":
        yield f"    cfnode dev seal {BLOCKS_OF_A_SWAP}"
    yield "    cfnode swap watch CHANNEL --network dev"
