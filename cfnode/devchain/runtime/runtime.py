"""The development runtime: its pallets, its runtime APIs, and its `:code`.

The pallets are in the order of the chain's own hooks (on_initialize, on_idle, on_finalize). One composition
serves one release. The code in the state is `cfnode-dev:` ‖ SCALE RuntimeVersion ‖ BLAKE2b-256 of the
metadata: other declarations are another code, and a state whose code is that of no release is refused.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cache, cached_property

from cfnode.core.hashing import blake2_256
from cfnode.core.scale import Codec, ScaleError
from cfnode.core.scale.metadata import encode_metadata
from cfnode.runtime.calls import RuntimeTrap, UnknownFunction, UnsupportedCode

from .apis.accounts import AccountsApi
from .apis.chain import ChainApi
from .apis.chainflip import ChainflipApi
from .apis.channels import ChannelsApi
from .apis.environment import EnvironmentApi
from .apis.lending import LendingApi
from .apis.monitoring import MonitoringApi
from .apis.orders import OrdersApi
from .apis.pools import PoolsApi
from .apis.providers import ProvidersApi
from .apis.substrate import SUBSTRATE_APIS
from .apis.swaps import SwapsApi
from .apis.vault_swaps import VaultSwapsApi
from .apis.wallets import WalletsApi
from .apis.witnessed import WitnessedApi
from .changed_weights import WEIGHTS
from .executive import Executive
from .frame import Composition, DispatchError, Host, Pallet, RuntimeApi
from .frame.table import TypeTable
from .frame.types import COMMON, Catalog
from .pallets.asset_balances import AssetBalances
from .pallets.aura import Aura
from .pallets.authorship import Authorship
from .pallets.boost_funding import BoostFunding
from .pallets.broadcast.pallet import BROADCASTERS
from .pallets.chain_pallet import ChainPallet
from .pallets.chain_tracking import CHAIN_TRACKING
from .pallets.dev import Dev
from .pallets.environment import Environment
from .pallets.evm_signer import EvmThresholdSigner
from .pallets.flip import Flip
from .pallets.funding import Funding
from .pallets.grandpa import Grandpa
from .pallets.ingress_egress.pallet import INGRESS_EGRESS_PALLETS
from .pallets.lp.pallet import LiquidityProvider
from .pallets.pools.pallet import LiquidityPools
from .pallets.session import Session
from .pallets.signers import BitcoinThresholdSigner, PolkadotThresholdSigner, SolanaThresholdSigner
from .pallets.sub_accounts import SubAccounts
from .pallets.swapping.pallet import Swapping
from .pallets.system import CODE_PREFIX, System
from .pallets.timestamp import Timestamp
from .pallets.trading_strategy import TradingStrategy
from .pallets.transaction_payment import TransactionPayment
from .pallets.validator import Validator
from .pallets.vault import VAULTS
from .releases import DEFAULT_RELEASE, RELEASES, Release, release_for
from .values import FORMS, RuntimeVersion
from .version import runtime_version

_PALLETS: tuple[type[Pallet], ...] = (
    System,
    Timestamp,
    Environment,
    Flip,
    Funding,
    SubAccounts,
    TransactionPayment,
    Validator,
    Session,
    Aura,
    Authorship,
    Grandpa,
    AssetBalances,
    *CHAIN_TRACKING.values(),
    Dev,  # where the main net has its elections
    *VAULTS.values(),
    EvmThresholdSigner,
    PolkadotThresholdSigner,
    BitcoinThresholdSigner,
    SolanaThresholdSigner,
    *BROADCASTERS.values(),
    Swapping,
    LiquidityProvider,
    *INGRESS_EGRESS_PALLETS.values(),
    LiquidityPools,
    TradingStrategy,
    BoostFunding,
)
APIS: tuple[type[RuntimeApi], ...] = (
    *SUBSTRATE_APIS,
    ChainApi,
    ChainflipApi,
    AccountsApi,
    ChannelsApi,
    EnvironmentApi,
    PoolsApi,
    OrdersApi,
    ProvidersApi,
    SwapsApi,
    VaultSwapsApi,
    WalletsApi,
    WitnessedApi,
    MonitoringApi,
    LendingApi,
)

DIGEST_BYTES = 32


def pallets_of(release: Release) -> tuple[type[Pallet], ...]:
    """Return the pallets of a release, in hook order; those of foreign chains only if it has the chain."""
    return tuple(
        kind for kind in _PALLETS if not issubclass(kind, ChainPallet) or kind.chain.name in release.chains
    )


class DevRuntime:
    """The development runtime of one release, as an executor of runtime calls. One call at a time."""

    def __init__(self, release: Release | None = None) -> None:
        release = release or RELEASES[DEFAULT_RELEASE]
        self.composition = Composition(pallets_of(release), APIS, release, WEIGHTS[release.name])
        self._functions = {
            f"{api.api}_{name}": (api, name) for api in self.composition.apis for name in api.offered
        }

    @property
    def functions(self) -> Collection[str]:
        """The names of all entry points."""
        return self._functions.keys()

    def version(self) -> bytes:
        """Return the SCALE RuntimeVersion."""
        return _version_codec().encode(runtime_version(self.composition.release))

    @cached_property
    def code(self) -> bytes:
        """The value of `:code` in a state of this runtime."""
        metadata = encode_metadata(self.composition.service(Executive).metadata(15))
        return CODE_PREFIX + self.version() + blake2_256(metadata)

    def call(self, function: str, args: bytes, journal: Host) -> bytes:
        """Call an entry point, and return its SCALE output; writes go to the journal.

        Raises UnknownFunction or RuntimeTrap.
        """
        if function not in self._functions:
            raise UnknownFunction(function)
        api, name = self._functions[function]
        with self.composition.on(journal):
            try:
                return api.call(name, args)
            except DispatchError as error:
                raise RuntimeTrap(f"{function}: {error}") from error


def code_of(release: str) -> bytes:
    """Return the value of `:code` in a state of this release."""
    return DevRuntime(RELEASES[release]).code


def development_runtime(code: bytes) -> DevRuntime:
    """Return the runtime of a state with this code. Raises UnsupportedCode, which names both digests.

    The spec version that the code states selects the release; the declarations must be those of that release.
    """
    runtime = DevRuntime(_release_of(code))
    if code != runtime.code:
        raise UnsupportedCode(
            "the chain was made by another development runtime: its declarations are "
            f"0x{code[-DIGEST_BYTES:].hex()}, those of this cfnode 0x{runtime.code[-DIGEST_BYTES:].hex()}; "
            "use the cfnode that made it, or purge the chain"
        )
    return runtime


def _release_of(code: bytes) -> Release:
    try:
        version: RuntimeVersion = _version_codec().decode(code[len(CODE_PREFIX) : -DIGEST_BYTES])
    except ScaleError:
        return RELEASES[DEFAULT_RELEASE]
    return release_for(version.spec_version)


@cache
def _version_codec() -> Codec:
    table = TypeTable(Catalog(COMMON, FORMS))
    version = table.id("RuntimeVersion")
    return table.registry.codec(version)
