"""The catalog of a release's types.

It has the types of all releases (`COMMON`), and those that functions marked `by_release` declare for it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from cfnode.devchain.runtime.release import Release
from cfnode.devchain.runtime.values import FORMS

from .types import COMMON, Catalog

__all__ = ["by_release", "catalog_of"]

Declarer = Callable[[Catalog, Release], None]
_DECLARERS: list[Declarer] = []
_MAX_CATALOGS = 16
"""Catalogs in the cache; a process has a few releases, a test of upgrades a few more."""


def by_release(declare: Declarer) -> Declarer:
    """Mark a function that declares the types of a release into its catalog."""
    _DECLARERS.append(declare)
    return declare


@lru_cache(_MAX_CATALOGS)
def catalog_of(release: Release) -> Catalog:
    """Return the types of a release. The modules that declare them have to be imported before."""
    catalog = Catalog(COMMON, FORMS)
    for declare in _DECLARERS:
        declare(catalog, release)
    return catalog
