"""Derivation of deposit addresses from channel ids and the chain's vault.

`core.addresses` has the formulas; here they get the vault's key, contract, program or account from storage.
"""

from __future__ import annotations

from collections.abc import Callable

from cfnode.core.addresses import AddressError, Script, assethub, evm, solana, taproot
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.pallets.environment_storage import EnvironmentStorage
from cfnode.devchain.runtime.pallets.signers import BitcoinThresholdSigner

from .recycling import State
from .storage import IngressEgressStorage

Derived = tuple[bytes | Script, State]

__all__ = ["bitcoin_channel", "bitcoin_state", "derive", "is_fresh", "watched_outputs"]


def derive(pallet: IngressEgressStorage, channel_id: int, asset: str) -> Derived:
    """Return the address of a new channel, as the chain's account type, and the state to store with it."""
    return _DERIVATIONS[pallet.chain.family.crypto](pallet, channel_id, asset)


def bitcoin_channel(pallet: IngressEgressStorage, channel_id: int) -> taproot.TaprootDeposit:
    """Return the Bitcoin output of a channel id under the current vault key."""
    return watched_outputs(pallet, channel_id)[0]


def watched_outputs(pallet: IngressEgressStorage, channel_id: int) -> list[taproot.TaprootDeposit]:
    """Return the Bitcoin outputs of a private channel under the current and the previous vault key.

    Fails with MissingBitcoinVault, BitcoinChannelIdTooLarge.
    """
    key = pallet.other(BitcoinThresholdSigner).active_key()
    key = pallet.require(key, pallet.Error.MissingBitcoinVault)
    pallet.ensure(channel_id <= taproot.MAX_TAPROOT_CHANNEL_ID, pallet.Error.BitcoinChannelIdTooLarge)
    keys = (key.current, key.previous)
    return [taproot.deposit(vault_key, channel_id) for vault_key in keys if vault_key is not None]


def is_fresh(pallet: IngressEgressStorage, channel: values.DepositChannel) -> bool:
    """Return whether deposits on an unused channel could be spent: on Bitcoin, by the current vault key."""
    if not isinstance(channel.state, values.DepositAddress):
        return True
    key = pallet.other(BitcoinThresholdSigner).active_key()
    return key is not None and bool(channel.state.pubkey_x == key.current)


def bitcoin_state(output: taproot.TaprootDeposit) -> values.DepositAddress:
    """Return what is stored of an output so that it can be spent."""
    path = values.TapscriptPath(
        salt=output.salt,
        tweaked_pubkey_bytes=output.output_key,
        tapleaf_hash=output.leaf_hash,
        unlock_script=values.BitcoinScript(output.leaf_script),
    )
    return values.DepositAddress(pubkey_x=output.public_key_x, script_path=path)


def _evm(pallet: IngressEgressStorage, channel_id: int, asset: str) -> Derived:
    chain = pallet.chain.name
    vault = pallet.other(EnvironmentStorage).vault_address(chain)
    return evm.deposit_address(chain, vault, channel_id, evm.INIT_CODE_HASHES[asset]), "Undeployed"


def _bitcoin(pallet: IngressEgressStorage, channel_id: int, asset: str) -> Derived:
    output = bitcoin_channel(pallet, channel_id)
    return output.script, bitcoin_state(output)


def _solana(pallet: IngressEgressStorage, channel_id: int, asset: str) -> Derived:
    program = pallet.other(EnvironmentStorage).SolanaApiEnvironment.get().vault_program
    try:
        return solana.deposit_address(program, channel_id)
    except AddressError:
        pallet.fail(pallet.Error.SolanaAddressDerivationError)


def _assethub(pallet: IngressEgressStorage, channel_id: int, asset: str) -> Derived:
    account = pallet.other(EnvironmentStorage).AssethubVaultAccountId.get()
    vault = pallet.require(account, pallet.Error.MissingAssethubVault)
    return assethub.deposit_account(vault, channel_id), ()


_DERIVATIONS: dict[str, Callable[[IngressEgressStorage, int, str], Derived]] = {
    "EvmCrypto": _evm,
    "BitcoinCrypto": _bitcoin,
    "SolanaCrypto": _solana,
    "PolkadotCrypto": _assethub,
}
