"""Reader of transactions to the vault, which returns what the authorities would witness.

A transaction is what `cf_request_swap_parameter_encoding` returned, as a wallet would have sent it. The
reader returns what the main net's engines would read out of it: a `VaultDepositWitness`. A transaction that
they would not notice (to another address, or with a call that is not the vault's) is an error here, since a
test that waits for it would wait for ever. A payment to a broker's private Bitcoin channel is always noticed;
where its OP_RETURN output is empty, no address can be refunded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TypeVar

from cfnode.core.addresses import AddressError, Script, parse_address, script_to_text
from cfnode.core.addresses.taproot import TaprootDeposit
from cfnode.core.amm import price_of, sqrt_price_of_amounts
from cfnode.core.assets import CHAINS, gas_asset
from cfnode.core.scale import ScaleError
from cfnode.core.vault_swaps import (
    BitcoinSwap,
    SentSwap,
    VaultSwapTerms,
    decode_evm_calldata,
    decode_instruction_data,
    decode_nulldata,
    decode_token_transfer,
    decode_tron_note,
)
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.frame import PalletStorage
from cfnode.devchain.runtime.variants import classes_of

from .addresses import network_of
from .environment_storage import EnvironmentStorage
from .ingress_egress.derivation import bitcoin_state, watched_outputs
from .ingress_egress.storage import INGRESS_EGRESS
from .ingress_egress.vault_deposits import burn_address
from .swap_requests.storage import SwappingStorage

__all__ = ["NotNoticed", "SentToVault", "chain_of", "refund_of", "vault_deposit"]

T = TypeVar("T")
Witness = values.VaultDepositWitness
Details = values.VaultSwapDetails[str]
ONE_CHUNK, NO_INTERVAL = 1, 2
_CHAINS: dict[type[Details], str] = {kind: chain for chain, kind in classes_of("VaultSwapDetails").items()}


class NotNoticed(Exception):
    """The transaction is none that the authorities look at; the text says why."""


@dataclass(frozen=True, slots=True)
class SentToVault:
    """A transaction: the `VaultSwapDetails`, its hash, who sent it, and on Bitcoin how much.

    `sender` is 20 bytes on EVM chains; on Bitcoin the script of the third output, to which a refund goes.
    """

    details: Details
    transaction: bytes
    sender: bytes | Script | None
    amount: int | None

    @property
    def chain(self) -> str:
        """The chain whose vault the transaction goes to."""
        return chain_of(self.details)


def chain_of(details: Details) -> str:
    """Return the chain of a transaction to a vault."""
    return _CHAINS[type(details)]


def vault_deposit(pallet: PalletStorage, sent: SentToVault) -> Witness:
    """Return the `VaultDepositWitness` of a transaction. Raises NotNoticed."""
    try:
        witness = _read(pallet, sent)
    except ScaleError as error:
        raise NotNoticed(str(error)) from None
    if sent.amount not in (None, witness.deposit_amount):
        raise NotNoticed(f"the transaction carries {witness.deposit_amount}, not {sent.amount}")
    return witness


def _read(pallet: PalletStorage, sent: SentToVault) -> Witness:
    match sent.details:
        case values.VaultSwapDetailsBitcoin() as output:
            return _bitcoin(pallet, sent, output)
        case values.VaultSwapDetailsSolana(instruction):
            return _solana(pallet, sent, instruction)
        case values.VaultSwapDetailsTron() as call:
            return _tron(pallet, sent, call)
        case evm_call:
            return _evm(pallet, sent, evm_call.details)


def _evm(pallet: PalletStorage, sent: SentToVault, call: values.EvmCallDetails[bytes]) -> Witness:
    if call.to != pallet.other(EnvironmentStorage).vault_address(sent.chain):
        raise NotNoticed(f"0x{call.to.hex()} is not the vault on {sent.chain}")
    swap = decode_evm_calldata(call.calldata)
    if swap.token is None:
        return _of_terms(sent, swap, gas_asset(sent.chain).name, call.value, sent.sender)
    return _of_terms(sent, swap, _asset_of(pallet, sent.chain, swap.token), swap.amount, sent.sender)


def _tron(pallet: PalletStorage, sent: SentToVault, details: values.VaultSwapDetailsTron) -> Witness:
    call, environment = details.details, pallet.other(EnvironmentStorage)
    swap, vault = decode_tron_note(details.note), environment.vault_address("Tron")
    if not call.calldata:
        receiver, asset, amount = _tron_address(call.to), "Trx", call.value
    else:
        # `to` is the vault here too; a wallet calls the token's contract.
        receiver, amount = decode_token_transfer(call.calldata)
        asset = _asset_of(pallet, "Tron", _tron_address(call.source_token_address or call.to))
    if receiver != vault:
        raise NotNoticed(f"0x{receiver.hex()} is not the vault on Tron")
    return _of_terms(sent, swap, asset, amount, None)


def _solana(pallet: PalletStorage, sent: SentToVault, instruction: values.Instruction[bytes]) -> Witness:
    environment = pallet.other(EnvironmentStorage).SolanaApiEnvironment.get()
    if instruction.program_id != environment.swap_endpoint_program:
        raise NotNoticed("the program is not the vault's swap endpoint")
    swap = decode_instruction_data(instruction.data, [asdict(account) for account in instruction.accounts])
    token = swap.sent.token
    asset = "Sol" if token is None else pallet.other(EnvironmentStorage).minted(token)
    if asset is None:
        raise NotNoticed("the token cannot be swapped")
    slot = pallet.other(INGRESS_EGRESS["Solana"]).tracking.height()
    tx_id = (swap.event_account, slot)
    witness = _of_terms(sent, swap.sent, asset, swap.sent.amount, swap.payer)
    return replace(witness, tx_id=tx_id, deposit_details=values.SolanaDepositVaultSwapAccount(tx_id))


def _bitcoin(
    pallet: PalletStorage, sent: SentToVault, details: values.VaultSwapDetailsBitcoin[str]
) -> Witness:
    if not sent.amount:
        raise NotNoticed("name the paid amount: the transaction's details do not contain it")
    broker, channel_id, output = _private_channel(pallet, details.deposit_address)
    utxo = values.Utxo(
        id=values.UtxoId(tx_id=sent.transaction, vout=0),
        amount=sent.amount,
        deposit_address=bitcoin_state(output),
    )
    witness = _nowhere_to_go(pallet, sent, utxo, output.script, channel_id)
    try:
        swap = decode_nulldata(details.nulldata_payload)
    except ScaleError:
        swap = None
    if swap is None or sent.sender is None:
        return witness
    return _of_payload(witness, swap, broker, sent, sent.sender)


def _private_channel(pallet: PalletStorage, text: str) -> tuple[bytes, int, TaprootDeposit]:
    """Return the broker, the channel id and the output of a Bitcoin address. Raises NotNoticed."""
    network = network_of(pallet)
    bitcoin = pallet.other(INGRESS_EGRESS["Bitcoin"])
    for broker, channel_id in pallet.other(SwappingStorage).BrokerPrivateBtcChannels.items():
        for output in watched_outputs(bitcoin, channel_id):
            if script_to_text(output.script, network) == text:
                return broker, channel_id, output
    raise NotNoticed(f"{text} is not a broker's private channel")


def _of_payload(
    witness: Witness, swap: BitcoinSwap, broker: bytes, sent: SentToVault, refund_to: bytes | Script
) -> Witness:
    """Return a witness with the terms of an OP_RETURN payload.

    The least output becomes a least price, for the amount that was sent.
    """
    assert sent.amount is not None
    refund = values.ChannelRefundParameters(
        retry_duration=swap.retry_duration,
        refund_address=refund_to,
        min_price=price_of(sqrt_price_of_amounts(sent.amount, swap.min_output_amount)),
        refund_ccm_metadata=None,
        max_oracle_price_slippage=swap.max_oracle_price_slippage,
    )
    dca = swap.dca or {"number_of_chunks": ONE_CHUNK, "chunk_interval": NO_INTERVAL}
    return replace(
        witness,
        output_asset=swap.destination.name,
        destination_address=swap.address,
        broker_fee=values.Beneficiary(account=broker, bps=swap.broker_fee),
        affiliate_fees=_affiliates(swap.affiliates),
        refund_params=refund,
        dca_params=values.DcaParameters(**dca),
        boost_fee=swap.boost_fee,
    )


def _nowhere_to_go(
    pallet: PalletStorage, sent: SentToVault, utxo: values.Utxo, script: Script, channel_id: int
) -> Witness:
    """Return the witness of a Bitcoin payment whose swap cannot be read."""
    refund = values.ChannelRefundParameters(
        retry_duration=0,
        refund_address=burn_address(pallet.other(INGRESS_EGRESS["Bitcoin"])),
        min_price=0,
        refund_ccm_metadata=None,
        max_oracle_price_slippage=None,
    )
    return values.VaultDepositWitness(
        input_asset="Btc",
        deposit_address=script,
        channel_id=channel_id,
        deposit_amount=utxo.amount,
        deposit_details=utxo,
        output_asset="Btc",
        destination_address=("Eth", bytes(20)),
        deposit_metadata=None,
        tx_id=sent.transaction,
        broker_fee=None,
        affiliate_fees=[],
        refund_params=refund,
        dca_params=None,
        boost_fee=0,
    )


def _of_terms(
    sent: SentToVault, swap: SentSwap, asset: str, amount: int | None, sender: bytes | Script | None
) -> Witness:
    """Return the witness of a transaction that carries `VersionedCfParameters`."""
    assert amount is not None
    terms = swap.terms
    metadata = None
    if terms.ccm is not None:
        source = None if sender is None else (CHAINS[sent.chain].address, sender)
        metadata = values.CcmDepositMetadata(
            channel_metadata=values.CcmChannelMetadata(**terms.ccm),
            source_chain=sent.chain,
            source_address=source,
        )
    return values.VaultDepositWitness(
        input_asset=asset,
        deposit_address=None,
        channel_id=None,
        deposit_amount=amount,
        deposit_details=values.EvmDepositDetails([sent.transaction]),
        output_asset=swap.destination.name,
        destination_address=swap.address,
        deposit_metadata=metadata,
        tx_id=sent.transaction,
        broker_fee=values.Beneficiary(account=terms.broker, bps=terms.broker_fee),
        affiliate_fees=_affiliates(terms.affiliates),
        refund_params=refund_of(terms, terms.refund["refund_address"]),
        dca_params=None if terms.dca is None else values.DcaParameters(**terms.dca),
        boost_fee=terms.boost_fee,
    )


def refund_of(
    terms: VaultSwapTerms, address: T
) -> values.ChannelRefundParameters[T, values.CcmMetadata | None]:
    """Return the refund parameters that `core.vault_swaps` has read, with the address in the wanted form."""
    ccm = terms.refund["refund_ccm_metadata"]
    return values.ChannelRefundParameters(
        retry_duration=terms.refund["retry_duration"],
        refund_address=address,
        min_price=terms.refund["min_price"],
        refund_ccm_metadata=None if ccm is None else values.CcmChannelMetadata(**ccm),
        max_oracle_price_slippage=terms.refund["max_oracle_price_slippage"],
    )


def _affiliates(pairs: Sequence[tuple[int, int]]) -> list[values.Beneficiary[int]]:
    return [values.Beneficiary(account=short_id, bps=bps) for short_id, bps in pairs]


def _asset_of(pallet: PalletStorage, chain: str, contract: bytes) -> str:
    """Return the asset of a token's contract. Raises NotNoticed."""
    environment = pallet.other(EnvironmentStorage)
    for asset in pallet.runtime.release.assets_of(chain):
        if asset.chain_index and environment.token_address(chain, asset.name) == contract:
            return asset.name
    raise NotNoticed(f"0x{contract.hex()} is not a token that can be swapped on {chain}")


def _tron_address(text: str) -> bytes:
    try:
        return parse_address("Tron", text)[1]
    except AddressError as error:
        raise NotNoticed(f"{text}: {error}") from None
