"""What does the chain know about the other chains, and what is switched off?

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
from cfnode.devchain.runtime.config import BSC, ETHEREUM, DevGenesis, EvmAddresses
from cfnode.devchain.runtime.frame import (
    ConstantSet,
    ErrorSet,
    EventSet,
    OptionalMap,
    OptionalValue,
    Origin,
    Pallet,
    Value,
    call,
    event,
    invalid,
    migration,
    release_constant,
    since,
)
from cfnode.devchain.runtime.frame.calls import Arguments, PalletCall, RuntimeCall, split
from cfnode.devchain.runtime.frame.stored import StoredMap, StoredValue
from cfnode.devchain.runtime.keys import ASSETHUB_VAULT, solana_environment
from cfnode.devchain.runtime.releases import codec_in
from cfnode.devchain.runtime.types.safe_mode import all_green, all_red

from .system import System
from .transaction_payment import TransactionPayment

T = TypeVar("T")
SignatureData = tuple[str, Mapping[str, Any]]
"""As `cfnode.core.wallets` has it."""
MAX_BATCH = 10
BATCHES = ("batch", "non_native_signed_call")
MAX_LONGEVITY = 2**64 - 1


class Environment(Pallet):
    """Facts about foreign chains; safe mode; batches of calls."""

    index = 2
    crate = "pallet_cf_environment"

    EthereumSupportedAssets = OptionalMap[str, bytes]("Blake2_128Concat", "eth::Asset", "H160")
    EthereumStateChainGatewayAddress = Value[bytes]("H160")
    EthereumKeyManagerAddress = Value[bytes]("H160")
    EthereumVaultAddress = Value[bytes]("H160")
    EthereumAddressCheckerAddress = Value[bytes]("H160")
    EthereumScUtilsAddress = Value[bytes]("H160")
    EthereumChainId = Value[int]("u64")
    EthereumSignatureNonce = Value[int]("u64")
    PolkadotGenesisHash = Value[bytes]("H256")
    PolkadotVaultAccountId = OptionalValue[bytes]("PolkadotAccountId")
    PolkadotProxyAccountNonce = Value[int]("u32")
    BitcoinAvailableUtxos = Value[Sequence[values.Utxo]]("Vec<Utxo>")
    ConsolidationParameters = Value[values.ConsolidationParameters]("ConsolidationParameters")
    ArbitrumSupportedAssets = OptionalMap[str, bytes]("Blake2_128Concat", "arb::Asset", "H160")
    ArbitrumKeyManagerAddress = Value[bytes]("H160")
    ArbitrumVaultAddress = Value[bytes]("H160")
    ArbitrumAddressCheckerAddress = Value[bytes]("H160")
    ArbitrumChainId = Value[int]("u64")
    ArbitrumSignatureNonce = Value[int]("u64")
    SolanaAvailableNonceAccounts = Value[Sequence[tuple[bytes, bytes]]]("Vec<(Address, sol::Digest)>")
    SolanaUnavailableNonceAccounts = OptionalMap[bytes, bytes]("Blake2_128Concat", "Address", "sol::Digest")
    SolanaGenesisHash = OptionalValue[bytes]("sol::Digest")
    SolanaApiEnvironment = Value[values.SolApiEnvironment]("SolApiEnvironment")
    AssethubGenesisHash = Value[bytes]("H256")
    AssethubVaultAccountId = OptionalValue[bytes]("PolkadotAccountId")
    AssethubProxyAccountNonce = Value[int]("u32")
    AssethubOutputAccountId = Value[int]("u64")
    TronSupportedAssets = OptionalMap[str, bytes]("Blake2_128Concat", "tron::Asset", "H160")
    TronKeyManagerAddress = Value[bytes]("H160")
    TronVaultAddress = Value[bytes]("H160")
    TronChainId = Value[int]("u64")
    TronSignatureNonce = Value[int]("u64")
    BscSupportedAssets = OptionalMap[str, bytes](
        "Blake2_128Concat", "bsc::Asset", "H160", span=since("2.3.0")
    )
    BscKeyManagerAddress = Value[bytes]("H160", span=since("2.3.0"))
    BscVaultAddress = Value[bytes]("H160", span=since("2.3.0"))
    BscAddressCheckerAddress = Value[bytes]("H160", span=since("2.3.0"))
    BscChainId = Value[int]("u64", span=since("2.3.0"))
    BscSignatureNonce = Value[int]("u64", span=since("2.3.0"))
    RuntimeSafeMode = Value[values.RuntimeSafeMode]("RuntimeSafeMode", default=all_green)
    CurrentReleaseVersion = Value[values.SemVer]("SemVer")
    ChainflipNetworkEnvironment = Value[str]("NetworkEnvironment", default="Development")
    ChainflipNetworkName = Value[str]("ChainflipNetwork", default="Development")

    class Event(EventSet):
        AddedNewEthAsset = event(0, "eth::Asset", "H160")
        UpdatedEthAsset = event(1, "eth::Asset", "H160")
        AddedNewArbAsset = event(2, "arb::Asset", "H160")
        UpdatedArbAsset = event(3, "arb::Asset", "H160")
        PolkadotVaultAccountSet = event(4, polkadot_vault_account_id="PolkadotAccountId")
        BitcoinBlockNumberSetForVault = event(5, block_number="u64")
        RuntimeSafeModeUpdated = event(6, safe_mode="SafeModeUpdate")
        UtxoConsolidationParametersUpdated = event(7, params="ConsolidationParameters")
        ArbitrumInitialized = event(8)
        SolanaInitialized = event(9)
        StaleUtxosDiscarded = event(10, utxos="Vec<Utxo>")
        DurableNonceSetForAccount = event(11, nonce_account="Address", durable_nonce="sol::Digest")
        SolanaGovCallDispatched = event(12, gov_call="SolanaGovCall", broadcast_id="u32")
        AssethubVaultAccountSet = event(13, assethub_vault_account_id="PolkadotAccountId")
        NonNativeSignedCall = event(14)
        BatchCompleted = event(15)
        TronInitialized = event(16)
        BscInitialized = event(17, since("2.3.0"))

    class Error(ErrorSet):
        EthAddressNotUpdateable = "Eth is not an Erc20 token, so its address can't be updated."
        NonceAccountNotBeingUsedOrDoesNotExist = (
            "The nonce account is currently not being used or does not exist."
        )
        InvalidUtxoParameters = "The given UTXO parameters are invalid."
        FailedToBuildSolanaApiCall = "Failed to build Solana Api call. See logs for more details"
        FailedToDecodeSigner = "Signer cannot be decoded"
        InvalidNestedBatch = "Nested batches not allowed"
        FailedToProcessFee = "Signer is unable to pay fee."

    class Constant(ConstantSet):
        CurrentReleaseVersion = release_constant("SemVer", lambda release: release.semver)

    @call(3, update="SafeModeUpdate")
    def update_safe_mode(self, origin: Origin, update: values.SafeModeUpdate) -> None:
        """Switch all on, all off, or as given. Governance."""
        origin.ensure_governance()
        match update:
            case "CodeGreen":
                self.RuntimeSafeMode.put(all_green(self.runtime))
            case "CodeRed":
                self.RuntimeSafeMode.put(all_red(self.runtime))
            case values.SafeModeUpdateCodeAmber(switches):
                self.RuntimeSafeMode.put(switches)
        self.deposit(self.Event.RuntimeSafeModeUpdated, safe_mode=update)

    @call(4, params="ConsolidationParameters")
    def update_consolidation_parameters(self, origin: Origin, params: values.ConsolidationParameters) -> None:
        """When and how many unspent outputs are joined. Governance."""
        origin.ensure_governance()
        sane = 1 < params.consolidation_size <= params.consolidation_threshold
        self.ensure(sane, self.Error.InvalidUtxoParameters)
        self.ConsolidationParameters.put(params)
        self.deposit(self.Event.UtxoConsolidationParametersUpdated, params=params)

    @call(
        10,
        chainflip_extrinsic="ChainflipExtrinsic<RuntimeCall>",
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
        who, inner = account_of(signature_data), chainflip_extrinsic.call
        payment, fee = self.other(TransactionPayment), self._fee_of(inner)
        escrow = payment.withdraw(who, fee, inner)
        if escrow is None:
            self.fail(self.Error.FailedToProcessFee)
        self.runtime.dispatch(inner, Origin.signed(who))
        payment.settle(who, fee, escrow, inner)
        payment.note_paid(who, fee)
        self.deposit(self.Event.NonNativeSignedCall)

    @call(11, calls="BoundedVec<RuntimeCall>")
    def batch(self, origin: Origin, calls: Sequence[RuntimeCall]) -> None:
        """Up to ten calls, all or none; no batch inside a batch."""
        origin.ensure_signed()
        for each in calls:
            self.ensure(not self._is_batch(each), self.Error.InvalidNestedBatch)
            self.runtime.dispatch(each, origin)
        self.deposit(self.Event.BatchCompleted)

    def check_bounds(self, name: str, arguments: Arguments) -> None:
        if name == "batch" and len(arguments["calls"]) > MAX_BATCH:
            raise ScaleError(f"a batch holds up to {MAX_BATCH} calls, not {len(arguments['calls'])}")

    def nested_calls(self, name: str, arguments: Arguments) -> Sequence[RuntimeCall]:
        if name == "non_native_signed_call":
            return [arguments["chainflip_extrinsic"].call]
        calls: Sequence[RuntimeCall] = arguments["calls"] if name == "batch" else ()
        return calls

    @staticmethod
    def _is_batch(call_value: RuntimeCall) -> bool:
        pallet, inner = call_value
        return pallet == "Environment" and split(inner)[0] in BATCHES

    # Calls that wallets of other chains have signed

    def validate_unsigned(self, source: str, call: PalletCall) -> values.ValidTransaction | None:
        name, arguments = split(call)
        if name != "non_native_signed_call":
            return None
        extrinsic: values.ChainflipExtrinsic[RuntimeCall] = arguments["chainflip_extrinsic"]
        signature = arguments["signature_data"]
        who = account_of(signature)
        if not self.other(System).Account.contains(who):
            raise invalid("BadSigner")
        inner = extrinsic.call
        if not self.other(TransactionPayment).can_pay(who, self._fee_of(inner), inner):
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
        self.other(System).inc_nonce(account_of(split(call)[1]["signature_data"]))

    def wallet_call(self, extrinsic: values.ChainflipExtrinsic[RuntimeCall]) -> WalletCall:
        """A value of `ChainflipExtrinsic` as wallets sign it on this chain."""
        version = self.other(System).Constant.Version.spec_version
        type_id = self.type_id("ChainflipExtrinsic<RuntimeCall>")
        network = self.ChainflipNetworkName.get()
        given, registry = self.runtime.codec(type_id).encode(extrinsic), self.runtime.types.described
        return WalletCall(registry, type_id, registry.codec(type_id).decode(given), network, version)

    def _tags(
        self, source: str, who: bytes, bounds: values.TransactionMetadata
    ) -> tuple[list[bytes], list[bytes]]:
        """What the call requires and provides; Stale if its time is over or its nonce is used."""
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
        self._contracts("Ethereum", config.ethereum, self.EthereumSupportedAssets)
        self._contracts("Arbitrum", config.arbitrum, self.ArbitrumSupportedAssets)
        self._contracts("Tron", config.tron, self.TronSupportedAssets)
        if "Bsc" in self.runtime.release.chains:
            self._contracts("Bsc", config.bsc, self.BscSupportedAssets)
        elif config.bsc != BSC:
            self._keep_for_upgrade(config.bsc)
        self.EthereumStateChainGatewayAddress.put(config.ethereum.gateway)
        self.SolanaApiEnvironment.put(solana_environment())
        self.AssethubVaultAccountId.put(ASSETHUB_VAULT)
        self.ConsolidationParameters.put(
            values.ConsolidationParameters(consolidation_threshold=200, consolidation_size=100)
        )
        self.CurrentReleaseVersion.put(self.runtime.release.semver)
        self.ChainflipNetworkEnvironment.put("Development")
        self.ChainflipNetworkName.put("Development")

    def _contracts(
        self, chain: str, addresses: EvmAddresses, assets: StoredMap[str, bytes, bytes | None]
    ) -> None:
        self._address(chain, "KeyManagerAddress").put(addresses.key_manager)
        self._address(chain, "VaultAddress").put(addresses.vault)
        self._number(chain, "ChainId").put(addresses.chain_id)
        known = self.runtime.release.asset_names
        for asset, address in addresses.tokens:
            if asset in known:
                assets.put(asset, address)

    def _keep_for_upgrade(self, bsc: EvmAddresses) -> None:
        """Contracts on BSC other than the usual, under the keys at which 2.3.0 finds them."""
        for item, value in (
            ("BscKeyManagerAddress", bsc.key_manager),
            ("BscVaultAddress", bsc.vault),
            ("BscChainId", bsc.chain_id.to_bytes(8, "little")),
        ):
            self.runtime.host.set(twox_128(self.name.encode()) + twox_128(item.encode()), value)

    @migration("2.3.0")
    def know_bsc(self) -> None:
        """The contracts on BSC, the token contract of CBBTC, and boards for what is new in safe mode."""
        bsc = BSC
        if self.BscVaultAddress.exists():  # stated at genesis
            vault, chain_id = self.BscVaultAddress.get(), self.BscChainId.get()
            manager = self.BscKeyManagerAddress.get()
            bsc = replace(BSC, vault=vault, chain_id=chain_id, key_manager=manager)
        self._contracts("Bsc", bsc, self.BscSupportedAssets)
        self.EthereumSupportedAssets.put("Cbbtc", dict(ETHEREUM.tokens)["Cbbtc"])
        raw = self.runtime.host.get(self.RuntimeSafeMode.prefix)
        if raw is not None:
            kept = codec_in("2.2.9", "RuntimeSafeMode").decode(raw)
            self.RuntimeSafeMode.put(_with_kept(all_green(self.runtime), kept))

    def on_runtime_upgrade(self) -> None:
        self.CurrentReleaseVersion.put(self.runtime.release.semver)

    def safe_mode(self, member: str, switch: str) -> bool:
        """Whether a switch of `RuntimeSafeMode` is on: `safe_mode("swapping", "withdrawals_enabled")`."""
        on: bool = getattr(getattr(self.RuntimeSafeMode.get(), member), switch)
        return on

    def vault_address(self, chain: str) -> bytes:
        """The vault contract (20 bytes) on an EVM chain."""
        return self._address(chain, "VaultAddress").get()

    def key_manager(self, chain: str) -> bytes:
        """The key manager contract (20 bytes) on an EVM chain."""
        return self._address(chain, "KeyManagerAddress").get()

    def chain_id(self, chain: str) -> int:
        """The chain id of an EVM chain."""
        return self._number(chain, "ChainId").get()

    def token_address(self, chain: str, asset: str) -> bytes:
        """The contract of a token on an EVM chain; 0xee… is the chain's own coin."""
        return self.contract(chain, asset) or b"\xee" * 20

    def contract(self, chain: str, asset: str) -> bytes | None:
        """The contract of a token on an EVM chain, None for what is no token there."""
        assets = self.stored()[chain + "SupportedAssets"]
        assert isinstance(assets, StoredMap)
        address: bytes | None = assets.get(asset)
        return address

    def minted(self, mint: bytes) -> str | None:
        """The asset of a token's mint on Solana, None if it is none that is swapped."""
        known = self.SolanaApiEnvironment.get()
        mints = {known.usdc_token_mint_pubkey: "SolUsdc", known.usdt_token_mint_pubkey: "SolUsdt"}
        return mints.get(mint)

    def next_signature_nonce(self, chain: str) -> int:
        """The next replay protection nonce of an EVM chain; this uses it up."""
        return self._number(chain, "SignatureNonce").mutate(lambda used: used + 1)

    def _address(self, chain: str, item: str) -> StoredValue[bytes, bytes]:
        """An address that each EVM chain has."""
        stored = self.stored()[chain + item]
        assert isinstance(stored, StoredValue)
        return stored

    def _number(self, chain: str, item: str) -> StoredValue[int, int]:
        """A number that each EVM chain has."""
        stored = self.stored()[chain + item]
        assert isinstance(stored, StoredValue)
        return stored


def _with_kept(value: T, kept: T) -> T:
    """A value of safe mode in which all that an older release knew is as it was."""
    if not is_dataclass(value) or isinstance(value, type) or type(value) is not type(kept):
        return kept
    names = [each.name for each in fields(value) if getattr(kept, each.name) is not None]
    return replace(value, **{name: _with_kept(getattr(value, name), getattr(kept, name)) for name in names})
