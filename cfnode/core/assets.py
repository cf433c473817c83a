"""Assets and chains that Chainflip swaps, with their consensus numbers.

The numbers are consensus: every extrinsic and event encodes an asset as the index given here
(`cf_primitives::chains::assets::any::Asset`, `ForeignChain`). Names are the SCALE variant names, so a decoded
value (`"ArbUsdc"`, `"Arbitrum"`) is a key of these tables.

People write an asset in one of three forms, in any case: its name (`ArbUsdc`), chain and symbol in one text
(`Arbitrum/USDC`, also with `.` or `:`), or both apart (`{"chain": "Arbitrum", "asset": "USDC"}`). `asset_of`
reads all of them, for SDK, test kit, commands and `dev_*` methods. Texts for people, such as the commands',
have the form of `asset_text`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from cfnode.core.suggestions import closest, did_you_mean, or_sentence

__all__ = [
    "ASSETS",
    "CHAINS",
    "AddressForm",
    "AnyAsset",
    "ForeignAsset",
    "ForeignChain",
    "UnknownAsset",
    "UnknownChain",
    "UnknownName",
    "asset_by_symbol",
    "asset_in_text",
    "asset_of",
    "asset_on",
    "asset_text",
    "asset_texts",
    "assets_of",
    "assets_since",
    "chain_in_text",
    "chains_of",
    "chains_since",
    "gas_asset",
    "symbols_of",
    "text_of",
    "units",
    "vault_swap_chains",
    "whole_text",
]


class UnknownName(ValueError):
    """An unknown name of a chain or an asset; the message suggests similar ones, or lists all.

    `name` is the unknown name, `kind` what it should name, `known` has the valid ones.
    """

    def __init__(
        self, kind: str, name: str, known: Sequence[str], *, similar: Iterable[str] | None = None
    ) -> None:
        """Take the names to list, and those to suggest: by default the listed ones that are similar."""
        suggestion = did_you_mean(name, known) if similar is None else or_sentence(similar)
        hint = suggestion or f" Choose from {', '.join(known)}."
        super().__init__(f"Unknown {kind} {name[:MAX_QUOTED_ASSET]!r}.{hint}")
        self.kind, self.name, self.known = kind, name, tuple(known)


class UnknownAsset(UnknownName):
    """An unknown name of an asset, of all or of one chain."""


class UnknownChain(UnknownName):
    """An unknown name of a chain."""


AddressForm: TypeAlias = Literal["evm", "tron", "bitcoin", "solana", "substrate"]
"""How the addresses of a chain look. Accounts of Tron are those of an EVM chain, with a text of their own."""


@dataclass(frozen=True, slots=True)
class ForeignChain:
    """A foreign chain: its `ForeignChain` discriminant and its variant of `EncodedAddress`.

    A deposit counts once `safety_margin` blocks have followed its own, or at once if that is None. A block
    takes `nominal_ms` for the State Chain's genesis, and `usual_ms` today. `ccm`: cross-chain messages can be
    sent there. `since`: the first release that knows the chain.
    """

    name: str
    index: int
    address: str
    address_index: int
    form: AddressForm
    safety_margin: int | None
    nominal_ms: int
    usual_ms: int
    ccm: bool
    since: str = "2.2"

    @property
    def account_bytes(self) -> int | None:
        """Bytes of an account; None on Bitcoin, where they differ by the kind of script."""
        return {"evm": 20, "tron": 20, "bitcoin": None, "solana": 32, "substrate": 32}[self.form]


@dataclass(frozen=True, slots=True)
class ForeignAsset:
    """One asset: `index` in the enum of all assets, `chain_index` in the enum of its own chain.

    `decimals` is the number of digits of the smallest unit; `since` the first release that knows the asset.
    """

    name: str
    index: int
    chain: str
    chain_index: int
    symbol: str
    decimals: int
    since: str = "2.2"


_CHAINS = (
    ForeignChain("Ethereum", 1, "Eth", 0, "evm", 2, 14_000, 12_000, ccm=True),
    ForeignChain("Polkadot", 2, "Dot", 1, "substrate", None, 6_000, 6_000, ccm=False),
    ForeignChain("Bitcoin", 3, "Btc", 2, "bitcoin", 2, 600_000, 600_000, ccm=False),
    ForeignChain("Arbitrum", 4, "Arb", 3, "evm", 1, 250, 260, ccm=True),
    ForeignChain("Solana", 5, "Sol", 4, "solana", 1, 400, 800, ccm=True),
    ForeignChain("Assethub", 6, "Hub", 5, "substrate", None, 12_000, 3_000, ccm=True),
    ForeignChain("Tron", 7, "Tron", 6, "tron", 19, 3_000, 3_000, ccm=True),
    ForeignChain("Bsc", 8, "Bsc", 7, "evm", None, 450, 450, ccm=True, since="2.3"),
)

# In discriminant order; 21 came after the assets of a later chain.
_ASSETS = (
    ForeignAsset("Eth", 1, "Ethereum", 0, "ETH", 18),
    ForeignAsset("Flip", 2, "Ethereum", 1, "FLIP", 18),
    ForeignAsset("Usdc", 3, "Ethereum", 2, "USDC", 6),
    ForeignAsset("Dot", 4, "Polkadot", 0, "DOT", 10),
    ForeignAsset("Btc", 5, "Bitcoin", 0, "BTC", 8),
    ForeignAsset("ArbEth", 6, "Arbitrum", 0, "ETH", 18),
    ForeignAsset("ArbUsdc", 7, "Arbitrum", 1, "USDC", 6),
    ForeignAsset("Usdt", 8, "Ethereum", 3, "USDT", 6),
    ForeignAsset("Sol", 9, "Solana", 0, "SOL", 9),
    ForeignAsset("SolUsdc", 10, "Solana", 1, "USDC", 6),
    ForeignAsset("HubDot", 11, "Assethub", 0, "DOT", 10),
    ForeignAsset("HubUsdt", 12, "Assethub", 1, "USDT", 6),
    ForeignAsset("HubUsdc", 13, "Assethub", 2, "USDC", 6),
    ForeignAsset("Wbtc", 14, "Ethereum", 4, "WBTC", 8),
    ForeignAsset("ArbUsdt", 15, "Arbitrum", 2, "USDT", 6),
    ForeignAsset("SolUsdt", 16, "Solana", 2, "USDT", 6),
    ForeignAsset("Trx", 17, "Tron", 0, "TRX", 6),
    ForeignAsset("TrxUsdt", 18, "Tron", 1, "USDT", 6),
    ForeignAsset("Bnb", 19, "Bsc", 0, "BNB", 18, since="2.3"),
    ForeignAsset("BscUsdt", 20, "Bsc", 1, "USDT", 18, since="2.3"),
    ForeignAsset("Cbbtc", 21, "Ethereum", 5, "CBBTC", 8, since="2.3"),
)

CHAINS: dict[str, ForeignChain] = {chain.name: chain for chain in _CHAINS}
ASSETS: dict[str, ForeignAsset] = {asset.name: asset for asset in _ASSETS}
_BY_SYMBOL = {(asset.chain, asset.symbol): asset for asset in _ASSETS}
_BY_TEXT = {
    text.lower(): asset for asset in _ASSETS for text in (f"{asset.chain}/{asset.symbol}", asset.name)
}
_CHAIN_BY_TEXT = {chain.name.lower(): chain for chain in _CHAINS}
_PAIRS = [f"{asset.chain}/{asset.symbol}" for asset in _ASSETS]
_SEPARATOR: Final = re.compile("[.:]")
MAX_QUOTED_ASSET = 40
"""Letters of an unknown name that its error repeats."""
AnyAsset: TypeAlias = str | Mapping[str, str] | ForeignAsset
"""An asset in any of its forms: `"BTC"`, `"Arbitrum/USDC"`, `{"chain": "Bitcoin", "asset": "BTC"}`."""


def assets_of(chain: str) -> tuple[ForeignAsset, ...]:
    """Return the assets of one chain, in the order of the chain's own enum; the first is its gas asset."""
    return tuple(sorted((a for a in _ASSETS if a.chain == chain), key=lambda a: a.chain_index))


