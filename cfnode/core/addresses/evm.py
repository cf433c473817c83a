"""Addresses of Chainflip's deposit contracts on EVM chains (Ethereum, Arbitrum, BSC, Tron).

The vault contract deploys one `Deposit` contract for each channel with CREATE2 (EIP-1014), so the address is
known before the deployment: keccak256(0xff ‖ deployer ‖ salt ‖ init code hash)[12:], with the channel id as
salt. Tron has 0x41 where Ethereum has 0xff, and its compiler generates other code.

The init code is the contract's creation code with the token address as constructor argument; the formula
needs only its hash for each token, so the code itself is not here.
"""

from __future__ import annotations

from cfnode.core.assets import ASSETS, CHAINS, AddressForm
from cfnode.core.hashing import keccak_256

__all__ = ["INIT_CODE_HASHES", "deposit_address"]

_COIN_CODE: dict[AddressForm, str] = {
    "evm": "e90bf83533981276d50deaebb5f14dd57d3ab72c3a030e66b023bce46f259f4c",
    "tron": "3bebaa7675806f89c19a62be68890c1efc28db04452edebe6d2e47a41274f434",
}
_TOKEN_CODE: dict[str, str] = {
    "Flip": "5bb0b25f5702f19924e60a65cdd34efa7ec0f85a469a70fe587873e198f24a40",
    "Usdc": "5a34f22940ed950cd6e4e970ad9cec1b2951a060ef42d58282ac996a9e20fc75",
    "Usdt": "cf6197f4e8a9a20cf43210f968d82bfb622265edfc7990b5fc340a57416d5c8a",
    "Wbtc": "eac2f146b16e34b05345f2eff8100efda97759c25160365269a848d12c4b6647",
    "ArbUsdc": "2f30284886514030c4f1ce01820717261baea6b3fddc48be7b0f67bb5a4296cf",
    "ArbUsdt": "63c74d8b335ef4818bf2ba4e554c5ed1cd4ef04029dfd30c3444efd5b060e587",
    "Cbbtc": "ccfd6bad1b070e3fe2d227dd5738c2a4228ed82bd192c5f9d1e86b904218c03d",
    "BscUsdt": "e955f79f20b01ae33de54b8657f8af4b1b67235c9d94a4c7195557cc67bd4017",
    "TrxUsdt": "dd94910e53d341aa832a54188ec00b55b04d28a4fc0f613a67a80d43a7793077",
}
INIT_CODE_HASHES: dict[str, bytes] = {
    name: bytes.fromhex(_TOKEN_CODE.get(name) or _COIN_CODE[CHAINS[asset.chain].form])
    for name, asset in ASSETS.items()
    if name in _TOKEN_CODE or (asset.chain_index == 0 and CHAINS[asset.chain].form in _COIN_CODE)
}
"""Hashes by the asset for which the channel was generated; tokens at their main-net addresses."""
_PREFIXES: dict[AddressForm, bytes] = {"evm": b"\xff", "tron": b"\x41"}


def deposit_address(chain: str, vault: bytes, channel_id: int, init_code_hash: bytes) -> bytes:
    """Return the 20-byte address of the deposit contract that `vault` (20 bytes) deploys for a channel."""
    salt = channel_id.to_bytes(32, "big")
    return keccak_256(_PREFIXES[CHAINS[chain].form] + vault + salt + init_code_hash)[12:]
