"""Safe mode, batches of calls, calls that foreign wallets have signed, and facts about foreign chains.

Environment (2): contract addresses and chain ids, replay protection counters, Bitcoin's unspent outputs, the
network's name, and safe mode: one switch board for each pallet, all green unless governance says otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from cfnode.core.hashing import twox_128
from cfnode.core.scale import ScaleError
from cfnode.core.wallets import WalletCall, account_of
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.config import CONTRACTS, DevGenesis, EvmAddresses
from cfnode.devchain.runtime.frame import (
    ConstantSet,
    Origin,
    Pallet,
    call,
    invalid,
    migration,
    part,
    release_constant,
)
from cfnode.devchain.runtime.frame.calls import Arguments, PalletCall, RuntimeCall, split
from cfnode.devchain.runtime.keys import ASSETHUB_VAULT, solana_environment
from cfnode.devchain.runtime.releases import codec_in
from cfnode.devchain.runtime.types.safe_mode import all_green, all_red

from .environment_storage import EnvironmentStorage
from .system import System
from .transaction_payment import TransactionPayment

T = TypeVar("T")
SignatureData = tuple[str, Mapping[str, Any]]
"""Kind and fields of a wallet's signature, as `cfnode.core.wallets` defines them."""
MAX_BATCH_EXTRINSIC_CALLS = 10
BATCHES = ("batch", "non_native_signed_call")
MAX_LONGEVITY = 2**64 - 1


