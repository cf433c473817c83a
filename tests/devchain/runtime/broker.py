"""What a broker does in the tests: valid requests to vary, errors by name, storage to arrange."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from cfnode.core.addresses import EncodedAddress, parse_address
from cfnode.core.assets import ASSETS
from cfnode.core.keys import Keypair
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.config import DevGenesis
from cfnode.devchain.runtime.frame import Composition
from tests.devchain.runtime.world import ALICE, World

ADDRESSES = {
    "Ethereum": "0xa56A6be23b6Cf39D9448FF6e897C29c41c8fbDFF",
    "Arbitrum": "0xa56A6be23b6Cf39D9448FF6e897C29c41c8fbDFF",
    "Bitcoin": "bcrt1qs758ursh4q9z627kt3pp5yysm78ddny6txaqgw",
    "Solana": "3yKDHJgzS2GbZB9qruoadRYtq8597HZifnRju7fHpdRC",
    "Assethub": "1exaAg2VJRQbyUBAeXcktChCAqjVP9TUxF3zo23R2T6EGdE",
    "Polkadot": "1exaAg2VJRQbyUBAeXcktChCAqjVP9TUxF3zo23R2T6EGdE",
    "Tron": "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t",
    "Bsc": "0xa56A6be23b6Cf39D9448FF6e897C29c41c8fbDFF",
}
GAS_ASSETS = {
    "Ethereum": "Eth",
    "Bitcoin": "Btc",
    "Arbitrum": "ArbEth",
    "Solana": "Sol",
    "Assethub": "HubDot",
    "Tron": "Trx",
}


def address_on(chain: str) -> EncodedAddress:
    """Return an address on a chain, of no particular owner."""
    return parse_address(chain, ADDRESSES[chain])


def refund(chain: str, **changes: Any) -> dict[str, Any]:
    """Return refund parameters for a source chain."""
    usual: dict[str, Any] = {
        "retry_duration": 100,
        "refund_address": address_on(chain),
        "min_price": 0,
        "refund_ccm_metadata": None,
        "max_oracle_price_slippage": None,
    }
    return usual | changes


def request(source: str = "Eth", destination: str = "Btc", **changes: Any) -> dict[str, Any]:
    """Return the arguments of a deposit channel that is opened, with changes."""
    usual: dict[str, Any] = {
        "source_asset": source,
        "destination_asset": destination,
        "destination_address": address_on(ASSETS[destination].chain),
        "broker_commission": 10,
        "channel_metadata": None,
        "boost_fee": 0,
        "affiliate_fees": [],
        "refund_parameters": refund(ASSETS[source].chain),
        "dca_parameters": None,
    }
    return usual | changes


def ccm(message: bytes = b"hello", data: bytes = b"") -> dict[str, Any]:
    """Return a message to a contract."""
    return {"message": message, "gas_budget": 100_000, "ccm_additional_data": data}


def typed_ccm(message: bytes = b"hello") -> values.CcmMetadata:
    """Return a message to a contract, as the value that pallets handle."""
    return values.CcmChannelMetadata(**ccm(message))


class Broker:
    """An account on a chain of its own, registered as a broker."""

    def __init__(self, pair: Keypair = ALICE, config: DevGenesis | None = None) -> None:
        self.world = World(config)
        self.pair = pair
        assert self.swapping("register_as_broker") == "Ok"

    @property
    def account(self) -> bytes:
        """The account of the broker."""
        return self.pair.account

    def submit(self, pallet: str, name: str, pair: Keypair | None = None, **arguments: Any) -> str:
        """Make a block with one call; "Ok", or the error's name as `Pallet.Error`."""
        call = self.world.call(pallet, name, **arguments)
        ((included, outcome),) = self.world.block(self.world.sign(call, pair or self.pair))
        assert included == "Ok"
        return "Ok" if outcome[0] == "Ok" else self.error_name(outcome[1])

    def swapping(self, name: str, **arguments: Any) -> str:
        """Return a call of the swapping pallet."""
        return self.submit("Swapping", name, **arguments)

    def open(self, **arguments: Any) -> str:
        """Open a deposit channel."""
        return self.swapping("request_swap_deposit_address_with_affiliates", **arguments)

    def opened(self, **arguments: Any) -> dict[str, Any]:
        """Open a deposit channel; what the chain says about it."""
        assert self.open(**arguments) == "Ok"
        return self.event("SwapDepositAddressReady")

    def error_name(self, error: Any) -> str:
        """Return the name of a dispatch error."""
        if isinstance(error, str):
            return error
        kind, value = error
        if kind != "Module":
            return f"{kind}.{value}"
        pallet, name, _ = self.world.metadata.error(value["index"], value["error"][0])
        return f"{pallet}.{name}"

    def event(self, name: str) -> Any:
        """Return the fields of the best block's only event of this name."""
        (fields,) = [fields for _, _, event, fields in self.world.events() if event == name]
        return fields

    @contextmanager
    def arranging(self) -> Iterator[Composition]:
        """Change the state of the best block as no call could."""
        journal, runtime = self.world.journal, self.world.runtime.composition
        with runtime.on(journal):
            yield runtime
        self.world.state.apply(journal.changes())
