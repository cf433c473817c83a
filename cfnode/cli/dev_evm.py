"""`cfnode dev evm`: an EVM chain next to a development node, until a signal.

The command reads from the node what its calls are signed for, and starts a chain with these contracts. It
follows the node's key: a second after the first block of a new epoch, the key manager has its key.
"""

from __future__ import annotations

import secrets
from contextlib import suppress
from functools import partial
from pathlib import Path

import click

from cfnode.cli.dev_client import DevClient
from cfnode.cli.evm_contracts import contracts_of
from cfnode.cli.evm_session import EvmSession
from cfnode.cli.exits import CommandFailure, ExitCode
from cfnode.cli.options import json_option, node_option, timeout_option, typed_node_flag
from cfnode.cli.values import OneOf, WholeNumber
from cfnode.core.assets import chains_of

__all__ = ["evm"]

CHAINS = chains_of("evm")
MAX_PORT = 65_535
MAX_FUNDED_EVM_ACCOUNTS = 100
KEY_FILE = "evm-payer-key"
"""The file with the payer's key, in the default base path."""


@click.command(
    epilog="Examples:  cfnode dev evm --key payer.key   |   cfnode recover --for 5-Bitcoin-1 --network dev "
    "--eth-rpc http://127.0.0.1:8545 --key payer.key --yes"
)
@click.option(
    "--chain", type=OneOf(CHAINS), default="Ethereum", show_default=True, help="Chain whose contracts it has."
)
@click.option(
    "--port",
    type=WholeNumber(0, MAX_PORT),
    default=8545,
    show_default=True,
    metavar="PORT",
    help="JSON-RPC port on 127.0.0.1; 0: any free one.",
)
@click.option(
    "--key",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Key of the account that has coins for gas: a keystore JSON, or a key in hex. A missing FILE is "
    "written with a new key.  [default: evm-payer-key in the default base path]",
)
@click.option(
    "--fund", multiple=True, metavar="ADDRESS", help="Further account with coins for gas; may be repeated."
)
@click.option(
    "--keep-key", is_flag=True, help="Keep the key manager's key when the development chain rotates."
)
@node_option()
@timeout_option()
@json_option
def evm(
    chain: str,
    port: int,
    key: Path | None,
    fund: tuple[str, ...],
    keep_key: bool,
    url: str,
    timeout: float,
    as_json: bool,
) -> None:
    """Run an EVM chain that takes the development chain's calls, to try `cfnode recover`.

    It runs until Ctrl-C, with key manager, vault and tokens at the addresses for which the node signs, the
    vault filled, and JSON-RPC for any wallet. Each transaction is mined at once. Nothing is kept: the next
    start begins anew. Payouts that succeed on the development chain do not appear on it. It needs the extra
    evm.
    """
    further = _accounts(fund)
    node = DevClient(url, timeout, as_json)
    contracts = contracts_of(node, chain)
    try:
        import trio

        from cfnode.devchain.evm.chain import EvmChain
        from cfnode.devchain.evm.server import EvmPort
    except ImportError:
        raise CommandFailure("dev evm needs py-evm: pip install 'cfnode[evm]'", ExitCode.USAGE) from None
    from time import time

    from cfnode.cli.lifetime import single_errors
    from cfnode.devchain.evm.genesis import accounts
    from cfnode.serving.listening import ListenError

    path = key or _default_key_file()
    payers = (_payer(path), *further)
    served = EvmPort(EvmChain(contracts.chain_id, accounts(contracts, payers), lambda: int(time())))
    session = EvmSession(node, chain, contracts, served, path, payers, typed_node_flag(url))
    try:
        with single_errors():
            trio.run(partial(session.run, port, follows=not keep_key))
    except ListenError as error:
        raise CommandFailure(str(error), ExitCode.NETWORK) from None


def _default_key_file() -> Path:
    from cfnode.store.base_path import default_base_path
    from cfnode.store.errors import BasePathError

    try:
        return default_base_path() / KEY_FILE
    except BasePathError:
        raise CommandFailure("there is no home directory: give --key FILE", ExitCode.CONFIGURATION) from None


def _payer(path: Path) -> bytes:
    """Return the account of a key file, which is written with a new key if it is missing."""
    from cfnode.cli.recover.unlocking import key_file
    from cfnode.cli.sdk_errors import reported

    if not path.exists():
        _write_key(path)
    with reported():
        address = key_file(path).address
    if address is None:
        raise CommandFailure(
            f"the keystore {path} does not name its address: give it by --fund, and another --key"
        )
    return address


def _write_key(path: Path) -> None:
    from cfnode.store import secret_file
    from cfnode.store.errors import StoreError

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):  # another process has written it meanwhile
            secret_file.create(path, f"{secrets.token_hex(32)}\n".encode())
    except StoreError as error:
        raise CommandFailure(str(error), ExitCode.CONFIGURATION) from None
    except OSError as error:
        text = f"cannot write {path}: {error.strerror}; name another file with --key"
        raise CommandFailure(text, ExitCode.CONFIGURATION) from None


def _accounts(texts: tuple[str, ...]) -> list[bytes]:
    from cfnode.swaps.checksums import evm_account

    if len(texts) > MAX_FUNDED_EVM_ACCOUNTS:
        raise CommandFailure(
            f"--fund may be repeated {MAX_FUNDED_EVM_ACCOUNTS} times: leave the others out", ExitCode.USAGE
        )
    accounts = []
    for text in texts:
        if (account := evm_account(text)) is None:
            reason = (
                f"--fund takes an address of 0x and 40 hex digits with a right checksum, not {text!r:.90}"
            )
            raise CommandFailure(reason, ExitCode.USAGE)
        accounts.append(account)
    return accounts
