"""`CustomRuntimeApi` methods that encode and decode vault swaps.

The checks are in the order of the chain's own; `vault_encodings` builds the transactions.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Unpack

from cfnode.core.addresses import (
    AddressError,
    EncodedAddress,
    ForeignAddress,
    Script,
    chain_of_address,
    foreign_address,
)
from cfnode.core.assets import ASSETS, CHAINS
from cfnode.core.scale import ScaleError
from cfnode.core.vault_swaps import decode_instruction_data, decode_nulldata
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.frame import RuntimeApi, RuntimeTrap, method
from cfnode.devchain.runtime.pallets.addresses import decoded, network_of
from cfnode.devchain.runtime.pallets.environment_storage import EnvironmentStorage
from cfnode.devchain.runtime.pallets.signers import SolanaThresholdSigner
from cfnode.devchain.runtime.pallets.swap_requests.ccm import CcmError, accounts_of, check_ccm
from cfnode.devchain.runtime.pallets.swap_requests.parameters import (
    check_dca,
    check_price_protection,
    check_retry,
)
from cfnode.devchain.runtime.pallets.swap_requests.storage import SwappingStorage
from cfnode.devchain.runtime.pallets.vault_transactions import refund_of
from cfnode.swaps.limits import MAX_AFFILIATES, MAX_COMMISSION_BPS

from .answers import Answer, ApiRefusal, or_message
from .vault_encodings import Extra, Given, VaultSwapRequest, cf_parameters_of, vault_swap_of

__all__ = ["VaultSwapsApi"]

Swap = values.VaultSwapInput[EncodedAddress, int]
EvmExtra = (
    values.VaultSwapExtraParametersEthereum[EncodedAddress, int]
    | values.VaultSwapExtraParametersArbitrum[EncodedAddress, int]
    | values.VaultSwapExtraParametersTron[EncodedAddress, int]
    | values.VaultSwapExtraParametersBsc[EncodedAddress, int]
)

MAX_U8 = 255
ONE_CHUNK = values.DcaParameters(number_of_chunks=1, chunk_interval=2)
MAX_SEED = 32
"""Maximum bytes of a seed of an address on Solana, by Solana's rule."""


