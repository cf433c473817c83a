"""A liquidity provider on a node: deposits, balances, orders."""

from __future__ import annotations

from typing import Any

from cfnode.core import ss58
from cfnode.core.era import IMMORTAL
from cfnode.core.extrinsic import sign_extrinsic
from cfnode.core.keys import Keypair
from tests.rpc.conftest import ALICE, MakeServed, Served, first_block
from tests.support.rpc.assets import BTC_ADDRESS, DOLLAR, ETH, ETHER, EVM_ADDRESS, USDC
from tests.support.rpc.channels import events_of


async def provider_on(make_served: MakeServed, **options: Any) -> Served:
    """Return a node that seals at once, with a liquidity provider's key."""
    return await first_block(await make_served(seal="instant", provider=True, **options))


async def funded(served: Served, *deposits: tuple[dict[str, str], int]) -> Served:
    """Register the provider of a node, and deposit for it; by default 100 ETH and 300,000 USDC."""
    await served.call("lp_register_account")
    for chain, address in (("Ethereum", EVM_ADDRESS), ("Bitcoin", BTC_ADDRESS)):
        await served.call("lp_register_liquidity_refund_address", chain, address)
    for asset, amount in deposits or ((ETH, 100 * ETHER), (USDC, 300_000 * DOLLAR)):
        opened = await served.call("lp_request_liquidity_deposit_address_v2", asset)
        await served.call("dev_deposit", opened["response"]["deposit_address"], asset, hex(amount))
    return served


async def free(served: Served, asset: dict[str, str]) -> int:
    """Return the provider's free balance of an asset at the best block."""
    assert served.node.provider is not None
    account = ss58.encode(served.node.provider.account, 2112)
    balances = await served.call("cf_free_balances", account)
    return int(balances[asset["chain"]][asset["asset"]], 16)


async def best(served: Served) -> str:
    """Return the hash of the best block."""
    block_hash: str = await served.call("chain_getBlockHash")
    return block_hash


NOW = "InBlock"


async def tick_of(served: Served) -> int:
    """Return the tick at which Ether trades."""
    tick: int = (await served.call("cf_pool_price", ETH, USDC))["tick"]
    return tick


def response(result: Any) -> Any:
    """Return the response of a call that was waited for."""
    assert list(result) == ["tx_details"], result
    assert list(result["tx_details"]) == ["tx_hash", "response"]
    return result["tx_details"]["response"]


async def open_orders(served: Served, at: str | None = None) -> Any:
    """Return the provider's orders in the Ether pool, by default at the best block."""
    assert served.node.provider is not None
    account = ss58.encode(served.node.provider.account, 2112)
    return await served.call("cf_pool_orders", ETH, USDC, account, False, at)


BOTH = [ETH, USDC]

ONE = {"Liquidity": {"liquidity": "0x1"}}


class Provider:
    """Alice, or another key, that provides liquidity with a signature of its own."""

    def __init__(self, served: Served, key: Keypair = ALICE) -> None:
        self.served, self.key = served, key

    async def submit(self, pallet: str, name: str, **arguments: Any) -> list[tuple[str, str, Any]]:
        """Sign a call and seal it; the events of its block."""
        chain = self.served.node.chain
        runtime = await chain.runtime_at(chain.best.hash)
        value = (pallet, (name, arguments) if arguments else name)
        extrinsic = sign_extrinsic(
            runtime.metadata,
            runtime.metadata.call_codec.encode(value),
            self.key,
            nonce=await self.served.node.pool.ready_nonce(self.key.public),
            era=IMMORTAL,
            era_hash=chain.genesis_hash,
            genesis_hash=chain.genesis_hash,
            spec_version=runtime.version.spec_version,
            transaction_version=runtime.version.transaction_version,
        )
        best = chain.best.number
        with chain.subscribe() as blocks:
            await self.served.call("author_submitExtrinsic", f"0x{extrinsic.hex()}")
            while chain.best.number == best:
                await anext(aiter(blocks))
        said = await events_of(self.served, f"0x{chain.best.hash.hex()}")
        assert "ExtrinsicFailed" not in [event for _, event, _ in said], said
        return said

    async def fund(self, asset: dict[str, str], amount: int) -> None:
        """Deposit an amount through a channel of its own."""
        name = {"ETH": "Eth", "USDC": "Usdc"}[asset["asset"]]
        said = await self.submit(
            "LiquidityProvider", "request_liquidity_deposit_address", asset=name, boost_fee=0
        )
        (ready,) = [fields for _, event, fields in said if event == "LiquidityDepositAddressReady"]
        address = "0x" + ready["deposit_address"][1].hex()
        await self.served.call("dev_deposit", address, asset, hex(amount))

    async def begin(self) -> None:
        """Register the provider, and give it funds."""
        address = ("Eth", bytes.fromhex(EVM_ADDRESS[2:]))
        await self.submit("LiquidityProvider", "register_lp_account")
        await self.submit("LiquidityProvider", "register_liquidity_refund_address", address=address)
        await self.fund(ETH, 100 * ETHER)
        await self.fund(USDC, 300_000 * DOLLAR)

    async def sell(self, tick: int, amount: int) -> None:
        """Set a limit order that sells ether."""
        order = {"base_asset": "Eth", "quote_asset": "Usdc", "side": "Sell", "id": 5, "option_tick": tick}
        await self.submit(
            "LiquidityPools",
            "set_limit_order",
            **order,
            sell_amount=amount,
            dispatch_at=None,
            close_order_at=None,
        )
