"""Storage, events and errors of the Environment pallet.

Environment (2, pallet_cf_environment). Other pallets read contract addresses, chain ids and safe mode here;
`environment` has the calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cfnode.core.assets import CHAINS
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.chains import CHAIN_INSTANCES
from cfnode.devchain.runtime.frame import (
    ErrorSet,
    EventSet,
    OptionalMap,
    OptionalValue,
    PalletStorage,
    Value,
    event,
    since,
)
from cfnode.devchain.runtime.frame.stored import StoredMap, StoredValue
from cfnode.devchain.runtime.types.safe_mode import all_green

__all__ = ["EnvironmentStorage"]

_CHAINS_OF_2_3 = ("Ethereum", "Arbitrum", "Tron", "Bsc")


def _contracts_of_further_chains() -> dict[str, Value[Any] | OptionalMap[str, bytes]]:
    """Return the items of EVM chains that State Chain 2.3 does not know: contracts, chain id and nonce."""
    items: dict[str, Value[Any] | OptionalMap[str, bytes]] = {}
    for name, chain in CHAIN_INSTANCES.items():
        if chain.is_evm and name not in _CHAINS_OF_2_3:
            span = since(f"{CHAINS[name].since}.0")
            items |= {
                f"{name}SupportedAssets": OptionalMap[str, bytes](
                    "Blake2_128Concat", f"{chain.module}::Asset", "H160", span=span
                ),
                f"{name}KeyManagerAddress": Value[bytes]("H160", span=span),
                f"{name}VaultAddress": Value[bytes]("H160", span=span),
                f"{name}ChainId": Value[int]("u64", span=span),
                f"{name}SignatureNonce": Value[int]("u64", span=span),
            }
    return items


class EnvironmentStorage(PalletStorage):
    """Contract addresses, chain ids and nonces by chain; safe mode."""

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
    vars().update(_contracts_of_further_chains())
    RuntimeSafeMode = Value[values.RuntimeSafeMode]("RuntimeSafeMode", default=all_green)
    CurrentReleaseVersion = Value[values.SemVer]("SemVer")
    ChainflipNetworkEnvironment = Value[str]("NetworkEnvironment", default="Development")
    ChainflipNetworkName = Value[str]("ChainflipNetwork", default="Development")

    class Event(EventSet):
        """Events of contracts and assets of foreign chains, safe mode, batches and foreign wallets."""

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
        """Errors of assets and nonces of foreign chains, batches and foreign wallets."""

        EthAddressNotUpdateable = "Eth is not an Erc20 token, so its address can't be updated."
        NonceAccountNotBeingUsedOrDoesNotExist = (
            "The nonce account is currently not being used or does not exist."
        )
        InvalidUtxoParameters = "The given UTXO parameters are invalid."
        FailedToBuildSolanaApiCall = "Failed to build Solana Api call. See logs for more details"
        FailedToDecodeSigner = "Signer cannot be decoded"
        InvalidNestedBatch = "Nested batches not allowed"
        FailedToProcessFee = "Signer is unable to pay fee."

    def safe_mode(self, member: str, switch: str) -> bool:
        """Return whether a switch of `RuntimeSafeMode` is on.

        For instance `safe_mode("swapping", "withdrawals_enabled")`.
        """
        is_on: bool = getattr(getattr(self.RuntimeSafeMode.get(), member), switch)
        return is_on

    def vault_address(self, chain: str) -> bytes:
        """Return the address (20 bytes) of the vault contract on an EVM chain."""
        return self.address(chain, "VaultAddress").get()

    def key_manager(self, chain: str) -> bytes:
        """Return the address (20 bytes) of the key manager contract on an EVM chain."""
        return self.address(chain, "KeyManagerAddress").get()

    def chain_id(self, chain: str) -> int:
        """Return the chain id of an EVM chain."""
        return self.number(chain, "ChainId").get()

    def token_address(self, chain: str, asset: str) -> bytes:
        """Return the contract of a token on an EVM chain; for the chain's own coin 0xee…."""
        return self.contract(chain, asset) or b"\xee" * 20

    def contract(self, chain: str, asset: str) -> bytes | None:
        """Return the contract of a token on an EVM chain, or None if the asset is no token there."""
        return self.tokens(chain).get(asset)

    def minted(self, mint: bytes) -> str | None:
        """Return the asset of a token's mint on Solana, or None if that token is not swapped."""
        environment = self.SolanaApiEnvironment.get()
        mints = {environment.usdc_token_mint_pubkey: "SolUsdc", environment.usdt_token_mint_pubkey: "SolUsdt"}
        return mints.get(mint)

    def next_signature_nonce(self, chain: str) -> int:
        """Use up the next replay protection nonce of an EVM chain, and return it."""
        return self.number(chain, "SignatureNonce").mutate(lambda used: used + 1)

    def tokens(self, chain: str) -> StoredMap[str, bytes, bytes | None]:
        """Return the stored contracts of the tokens on an EVM chain, by asset."""
        stored: StoredMap[str, bytes, bytes | None] = getattr(self, chain + "SupportedAssets")
        return stored

    def address(self, chain: str, item: str) -> StoredValue[bytes, bytes]:
        """Return the stored value of an address that each EVM chain has."""
        stored: StoredValue[bytes, bytes] = getattr(self, chain + item)
        return stored

    def number(self, chain: str, item: str) -> StoredValue[int, int]:
        """Return the stored value of a number that each EVM chain has."""
        stored: StoredValue[int, int] = getattr(self, chain + item)
        return stored