class VaultSwapsApi(RuntimeApi):
    """Encoding and decoding of vault swaps."""

    api = "CustomRuntimeApi"

    @method(
        "Result<VaultSwapDetails<ScriptPubkey>, DispatchErrorWithMessage>",
        broker="AccountId32",
        source_asset="Asset",
        destination_asset="Asset",
        destination_address="EncodedAddress",
        broker_commission="u16",
        extra_parameters="VaultSwapExtraParameters<EncodedAddress, u128>",
        channel_metadata="Option<CcmMetadata>",
        boost_fee="u16",
        affiliate_fees="BoundedVec<Beneficiary<AccountId32>>",
        dca_parameters="Option<DcaParameters>",
    )
    def cf_request_swap_parameter_encoding(
        self, *, extra_parameters: Extra, **request: Unpack[Given]
    ) -> Answer[values.VaultSwapDetails[Script]]:
        """Return the transaction that swaps by way of the vault."""
        return or_message(lambda: self._details(VaultSwapRequest.of(request), extra_parameters))

    def _details(self, asked: VaultSwapRequest, extra: Extra) -> values.VaultSwapDetails[Script]:
        if isinstance(extra, values.VaultSwapExtraParametersSolana) and len(extra.seed) > MAX_SEED:
            raise RuntimeTrap(f"a seed has at most {MAX_SEED} bytes, not {len(extra.seed)}")
        if isinstance(extra, values.VaultSwapExtraParametersBitcoin):
            slippage = extra.max_oracle_price_slippage
            retries, slippage = extra.retry_duration, None if slippage == MAX_U8 else slippage
        else:
            refund = _refund_in(extra)
            self._check_refund(asked.source, refund)
            retries, slippage = refund.retry_duration, refund.max_oracle_price_slippage
        checked_swap = self._checked(asked, retries, slippage)
        swapping = self.other(SwappingStorage)
        destination = decoded(swapping, asked.address, swapping.Error.InvalidDestinationAddress)
        if chain_of_address(destination) != ASSETS[asked.destination].chain:
            raise ApiRefusal("Destination address and asset are on different chains.")
        return vault_swap_of(self, checked_swap, extra)

    @method(
        "Result<Bytes, DispatchErrorWithMessage>",
        broker="AccountId32",
        source_asset="Asset",
        destination_address="EncodedAddress",
        destination_asset="Asset",
        refund_parameters="RefundParameters",
        dca_parameters="Option<DcaParameters>",
        boost_fee="u16",
        broker_commission="u16",
        affiliate_fees="BoundedVec<Beneficiary<AccountId32>>",
        channel_metadata="Option<CcmMetadata>",
    )
    def cf_encode_cf_parameters(
        self, *, refund_parameters: values.RefundParameters, **request: Unpack[Given]
    ) -> Answer[bytes]:
        """Return the part of the transaction that the vault passes on."""
        asked, refund = VaultSwapRequest.of(request), refund_parameters
        bounds = refund.retry_duration, refund.max_oracle_price_slippage
        return or_message(lambda: cf_parameters_of(self, self._checked(asked, *bounds), refund))

    # Checks

    def _check_refund(self, source: str, refund: values.RefundParameters) -> None:
        """Raise Refused for an invalid refund address, or a message that its chain cannot take."""
        swapping, ccm = self.other(SwappingStorage), refund.refund_ccm_metadata
        try:
            address = foreign_address(refund.refund_address, network_of(swapping))
        except AddressError:
            raise ApiRefusal("Invalid refund address") from None
        if ccm is None:
            return
        if not CHAINS[chain_of_address(address)].ccm:
            raise ApiRefusal("Invalid refund parameter: Ccm not supported for the refund chain.")
        try:
            self._decoded_ccm(ccm, source, address)
        except CcmError as error:
            raise ApiRefusal(str(error)) from None

    def _decoded_ccm(self, ccm: values.CcmMetadata, asset: str, address: ForeignAddress) -> values.CheckedCcm:
        """Return the message in its checked form. Raises CcmError."""
        variant, account = address
        if ASSETS[asset].chain == "Solana" and variant != "Sol":
            raise CcmError("Invalid Ccm: Destination address is not compatible with the target Chain.")
        return check_ccm(
            self.other(SwappingStorage), ccm, asset, account if isinstance(account, bytes) else b""
        )

    def _checked(self, asked: VaultSwapRequest, retries: int, slippage: int | None) -> VaultSwapRequest:
        """Check the swap, and return it with its message in the form that is sent.

        The destination is read for a message only. Raises Refused, DispatchError or RuntimeTrap.
        """
        swapping = self.other(SwappingStorage)
        error = swapping.Error
        check_dca(swapping, asked.dca)
        swapping.ensure(asked.boost_fee <= MAX_U8, error.BoostFeeTooHigh)
        if asked.commission < swapping.VaultSwapMinimumBrokerFee.get(asked.broker):
            raise ApiRefusal("Broker commission is too low")
        if len(asked.affiliates) > MAX_AFFILIATES:
            raise RuntimeTrap(f"a swap has at most {MAX_AFFILIATES} affiliates, not {len(asked.affiliates)}")
        total_bps = asked.commission + sum(fee.bps for fee in asked.affiliates)
        swapping.ensure(total_bps <= MAX_COMMISSION_BPS, error.BrokerCommissionBpsTooHigh)
        check_retry(swapping, retries)
        check_price_protection(swapping, slippage, asked.source, asked.destination)
        return asked if asked.ccm is None else replace(asked, ccm=self._checked_ccm(asked, asked.ccm))

    def _checked_ccm(self, asked: VaultSwapRequest, message: values.CcmMetadata) -> values.CcmMetadata:
        """Return the message with its additional data decoded and encoded again.

        Raises Refused or DispatchError.
        """
        swapping = self.other(SwappingStorage)
        destination = decoded(swapping, asked.address, swapping.Error.InvalidDestinationAddress)
        try:
            ccm = self._decoded_ccm(message, asked.destination, destination)
        except CcmError:
            raise ApiRefusal("Invalid CCM") from None
        if asked.chain == "Bitcoin":
            raise ApiRefusal("Vault swaps with CCM are not supported for the Bitcoin Chain")
        if not CHAINS[chain_of_address(asked.address)].ccm:
            raise ApiRefusal("Destination chain does not support CCM")
        data = ccm.ccm_additional_data
        if data == "NotRequired":
            return replace(message, ccm_additional_data=b"")
        self._check_accounts(data.value)
        encoded = swapping.codec("VersionedSolanaCcmAdditionalData").encode(data.value)
        return replace(message, ccm_additional_data=encoded)

    def _check_accounts(self, data: values.SolanaCcmData) -> None:
        """Raise Refused if a message to Solana names an account of the vault's own."""
        ccm_accounts = accounts_of(data)
        keys = {account.pubkey for account in (ccm_accounts.cf_receiver, *ccm_accounts.additional_accounts)}
        environment = self.other(EnvironmentStorage).SolanaApiEnvironment.get()
        vault_keys = {environment.token_vault_pda_account, self.other(SolanaThresholdSigner).active_key()}
        if keys & vault_keys:
            raise ApiRefusal("Invalid Ccm: additional data contains invalid accounts")

    # Decoding

    @method(
        "Result<VaultSwapInput<EncodedAddress, u128>, DispatchErrorWithMessage>",
        broker="AccountId32",
        vault_swap="VaultSwapDetails<str>",
    )
    def cf_decode_vault_swap_parameter(
        self, broker: bytes, vault_swap: values.VaultSwapDetails[str]
    ) -> Answer[Swap]:
        """Return the swap that a transaction asks for."""
        return or_message(lambda: self._decoded(broker, vault_swap))

    def _decoded(self, broker: bytes, vault_swap: values.VaultSwapDetails[str]) -> Swap:
        try:
            match vault_swap:
                case values.VaultSwapDetailsBitcoin():
                    return self._bitcoin(broker, vault_swap.nulldata_payload)
                case values.VaultSwapDetailsSolana(instruction):
                    return self._solana(broker, instruction)
        except ScaleError as error:
            raise ApiRefusal(f"the payload cannot be read: {error}") from error
        raise ApiRefusal("Decoding Vault Swap only supports Bitcoin and Solana")

    def _bitcoin(self, broker: bytes, payload: bytes) -> Swap:
        """Decode a payload for Bitcoin.

        The result always has chunks and a slippage: by default one chunk, and 255 for no slippage.
        """
        try:
            swap = decode_nulldata(payload)
        except ScaleError:
            raise ApiRefusal("Failed to decode Bitcoin Null data Payload") from None
        slippage = swap.max_oracle_price_slippage
        extra = values.VaultSwapExtraParametersBitcoin(
            min_output_amount=swap.min_output_amount,
            retry_duration=swap.retry_duration,
            max_oracle_price_slippage=MAX_U8 if slippage is None else slippage,
        )
        return values.VaultSwapInput(
            source_asset="Btc",
            destination_asset=swap.destination.name,
            destination_address=swap.address,
            broker_commission=swap.broker_fee,
            extra_parameters=extra,
            channel_metadata=None,
            boost_fee=swap.boost_fee,
            affiliate_fees=[self._affiliate(broker, *pair) for pair in swap.affiliates],
            dca_parameters=values.DcaParameters(**swap.dca) if swap.dca else ONE_CHUNK,
        )

    def _solana(self, broker: bytes, instruction: values.Instruction[bytes]) -> Swap:
        """Decode an instruction for Solana, which names its broker itself."""
        swap = decode_instruction_data(
            instruction.data, [asdict(account) for account in instruction.accounts]
        )
        sent, terms = swap.sent, swap.sent.terms
        assert sent.amount is not None
        extra = values.VaultSwapExtraParametersSolana(
            from_=("Sol", swap.payer),
            seed=swap.seed,
            input_amount=sent.amount,
            refund_parameters=refund_of(terms, ("Sol", terms.refund["refund_address"])),
            from_token_account=None if swap.token_account is None else ("Sol", swap.token_account),
        )
        return values.VaultSwapInput(
            source_asset=self._minted(sent.token),
            destination_asset=sent.destination.name,
            destination_address=sent.address,
            broker_commission=terms.broker_fee,
            extra_parameters=extra,
            channel_metadata=None if terms.ccm is None else values.CcmChannelMetadata(**terms.ccm),
            boost_fee=terms.boost_fee,
            affiliate_fees=[self._affiliate(terms.broker, *pair) for pair in terms.affiliates],
            dca_parameters=None if terms.dca is None else values.DcaParameters(**terms.dca),
        )

    def _minted(self, mint: bytes | None) -> str:
        asset = "Sol" if mint is None else self.other(EnvironmentStorage).minted(mint)
        if asset is None:
            raise ScaleError("the token cannot be swapped")
        return asset

    def _affiliate(self, broker: bytes, short_id: int, bps: int) -> values.Beneficiary[bytes]:
        swapping = self.other(SwappingStorage)
        affiliate = swapping.AffiliateIdMapping.get(broker, short_id)
        account = swapping.require(affiliate, swapping.Error.AffiliateNotRegisteredForBroker)
        return values.Beneficiary(account=account, bps=bps)


def _refund_in(
    extra: values.VaultSwapExtraParametersSolana[EncodedAddress, int] | EvmExtra,
) -> values.RefundParameters:
    if isinstance(extra, values.VaultSwapExtraParametersSolana):
        return extra.refund_parameters
    return extra.value.refund_parameters