def gas_asset(chain: str) -> ForeignAsset:
    """Return the asset in which the chain takes its transaction fees."""
    return assets_of(chain)[0]


def asset_by_symbol(chain: str, symbol: str) -> ForeignAsset:
    """Return the asset that clients write as chain and symbol (`"Arbitrum"`, `"USDC"`); raise KeyError."""
    return _BY_SYMBOL[chain, symbol]


def chain_in_text(text: str) -> ForeignChain:
    """Return the chain that a person writes, in any case. Raises UnknownChain."""
    chain = _CHAIN_BY_TEXT.get(text.strip().lower())
    if chain is None:
        raise UnknownChain("chain", text, tuple(CHAINS))
    return chain


def asset_in_text(text: str) -> ForeignAsset:
    """Return the asset that a person writes, in any case: `Btc`, `ArbUsdc`, `Bitcoin/BTC`, `arbitrum.usdc`.

    `DOT` alone is Polkadot's, as in the official node's RPC; Assethub's is `Assethub/DOT`. Raises
    UnknownAsset.
    """
    asset = _BY_TEXT.get(_SEPARATOR.sub("/", text.strip().lower(), count=1))
    if asset is None:
        similar = closest(text, (*ASSETS, *_PAIRS))
        raise UnknownAsset("asset", text, _TEXTS, similar=dict.fromkeys(text_of(name) for name in similar))
    return asset


