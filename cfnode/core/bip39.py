"""Seed phrases (BIP-39): their entropy, and the Substrate and Ethereum seeds derived from them.

BIP-39 encodes 16 to 32 bytes of entropy as 12 to 24 English words with a checksum. Two kinds of seed are
derived from it: Substrate stretches the *entropy* (PBKDF2, 2,048 rounds, salt `mnemonic` ‖ password) and
keeps the first 32 bytes of the result, the seed of its key pairs; Ethereum wallets stretch the *words* the
same way and keep all 64 bytes. No error here repeats a word of a phrase.
"""

from __future__ import annotations

from functools import cache
from hashlib import pbkdf2_hmac

from mnemonic import Mnemonic

__all__ = ["ENTROPY_LENGTHS", "PhraseError", "entropy_of", "phrase_of", "substrate_seed", "wallet_seed"]

ENTROPY_LENGTHS = {12: 16, 15: 20, 18: 24, 21: 28, 24: 32}
"""Number of words → bytes of entropy."""
ROUNDS = 2048


class PhraseError(ValueError):
    """The words are not a BIP-39 phrase; the text names the fault without repeating the words."""


@cache
def _english() -> Mnemonic:
    return Mnemonic("english")


@cache
def _word_set() -> frozenset[str]:
    return frozenset(_english().wordlist)


def entropy_of(phrase: str) -> bytes:
    """Return the entropy of a phrase, whose words any white space separates; raise PhraseError."""
    words = phrase.split()
    if len(words) not in ENTROPY_LENGTHS:
        fault = f"a seed phrase has 12, 15, 18, 21 or 24 words; this one has {len(words)}"
        raise PhraseError(f"{fault}: give all of them")
    for position, word in enumerate(words, start=1):
        if word not in _word_set():
            raise PhraseError(f"word {position} of the seed phrase is not in the English BIP-39 list")
    try:
        return bytes(_english().to_entropy(words))
    except ValueError:
        raise PhraseError(
            "the seed phrase fails its checksum: a word is wrong, or two are interchanged"
        ) from None


def phrase_of(entropy: bytes) -> str:
    """Return the phrase for 16, 20, 24, 28 or 32 bytes of entropy; raise PhraseError."""
    if len(entropy) not in ENTROPY_LENGTHS.values():
        raise PhraseError(f"a seed phrase stands for 16, 20, 24, 28 or 32 bytes, not {len(entropy)}")
    return str(_english().to_mnemonic(entropy))


def substrate_seed(phrase: str, password: str = "") -> bytes:
    """Return the 32-byte seed that Substrate derives from a phrase, for every signature scheme.

    Raises PhraseError.
    """
    salt = b"mnemonic" + password.encode()
    return pbkdf2_hmac("sha512", entropy_of(phrase), salt, ROUNDS)[:32]


def wallet_seed(phrase: str) -> bytes:
    """Return the 64-byte BIP-39 seed of a phrase, with no passphrase; raise PhraseError."""
    entropy_of(phrase)
    return pbkdf2_hmac("sha512", " ".join(phrase.split()).encode(), b"mnemonic", ROUNDS)
