"""The EVM chain of `cfnode dev evm` while it runs: where it is, and the key that it follows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cfnode.cli.dev_client import DevClient
from cfnode.cli.evm_contracts import aggregate_key
from cfnode.cli.exits import CommandFailure
from cfnode.cli.output import print_json, print_text
from cfnode.cli.stopping import stop_on_signal
from cfnode.cli.tables import print_command

if TYPE_CHECKING:
    from cfnode.devchain.evm.chain import Mined
    from cfnode.devchain.evm.deployed import Contracts
    from cfnode.devchain.evm.server import EvmPort

__all__ = ["EvmSession"]

KEY_POLL_S = 1.0
"""Seconds between two looks at the node's key."""


@dataclass(frozen=True)
class EvmSession:
    """An EVM chain, and the node whose calls it takes.

    `payers` have coins for gas; the key of the first one is in `key_file`. `node_flag` is part of the command
    that is printed.
    """

    node: DevClient
    chain: str
    contracts: Contracts
    port: EvmPort
    key_file: Path
    payers: tuple[bytes, ...]
    node_flag: str

    async def run(self, port: int, *, follows: bool) -> None:
        """Serve until a signal. Raises ListenError."""
        import trio

        self.port.chain.on_mined = self.report
        async with trio.open_nursery() as nursery:
            nursery.start_soon(stop_on_signal, nursery.cancel_scope)
            self.announce(await nursery.start(self.port.run, port))
            if follows:
                nursery.start_soon(self.follow)

    async def follow(self) -> None:
        """Give the key manager each new key of the node."""
        import trio

        from cfnode.devchain.evm.governor import set_key

        key = self.contracts.aggregate_key
        while True:
            await trio.sleep(KEY_POLL_S)
            current = await trio.to_thread.run_sync(self._node_key, abandon_on_cancel=True)
            if current not in (None, key):
                mined = await self.port.work(set_key, self.contracts.key_manager, current)
                self.report_key(mined.block.number)
                key = current

    def _node_key(self) -> bytes | None:
        """Return the node's key; None if it does not answer."""
        try:
            return aggregate_key(self.node)
        except CommandFailure:
            return None

    def report(self, mined: Mined) -> None:
        """Print a transaction."""
        block, gas = mined.block.number, mined.receipt.gas_used
        identity = "0x" + mined.transaction.hash.hex()
        if self.node.as_json:
            record = {"event": "mined", "blockNumber": block, "transaction": identity, "gas": gas}
            print_json({**record, "succeeded": mined.has_succeeded}, is_line=True)
        else:
            outcome = "succeeded" if mined.has_succeeded else "failed"
            print_text(f"Block {block}: {identity} {outcome}, {gas} gas")

    def report_key(self, block: int) -> None:
        """Print that the key manager has a new key."""
        if self.node.as_json:
            print_json({"event": "keyRotated", "blockNumber": block}, is_line=True)
        else:
            print_text(f"The key manager has the development chain's new key since block {block}.")

    def announce(self, port: int) -> None:
        """Print where the chain is, and how to use it."""
        from cfnode.devchain.evm.server import HOST
        from cfnode.swaps.checksums import checksum_address

        url, chain_id = f"http://{HOST}:{port}", self.contracts.chain_id
        manager, vault = map(checksum_address, (self.contracts.key_manager, self.contracts.vault))
        tokens = {name: checksum_address(at) for name, at in self.contracts.tokens_by_symbol.items()}
        funded = [checksum_address(payer) for payer in self.payers]
        flags = f"--network dev{self.node_flag} --eth-rpc {url} --key {self.key_file}"
        command = f"cfnode recover --for OWNER {flags}"
        if self.node.as_json:
            started = {"event": "started", "url": url, "chain": self.chain, "chainId": chain_id}
            contracts = {"keyManager": manager, "vault": vault, "tokens": tokens}
            use = {"funded": funded, "keyFile": str(self.key_file), "command": command}
            print_json(started | contracts | use, is_line=True)
        else:
            print_text(f"EVM chain of {self.chain}: {url}, chain id {chain_id}")
            self._list({"Key manager": manager, "Vault": vault} | tokens, funded)
            print_command(
                "Pay out a failed transfer; OWNER: its receiver, channel, swap or transaction", command
            )

    def _list(self, places: dict[str, str], funded: list[str]) -> None:
        from cfnode.core.assets import gas_asset
        from cfnode.devchain.evm.genesis import PAYER_COINS

        for name, address in places.items():
            print_text(f"{name:<11} {address}")
        for address in funded:
            print_text(f"{'For gas':<11} {address}  {PAYER_COINS:,} {gas_asset(self.chain).symbol}")
        print_text(f"The key of the first of these is in {self.key_file}")