class Environment(Pallet):
    """Facts about foreign chains; safe mode; batches of calls."""

    index = 2
    crate = "pallet_cf_environment"

    storage = part(EnvironmentStorage)

    class Constant(ConstantSet):
        """The release of the runtime."""

        CurrentReleaseVersion = release_constant("SemVer", lambda release: release.semver)

    @call(3, update="SafeModeUpdate")
    def update_safe_mode(self, origin: Origin, update: values.SafeModeUpdate) -> None:
        """Switch all on, all off, or as given. Governance."""
        origin.ensure_governance()
        match update:
            case "CodeGreen":
                self.storage.RuntimeSafeMode.put(all_green(self.runtime))
            case "CodeRed":
                self.storage.RuntimeSafeMode.put(all_red(self.runtime))
            case values.SafeModeUpdateCodeAmber(safe_mode):
                self.storage.RuntimeSafeMode.put(safe_mode)
        self.deposit(self.storage.Event.RuntimeSafeModeUpdated, safe_mode=update)

    @call(4, params="ConsolidationParameters")
    def update_consolidation_parameters(self, origin: Origin, params: values.ConsolidationParameters) -> None:
        """When and how many unspent outputs are joined. Governance."""
        origin.ensure_governance()
        is_valid = 1 < params.consolidation_size <= params.consolidation_threshold
        self.ensure(is_valid, self.storage.Error.InvalidUtxoParameters)
        self.storage.ConsolidationParameters.put(params)
        self.deposit(self.storage.Event.UtxoConsolidationParametersUpdated, params=params)

    @call(
        10,
        chainflip_extrinsic="ChainflipExtrinsic<Box<RuntimeCall>>",
        signature_data="SignatureData",
    )
    def non_native_signed_call(
        self,
        origin: Origin,
        chainflip_extrinsic: values.ChainflipExtrinsic[RuntimeCall],
        signature_data: SignatureData,
    ) -> None:
        """Do a call that a wallet of another chain has signed; its account pays the fee.

        A call that fails takes its fee back with it, as on the main net; its nonce is used up.
        """
        origin.ensure_none()
        who, inner_call = account_of(signature_data), chainflip_extrinsic.call
        payment, fee = self.other(TransactionPayment), self._fee_of(inner_call)
        escrow = payment.withdraw(who, fee, inner_call)
        if escrow is None:
            self.fail(self.storage.Error.FailedToProcessFee)
        self.runtime.dispatch(inner_call, Origin.signed(who))
        payment.settle(who, fee, escrow, inner_call)
        payment.note_paid(who, fee)
        self.deposit(self.storage.Event.NonNativeSignedCall)

    @call(11, calls="BoundedVec<RuntimeCall>")
    def batch(self, origin: Origin, calls: Sequence[RuntimeCall]) -> None:
        """Up to ten calls, all or none; no batch inside a batch."""
        origin.ensure_signed()
        for inner in calls:
            self.ensure(not self._is_batch(inner), self.storage.Error.InvalidNestedBatch)
            self.runtime.dispatch(inner, origin)
        self.deposit(self.storage.Event.BatchCompleted)

    def check_bounds(self, name: str, arguments: Arguments) -> None:
        """Raise ScaleError if a batch holds too many calls."""
        if name == "batch" and len(arguments["calls"]) > MAX_BATCH_EXTRINSIC_CALLS:
            raise ScaleError(
                f"a batch holds up to {MAX_BATCH_EXTRINSIC_CALLS} calls, not {len(arguments['calls'])}"
            )

    def nested_calls(self, name: str, arguments: Arguments) -> Sequence[RuntimeCall]:
        """Return the calls inside a batch or a call that a foreign wallet has signed."""
        if name == "non_native_signed_call":
            return [arguments["chainflip_extrinsic"].call]
        calls: Sequence[RuntimeCall] = arguments["calls"] if name == "batch" else ()
        return calls

    @staticmethod
    def _is_batch(call_value: RuntimeCall) -> bool:
        pallet, inner_call = call_value
        return pallet == "Environment" and split(inner_call)[0] in BATCHES

    # Calls that wallets of other chains have signed

    def validate_unsigned(self, source: str, call: PalletCall) -> values.ValidTransaction | None:
        """Check signature, nonce and fee of a call that a foreign wallet has signed."""
        name, arguments = split(call)
        if name != "non_native_signed_call":
            return None
        extrinsic: values.ChainflipExtrinsic[RuntimeCall] = arguments["chainflip_extrinsic"]
        signature = arguments["signature_data"]
        who = account_of(signature)
        if not self.other(System).Account.contains(who):
            raise invalid("BadSigner")
        inner_call = extrinsic.call
        if not self.other(TransactionPayment).can_pay(who, self._fee_of(inner_call), inner_call):
            raise invalid("Payment")
        requires, provides = self._tags(source, who, extrinsic.transaction_metadata)
        try:
            signed = self.wallet_call(extrinsic).is_signed(signature)
        except ScaleError:
            raise invalid("Custom", 0) from None
        if not signed:
            raise invalid("BadProof")
        return values.ValidTransaction(
            priority=0, requires=requires, provides=provides, longevity=MAX_LONGEVITY, propagate=True
        )

    def prepare_unsigned(self, call: PalletCall) -> None:
        """Count the nonce of the account whose foreign wallet has signed."""
        self.other(System).inc_nonce(account_of(split(call)[1]["signature_data"]))

    def wallet_call(self, extrinsic: values.ChainflipExtrinsic[RuntimeCall]) -> WalletCall:
        """Return a `ChainflipExtrinsic` as wallets sign it on this chain."""
        version = self.other(System).Constant.Version.spec_version
        type_id = self.type_id("ChainflipExtrinsic<RuntimeCall>")
        network = self.storage.ChainflipNetworkName.get()
        encoded, registry = self.runtime.codec(type_id).encode(extrinsic), self.runtime.types.described
        return WalletCall(registry, type_id, registry.codec(type_id).decode(encoded), network, version)

    def _tags(
        self, source: str, who: bytes, bounds: values.TransactionMetadata
    ) -> tuple[list[bytes], list[bytes]]:
        """Return the tags that the call requires and provides.

        Raises the validity error Stale if the call's time is over or its nonce is used.
        """
        nonce, expected = bounds.nonce, self.other(System).nonce(who)
        in_time = bounds.expiry_block > self.other(System).Number.get()
        if not in_time or nonce < expected or (source == "InBlock" and nonce != expected):
            raise invalid("Stale")
        tag = self.codec("(str, (AccountId32, u32))")
        required = [tag.encode((self.name, (who, nonce - 1)))] if nonce > expected else []
        return required, [tag.encode((self.name, (who, nonce)))]

    def _fee_of(self, inner: RuntimeCall) -> int:
        length = len(self.runtime.call_codec.encode(inner))
        return self.other(TransactionPayment).fee(length, self.runtime.cost(inner))

    def genesis(self, config: DevGenesis) -> None:
        """Store networks, contracts and the state of foreign chains."""
        for chain, addresses in config.contracts_by_chain.items():
            if chain in self.runtime.release.chains:
                self._contracts(chain, addresses)
            elif addresses != CONTRACTS[chain]:
                self._keep_for_upgrade(chain, addresses)
        self.storage.EthereumStateChainGatewayAddress.put(config.contracts_by_chain["Ethereum"].gateway)
        self.storage.SolanaApiEnvironment.put(solana_environment())
        self.storage.AssethubVaultAccountId.put(ASSETHUB_VAULT)
        self.storage.ConsolidationParameters.put(
            values.ConsolidationParameters(consolidation_threshold=200, consolidation_size=100)
        )
        self.storage.CurrentReleaseVersion.put(self.runtime.release.semver)
        self.storage.ChainflipNetworkEnvironment.put("Development")
        self.storage.ChainflipNetworkName.put("Development")

    def _contracts(self, chain: str, addresses: EvmAddresses) -> None:
        self.storage.address(chain, "KeyManagerAddress").put(addresses.key_manager)
        self.storage.address(chain, "VaultAddress").put(addresses.vault)
        self.storage.number(chain, "ChainId").put(addresses.chain_id)
        asset_names = self.runtime.release.asset_names
        for asset, address in addresses.tokens:
            if asset in asset_names:
                self.storage.tokens(chain).put(asset, address)

    def _keep_for_upgrade(self, chain: str, addresses: EvmAddresses) -> None:
        """Store contracts that are not the usual ones where a release that knows the chain finds them."""
        for item, value in (
            ("KeyManagerAddress", addresses.key_manager),
            ("VaultAddress", addresses.vault),
            ("ChainId", addresses.chain_id.to_bytes(8, "little")),
        ):
            key = twox_128(self.name.encode()) + twox_128(f"{chain}{item}".encode())
            self.runtime.host.set(key, value)

    @migration("2.3.0")
    def know_bsc(self) -> None:
        """Store the contracts on BSC and the token contract of CBBTC, and add new switches to safe mode."""
        bsc = CONTRACTS["Bsc"]
        if self.storage.BscVaultAddress.exists():  # stated at genesis
            vault, chain_id = self.storage.BscVaultAddress.get(), self.storage.BscChainId.get()
            manager = self.storage.BscKeyManagerAddress.get()
            bsc = replace(bsc, vault=vault, chain_id=chain_id, key_manager=manager)
        self._contracts("Bsc", bsc)
        self.storage.EthereumSupportedAssets.put("Cbbtc", dict(CONTRACTS["Ethereum"].tokens)["Cbbtc"])
        raw = self.runtime.host.get(self.storage.RuntimeSafeMode.prefix)
        if raw is not None:
            old_safe_mode = codec_in("2.2.9", "RuntimeSafeMode").decode(raw)
            self.storage.RuntimeSafeMode.put(_with_kept(all_green(self.runtime), old_safe_mode))

    def on_runtime_upgrade(self) -> None:
        """Store the version of the release that runs from now on."""
        self.storage.CurrentReleaseVersion.put(self.runtime.release.semver)


def _with_kept(value: T, kept: T) -> T:
    """Return a value of safe mode in which all switches of an older release keep their state."""
    if not is_dataclass(value) or isinstance(value, type) or type(value) is not type(kept):
        return kept
    names = [field.name for field in fields(value) if getattr(kept, field.name) is not None]
    return replace(value, **{name: _with_kept(getattr(value, name), getattr(kept, name)) for name in names})