def asset_text(asset: ForeignAsset) -> str:
    """Return the asset as texts for people have it: `BTC`, `Arbitrum/USDC`.

    It is the symbol, with the chain if `asset_in_text` reads the symbol alone as another chain's asset.
    """
    return asset.symbol if asset.name.upper() == asset.symbol else f"{asset.chain}/{asset.symbol}"


_TEXTS: Final = tuple(asset_text(asset) for asset in _ASSETS)


def text_of(form: str) -> str:
    """Return the asset of a name as `asset_text` writes it; an unknown name stays as it is."""
    asset = _BY_TEXT.get(form.lower())
    return form if asset is None else asset_text(asset)


def asset_on(chain: str, symbol: str) -> ForeignAsset:
    """Return the asset of a chain that a person names by symbol or name, in any case.

    Raises UnknownChain, or UnknownAsset for a name of another chain's asset.
    """
    place, text = chain_in_text(chain).name, symbol.strip()
    asset = _BY_SYMBOL.get((place, text.upper())) or _BY_TEXT.get(text.lower())
    if asset is None or asset.chain != place:
        raise UnknownAsset(f"asset of {place}", symbol, symbols_of(place))
    return asset


def asset_of(asset: AnyAsset) -> ForeignAsset:
    """Return the asset of any of its forms. Raises UnknownAsset or UnknownChain."""
    match asset:
        case ForeignAsset():
            return asset
        case str():
            return asset_in_text(asset)
        case {"chain": str(chain), "asset": str(symbol)}:
            return asset_on(chain, symbol)
    raise UnknownAsset("asset", str(asset), _TEXTS)


def asset_texts(beginning: str) -> Iterator[str]:
    """Yield the texts of assets that begin so, in any case: names, then chain and symbol in one text.

    The separator is that of the beginning, else `/`. For an empty beginning: the names alone.
    """
    match = _SEPARATOR.search(beginning)
    separator = match[0] if match else "/"
    names = [asset.name for asset in _ASSETS]
    pairs = [f"{asset.chain}{separator}{asset.symbol}" for asset in _ASSETS] if beginning else []
    return (text for text in (*names, *pairs) if text.lower().startswith(beginning.lower()))


def symbols_of(chain: str | None) -> list[str]:
    """Return the symbols of a chain's assets, or (None) of all assets, in order of their letters."""
    return sorted({asset.symbol for asset in _ASSETS if chain in (None, asset.chain)})


def chains_of(*forms: AddressForm) -> tuple[str, ...]:
    """Return the chains whose addresses have one of these forms, in the order of their discriminants."""
    return tuple(chain.name for chain in _CHAINS if chain.form in forms)


def vault_swap_chains() -> tuple[str, ...]:
    """Return the chains whose vaults take swaps, in the order of the types that list them: Bitcoin first."""
    return (*chains_of("bitcoin"), *chains_of("evm", "tron", "solana"))


def chains_since(release: str) -> Iterator[str]:
    """Yield the chains that a release (`"2.2"`, `"2.3"`) knows, in discriminant order."""
    number = _release(release)
    return (chain.name for chain in _CHAINS if _release(chain.since) <= number)


def assets_since(release: str) -> Iterator[ForeignAsset]:
    """Yield the assets that a release (`"2.2"`, `"2.3"`) knows, in discriminant order."""
    number = _release(release)
    return (asset for asset in _ASSETS if _release(asset.since) <= number)


def units(amount: int, decimals: int) -> str:
    """Return an amount of base units as text in whole units, without trailing zeros."""
    whole, remainder = divmod(amount, 10**decimals)
    return f"{whole}.{remainder:0{decimals}d}".rstrip("0").rstrip(".") if decimals else str(whole)


def whole_text(amount: int, asset: ForeignAsset) -> str:
    """Return an amount of base units as text in whole units, with the asset: `0.1 BTC`."""
    return f"{units(amount, asset.decimals)} {asset_text(asset)}"


def _release(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))
