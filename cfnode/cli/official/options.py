"""Options of click for flags of the official node."""

from __future__ import annotations

from typing import Any

import click

from cfnode.cli.official.flags import Flag, Takes, Treatment
from cfnode.cli.values import OneOf

__all__ = ["as_in"]


def as_in(
    flag: Flag, names: tuple[str, ...], attributes: dict[str, Any]
) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Return names and attributes of the option for an official flag; given attributes take precedence."""
    from_flag: dict[str, Any] = {"takes": flag.takes, "missing": flag.missing}
    from_flag["aliases"] = dict.fromkeys(flag.aliases, flag.name)
    if flag.takes is Takes.NOTHING and "/" not in names[0]:
        from_flag["is_flag"] = True
    if flag.takes is Takes.SEVERAL or flag.is_repeated:
        from_flag["multiple"] = True
    if flag.values and flag.treatment is Treatment.SAME:
        from_flag["type"] = OneOf(flag.values) if flag.in_any_case else click.Choice(flag.values)
    short = (flag.short,) if flag.short else ()
    from_flag["aliases"] |= attributes.pop("aliases", {})
    return (names[0], *short, *names[1:]), from_flag | attributes
