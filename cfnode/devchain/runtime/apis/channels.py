"""`CustomRuntimeApi` methods for open deposit channels and the addresses of vaults."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cfnode.core.addresses import EncodedAddress
from cfnode.core.assets import CHAINS
from cfnode.core.vault_swaps import native_vault
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.frame import RuntimeApi, enum, method, struct
from cfnode.devchain.runtime.frame.types import Catalog
from cfnode.devchain.runtime.pallets.addresses import encoded
from cfnode.devchain.runtime.pallets.environment_storage import EnvironmentStorage
from cfnode.devchain.runtime.pallets.ingress_egress.derivation import bitcoin_channel
from cfnode.devchain.runtime.pallets.ingress_egress.storage import INGRESS_EGRESS
from cfnode.devchain.runtime.pallets.signers import BitcoinThresholdSigner, SolanaThresholdSigner
from cfnode.devchain.runtime.pallets.swap_requests.storage import SwappingStorage
from cfnode.devchain.runtime.pallets.system import System
from cfnode.devchain.runtime.pallets.validator_storage import ValidatorStorage
from cfnode.devchain.runtime.releases import Release, by_release
from cfnode.swaps.timing import STATE_CHAIN_MS

__all__ = ["ChannelsApi"]

VAULT_SALT = 0

_API = "state_chain_runtime::runtime_apis::custom_api::types"
struct(f"{_API}::ChainAccounts", chain_accounts="Vec<(EncodedAddress, Asset)>")
enum(f"{_API}::ChannelActionType", "Swap", "LiquidityProvision", "Refund", "Unrefundable")


def _kind(action: values.ChannelAction[bytes, object, object]) -> str:
    """Return the `ChannelActionType` of an action."""
    match action:
        case values.ChannelActionSwap():
            return "Swap"
        case values.ChannelActionLiquidityProvision():
            return "LiquidityProvision"
        case values.ChannelActionRefund():
            return "Refund"
    return action


def _later(release: Release) -> list[str]:
    """Return the EVM chains that were added after Solana."""
    evm_chains = [name for name, chain in release.chains.items() if chain.is_evm]
    return [name for name in evm_chains if name not in ("Ethereum", "Arbitrum")]


@by_release
def _declare(catalog: Catalog, release: Release) -> None:
    catalog.struct(
        f"{_API}::VaultAddresses",
        **dict.fromkeys(("ethereum", "arbitrum"), "EncodedAddress"),
        bitcoin="Vec<(AccountId32, EncodedAddress)>",
        **dict.fromkeys(
            (
                "sol_vault_program",
                "sol_swap_endpoint_program_data_account",
                "usdc_token_mint_pubkey",
                "usdt_token_mint_pubkey",
            ),
            "EncodedAddress",
        ),
        bitcoin_vault="Option<EncodedAddress>",
        solana_sol_vault="Option<EncodedAddress>",
        solana_usdc_token_vault_ata="EncodedAddress",
        solana_usdt_token_vault_ata="EncodedAddress",
        solana_vault_swap_account="Option<EncodedAddress>",
        **{name.lower(): "EncodedAddress" for name in _later(release)},
        predicted_seconds_until_next_vault_rotation="u64",
    )


class ChannelsApi(RuntimeApi):
    """Open channels, and where vault swaps go."""

    api = "CustomRuntimeApi"

    @method("ChainAccounts", account_id="Option<AccountId32>")
    def cf_get_open_deposit_channels(self, account_id: bytes | None) -> values.ChainAccounts:
        """Return the open channels, or those of one account."""
        return values.ChainAccounts(
            [(address, asset) for owner, _, address, asset in self._channels() if account_id in (None, owner)]
        )

    @method("Vec<(AccountId32, ChannelActionType, ChainAccounts)>")
    def cf_all_open_deposit_channels(self) -> list[tuple[bytes, str, values.ChainAccounts]]:
        """Return the open channels by account and purpose."""
        channels: dict[tuple[bytes, str], list[tuple[EncodedAddress, str]]] = {}
        for owner, action, address, asset in self._channels():
            channels.setdefault((owner, action), []).append((address, asset))
        return [(*key, values.ChainAccounts(accounts)) for key, accounts in sorted(channels.items())]

    def _channels(self) -> Iterator[tuple[bytes, str, EncodedAddress, str]]:
        """Yield owner, purpose, address and asset of every channel that is still watched."""
        for chain in self.runtime.release.vault_swap_chains:
            pallet, variant = self.other(INGRESS_EGRESS[chain]), CHAINS[chain].address
            for account, details in pallet.DepositChannelLookup.items():
                asset, kind = details.deposit_channel.asset, _kind(details.action)
                yield details.owner, kind, encoded(pallet, (variant, account)), asset

    @method("VaultAddresses")
    def cf_vault_addresses(self) -> values.VaultAddresses:
        """Where vault swaps are sent, and brokers' Bitcoin addresses."""
        environment = self.other(EnvironmentStorage)
        solana = environment.SolanaApiEnvironment.get()
        return values.VaultAddresses(
            ethereum=("Eth", environment.EthereumVaultAddress.get()),
            arbitrum=("Arb", environment.ArbitrumVaultAddress.get()),
            bitcoin=list(self._private_channels()),
            sol_vault_program=("Sol", solana.vault_program),
            sol_swap_endpoint_program_data_account=("Sol", solana.swap_endpoint_program_data_account),
            usdc_token_mint_pubkey=("Sol", solana.usdc_token_mint_pubkey),
            usdt_token_mint_pubkey=("Sol", solana.usdt_token_mint_pubkey),
            bitcoin_vault=self._bitcoin_vault(),
            solana_sol_vault=self._solana_vault(),
            solana_usdc_token_vault_ata=("Sol", solana.usdc_token_vault_ata),
            solana_usdt_token_vault_ata=("Sol", solana.usdt_token_vault_ata),
            solana_vault_swap_account=("Sol", native_vault(solana.swap_endpoint_program)),
            **self._later_vaults(environment),
            predicted_seconds_until_next_vault_rotation=self._seconds_left(),
        )

    def _later_vaults(self, environment: EnvironmentStorage) -> dict[str, Any]:
        return {
            chain.lower(): (CHAINS[chain].address, environment.vault_address(chain))
            for chain in _later(self.runtime.release)
        }

    def _private_channels(self) -> Iterator[tuple[bytes, EncodedAddress]]:
        for broker, channel_id in self.other(SwappingStorage).BrokerPrivateBtcChannels.items():
            yield broker, self._bitcoin(channel_id)

    def _bitcoin(self, channel_id: int) -> EncodedAddress:
        pallet = self.other(INGRESS_EGRESS["Bitcoin"])
        return encoded(pallet, ("Btc", bitcoin_channel(pallet, channel_id).script))

    def _bitcoin_vault(self) -> EncodedAddress | None:
        key = self.other(BitcoinThresholdSigner).active_key()
        return None if key is None else self._bitcoin(VAULT_SALT)

    def _solana_vault(self) -> EncodedAddress | None:
        key = self.other(SolanaThresholdSigner).active_key()
        return None if key is None else ("Sol", key)

    def _seconds_left(self) -> int:
        validator = self.other(ValidatorStorage)
        epoch_end: int = validator.CurrentEpochStartedAt.get() + validator.EpochDuration.get()
        now: int = self.other(System).Number.get()
        return max(0, epoch_end - now) * STATE_CHAIN_MS // 1000
