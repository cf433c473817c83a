"""Test-only calls of the development chain, and the inherent that funds accounts.

Dev (250): not a pallet of the main net. Its calls come as bare extrinsics that only the author itself can put
into a block (`dev_*` methods); from a peer or through author_submitExtrinsic they are refused. One inherent,
`devfund0`, funds the accounts it lists that do not exist yet: this gives a node's own broker account its
FLIP.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cfnode.core.addresses import EncodedAddress, Script
from cfnode.core.assets import ASSETS, gas_asset
from cfnode.core.hashing import blake2_256
from cfnode.core.scale import ScaleError
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.chains import CHAIN_INSTANCES
from cfnode.devchain.runtime.config import FUNDING_ADVICE, DevGenesis
from cfnode.devchain.runtime.frame import (
    GOVERNANCE,
    ROOT,
    Cost,
    ErrorSet,
    Origin,
    Pallet,
    RuntimeTrap,
    call,
    part,
)
from cfnode.devchain.runtime.frame.calls import Arguments, PalletCall, RuntimeCall, split

from .asset_balances import AssetBalances
from .boost_funding import BoostFunding
from .broadcast.pallet import BROADCASTERS
from .dev_storage import DevStorage
from .epochs import Epochs
from .funded_accounts import FundedAccounts
from .funding import Funding
from .funding_storage import FundingStorage
from .ingress_egress.boost import BOOSTER
from .ingress_egress.storage import INGRESS_EGRESS
from .oracle import FEEDS, OracleFeed
from .pools.first_liquidity import refill
from .pools.storage import PoolsStorage
from .system import System
from .vault_transactions import NotNoticed, SentToVault, chain_of, vault_deposit
from .witnesses import Witnesses

INHERENT = b"devfund0"
LONGEVITY = 64
ENTRY_BYTES = 64
MAX_FUNDED_ACCOUNTS = 64
MAX_NARROW_AMOUNT = 2**60
MAX_WIDE_AMOUNT = 2**110
"""Largest amounts that a test may put in, on chains that count in 64 and in 128 bits."""


class Dev(Pallet):
    """Test-only calls."""

    index = 250
    crate = "cfnode_dev"

    oracle = part(OracleFeed)
    witnesses = part(Witnesses)
    storage = part(DevStorage)

    class Error(ErrorSet):
        """Errors of the test-only calls."""

        BelowMinimumFunding = f"The amount is below the minimum funding: {FUNDING_ADVICE}."
        WrongChain = "The address is none of the asset's chain, or no contract could fail there."
        ChannelExpired = "The channel has expired: nobody watches it any more, so a deposit is not noticed."
        InvalidPool = "A pool has a price above zero and no more than its chain can count; USDC has none."
        InvalidAmount = "The amount is zero, or more than the asset's chain can count."
        InvalidPrice = "There is no such feed, or no such price: above zero, below 2^60 microdollars."
        NotNoticed = (
            "The transaction is no vault swap: it goes to no vault, or what it carries cannot be read."
        )
        NobodyAsked = "No authority has been asked to send this broadcast, or any if none is named."

    @call(0, Cost(), account_id="AccountId32", amount="u128")
    def fund_account(self, origin: Origin, account_id: bytes, amount: int) -> None:
        """Fund an account as if its FLIP had come through the gateway contract: at least 1 FLIP, better 5."""
        origin.ensure_none()
        self.ensure(amount >= self.other(FundingStorage).MinimumFunding.get(), self.Error.BelowMinimumFunding)
        self.other(FundedAccounts).fund_account(account_id, amount, self._source(account_id))

    @call(1, Cost(dispatch_class="Mandatory"), accounts="Vec<(AccountId32, u128)>")
    def fund_missing(self, origin: Origin, accounts: Sequence[tuple[bytes, int]]) -> None:
        """Fund those of the accounts that do not exist. An inherent."""
        origin.ensure_none()
        for account, amount in self._missing(accounts):
            self.other(FundedAccounts).fund_account(account, amount, self._source(account))

    @call(2, Cost(), call="Box<RuntimeCall>")
    def as_governance(self, origin: Origin, call: RuntimeCall) -> None:
        """Do a call as governance would."""
        origin.ensure_none()
        self.runtime.dispatch(call, GOVERNANCE)

    @call(3, Cost(dispatch_class="Operational"), call="Box<RuntimeCall>")
    def as_root(self, origin: Origin, call: RuntimeCall) -> None:
        """Do a call that only the chain itself may do, such as replacing the runtime."""
        origin.ensure_none()
        self.runtime.dispatch(call, ROOT)

    @call(
        4,
        Cost(),
        deposit_address="EncodedAddress",
        asset="Asset",
        amount="u128",
        transaction="Option<H256>",
    )
    def witness_deposit(
        self,
        origin: Origin,
        deposit_address: EncodedAddress,
        asset: str,
        amount: int,
        transaction: bytes | None,
    ) -> None:
        """Report a deposit that its chain has confirmed. The transaction is made up if none is given."""
        origin.ensure_none()
        self._ensure_watched(deposit_address, asset, amount)
        self.witnesses.see_deposit(deposit_address, asset, amount, transaction)

    @call(5, Cost(), asset="Asset", price="Option<u128>", depth="Option<u128>")
    def set_pool(self, origin: Origin, asset: str, price: int | None, depth: int | None) -> None:
        """Fill a pool anew: price of a whole unit, and USDC in the pool, both in microdollars."""
        origin.ensure_none()
        self.ensure(asset != "Usdc" and price != 0, self.Error.InvalidPool)
        reserves = refill(self.other(PoolsStorage), asset, price, depth)
        is_valid = reserves["base"] <= self._most(asset) and reserves["quote"] <= self._most("Usdc")
        self.ensure(is_valid, self.Error.InvalidPool)

    @call(6, Cost(), address="EncodedAddress", asset="Asset", fails="bool")
    def fail_receiver(self, origin: Origin, address: EncodedAddress, asset: str, fails: bool) -> None:
        """From now on transfers of an asset to this address fail on their chain, or do not."""
        origin.ensure_none()
        account = self.witnesses.account_at(address, asset)
        if account is None:
            self.fail(self.Error.WrongChain)
        self.ensure(CHAIN_INSTANCES[ASSETS[asset].chain].is_evm, self.Error.WrongChain)
        key = (asset, (address[0], account))
        if fails:
            self.witnesses.FailingReceivers.put(key, ())
        else:
            self.witnesses.FailingReceivers.remove(key)

    @call(7, Cost(), chain="ForeignChain")
    def abort_next_broadcast(self, origin: Origin, chain: str) -> None:
        """Nobody will be able to send the next transaction to this chain."""
        origin.ensure_none()
        self.witnesses.AbortNext.put(chain, ())

    @call(
        8,
        Cost(),
        deposit_address="EncodedAddress",
        asset="Asset",
        amount="u128",
        transaction="Option<H256>",
    )
    def prewitness_deposit(
        self,
        origin: Origin,
        deposit_address: EncodedAddress,
        asset: str,
        amount: int,
        transaction: bytes | None,
    ) -> None:
        """Report a deposit that its chain has not yet confirmed; `witness_deposit` is to follow."""
        origin.ensure_none()
        self._ensure_watched(deposit_address, asset, amount)
        self.witnesses.see_deposit(deposit_address, asset, amount, transaction, final=False)

    @call(9, Cost(), asset="Asset", amount="u128")
    def set_boost_depth(self, origin: Origin, asset: str, amount: int) -> None:
        """Put this much up for boosting deposits of an asset."""
        origin.ensure_none()
        self.ensure(amount <= self._most(asset), self.Error.InvalidAmount)
        balances = self.other(AssetBalances)
        added = amount - balances.balance(BOOSTER, asset)
        (balances.credit if added > 0 else balances.debit)(BOOSTER, asset, abs(added))

    @call(
        10,
        Cost(),
        details="VaultSwapDetails<str>",
        sender="Option<EncodedAddress>",
        amount="Option<u128>",
        transaction="Option<H256>",
        is_final="bool",
    )
    def send_to_vault(
        self,
        origin: Origin,
        details: values.VaultSwapDetails[str],
        sender: EncodedAddress | None,
        amount: int | None,
        transaction: bytes | None,
        is_final: bool,
    ) -> None:
        """Report that a user has sent what `cf_request_swap_parameter_encoding` gave.

        On Bitcoin `amount` is what is paid, and `sender` the third output, where a refund goes.
        """
        origin.ensure_none()
        chain = chain_of(details)
        account = None if sender is None else self._account_on(chain, sender)
        sent = SentToVault(details, transaction or self.witnesses.made_up_transaction(), account, amount)
        try:
            witness = vault_deposit(self, sent)
        except NotNoticed:
            self.fail(self.Error.NotNoticed)
        deposited = witness.deposit_amount
        self.ensure(0 < deposited <= self._most(witness.input_asset), self.Error.InvalidAmount)
        self.witnesses.see_vault_swap(chain, witness, final=is_final)

    @call(11, Cost(), feed="PriceAsset", price="Option<u128>", is_stale="bool")
    def read_oracle(self, origin: Origin, feed: str, price: int | None, is_stale: bool) -> None:
        """Report the oracle's price of a whole unit, in microdollars, or that it has none any more."""
        origin.ensure_none()
        is_valid = feed in FEEDS and (price is None or 0 < price <= MAX_NARROW_AMOUNT)
        self.ensure(is_valid, self.Error.InvalidPrice)
        self.oracle.read_price(feed, price, is_stale=is_stale)

    @call(12, Cost(), chain="ForeignChain", held="bool")
    def hold_broadcasts(self, origin: Origin, chain: str, held: bool) -> None:
        """From now on no transaction reaches a chain; or again, and those that were held back do, too."""
        origin.ensure_none()
        if held:
            self.witnesses.HeldChains.put(chain, ())
        else:
            self.witnesses.HeldChains.remove(chain)

    @call(13, Cost(), chain="ForeignChain", broadcast_id="Option<u32>")
    def fail_broadcast(self, origin: Origin, chain: str, broadcast_id: int | None) -> None:
        """Report that the authority asked to send a broadcast, or the newest one, could not."""
        origin.ensure_none()
        broadcaster = self.other(BROADCASTERS[chain])
        on_the_way = broadcaster.on_their_way()
        chosen_id = on_the_way[-1] if broadcast_id is None and on_the_way else broadcast_id
        who = None if chosen_id is None else broadcaster.nominee(chosen_id)
        self.ensure(who is not None, self.Error.NobodyAsked)
        assert chosen_id is not None and who is not None
        broadcaster.fail_attempt(chosen_id, who)

    @call(14, Cost(), account_id="AccountId32", expired="bool")
    def settle_redemption(self, origin: Origin, account_id: bytes, expired: bool) -> None:
        """Report that the FLIP an account redeems has been paid out on Ethereum, or that its time is over."""
        origin.ensure_none()
        funding, tx_hash = self.other(Funding), self.witnesses.made_up_transaction()
        (funding.expired if expired else funding.redeemed)(account_id, tx_hash)

    @call(16, Cost(), asset="Asset", amount="u128")
    def set_lending_depth(self, origin: Origin, asset: str, amount: int) -> None:
        """Have the lending pool of an asset lend this much; it boosts deposits, too."""
        origin.ensure_none()
        self.ensure(amount <= self._most(asset), self.Error.InvalidAmount)
        self.other(BoostFunding).supply(asset, amount)

    @call(15, Cost())
    def end_epoch(self, origin: Origin) -> None:
        """Let the next epoch begin in the next block, with the keys of this one."""
        origin.ensure_none()
        self.other(Epochs).end_epoch()

    def _account_on(self, chain: str, address: EncodedAddress) -> bytes | Script:
        account = self.witnesses.account_at(address, gas_asset(chain).name)
        if account is None:
            self.fail(self.Error.WrongChain)
        return account

    def _most(self, asset: str) -> int:
        """Return a bound on amounts of an asset: more than exists, and far from where sums overflow."""
        is_narrow = CHAIN_INSTANCES[ASSETS[asset].chain].family.amount == "u64"
        return MAX_NARROW_AMOUNT if is_narrow else MAX_WIDE_AMOUNT

    def _ensure_watched(self, address: EncodedAddress, asset: str, amount: int) -> None:
        self.ensure(0 < amount <= self._most(asset), self.Error.InvalidAmount)
        account = self.witnesses.account_at(address, asset)
        if account is None:
            self.fail(self.Error.WrongChain)
        pallet = self.other(INGRESS_EGRESS[ASSETS[asset].chain])
        channel = pallet.DepositChannelLookup.get(account)
        expired = channel is not None and pallet.tracking.height() > channel.expires_at
        self.ensure(not expired, self.Error.ChannelExpired)

    def nested_calls(self, name: str, arguments: Arguments) -> Sequence[RuntimeCall]:
        """Return the call inside `as_governance` or `as_root`."""
        return [arguments["call"]] if name in ("as_governance", "as_root") else ()

    def genesis(self, config: DevGenesis) -> None:
        """Store whether keys rotate, and as many entries as the configuration asks for."""
        if config.rotate_keys:
            self.storage.RotatesKeys.put(True)
        for position in range(config.state_entries):
            seed = position.to_bytes(4, "little")
            self.storage.Entries.put(position, blake2_256(b"left" + seed) + blake2_256(b"right" + seed))

    def on_finalize(self, number: int) -> None:
        """Deliver what the foreign chains have witnessed in this block."""
        self.witnesses.deliver()

    def create_inherent(self, data: Mapping[bytes, bytes]) -> PalletCall | None:
        """Return the call that funds the author's listed accounts, or None if all have funds."""
        accounts = self._missing(self._listed(data))
        return ("fund_missing", {"accounts": accounts}) if accounts else None

    def check_inherent(self, call: PalletCall, data: Mapping[bytes, bytes]) -> None:
        """Raise RuntimeTrap if the call funds more accounts than a block may."""
        accounts = split(call)[1]["accounts"]
        if len(accounts) > MAX_FUNDED_ACCOUNTS:
            raise RuntimeTrap(
                f"an author funds up to {MAX_FUNDED_ACCOUNTS} accounts in a block, not {len(accounts)}"
            )

    def is_inherent(self, call: PalletCall) -> bool:
        """Return whether the call is the one that funds accounts."""
        return split(call)[0] == "fund_missing"

    def validate_unsigned(self, source: str, call: PalletCall) -> values.ValidTransaction | None:
        """Accept the pallet's unsigned calls from this node, and none from peers."""
        if source == "External":
            return None
        encoded = self.runtime.call_codec.encode((self.name, call))
        tag = blake2_256(encoded + self.other(System).ParentHash.get())
        return values.ValidTransaction(
            priority=2**64 - 1, requires=[], provides=[tag], longevity=LONGEVITY, propagate=False
        )

    def _listed(self, data: Mapping[bytes, bytes]) -> Sequence[tuple[bytes, int]]:
        if INHERENT not in data:
            return ()
        try:
            accounts: Sequence[tuple[bytes, int]] = self.codec("Vec<(AccountId32, u128)>").decode(
                data[INHERENT]
            )
        except ScaleError as error:
            raise RuntimeTrap(f"inherent {INHERENT.decode()}: {error}") from None
        return accounts[:MAX_FUNDED_ACCOUNTS]

    def _missing(self, accounts: Sequence[tuple[bytes, int]]) -> list[tuple[bytes, int]]:
        return [entry for entry in accounts if not self.other(System).exists(entry[0])]

    def _source(self, account: bytes) -> values.FundingSourceEthTransaction:
        """Return a made-up funding transaction, whose hash is made of the account and the block."""
        number = self.other(System).Number.get().to_bytes(4, "little")
        tx_hash = blake2_256(b"dev" + number + account)
        return values.FundingSourceEthTransaction(tx_hash=tx_hash, funder=bytes(20))
