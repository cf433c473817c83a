"""The grammar of clap, by which the official node reads arguments, translated to that of click.

The two differ where a wrong reading starts another node than the command line requests:

1. A flag takes none, none or one, one, or one or more values. In clap no value begins with a dash (`-` alone
   is one), so `--db-cache --rpc-methods=safe` is an error. click would take the second flag as the value of
   the first, and start without it.
2. A flag with one or more values takes all words up to the next flag: `--bootnodes A B`.
3. `-d=DIR` is `-d DIR`; click would take `=DIR`.
4. A flag may have hidden further names.
5. Some flags exclude each other, such as `--port` and `--listen-addr`.

`translated` writes each flag as `--name=value`, with its first name, so that click cannot read it otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any

import click

from cfnode.cli.official.flags import Takes

__all__ = ["ClapCommand", "ClapOption", "check_excluding", "translated"]


class ClapOption(click.Option):
    """An option that may have hidden further names, or take none or several values at once."""

    def __init__(
        self,
        *args: Any,
        takes: Takes | None = None,
        aliases: Mapping[str, str] | None = None,
        missing: str = "",
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.takes = takes or (Takes.NOTHING if self.is_flag else Takes.ONE)
        self.aliases = dict(aliases or {})
        """Hidden names, and which name each one stands for."""
        self.missing = missing


class ClapCommand(click.Command):
    """A command that reads its arguments as the official node does.

    `excluding`: groups of flags of which a command line may have one.
    """

    def __init__(self, *args: Any, excluding: Sequence[Sequence[str]] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.excluding = excluding

    def make_parser(self, ctx: click.Context) -> Any:
        """Return the parser of click, which translates the arguments first."""
        parser = super().make_parser(ctx)
        parse = parser.parse_args
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]

        def parse_args(args: list[str]) -> Any:
            words = list(translated(args, options, ctx))
            if not ctx.resilient_parsing:
                check_excluding(words, self.excluding, ctx)
            return parse(words)

        parser.parse_args = parse_args  # type: ignore[method-assign]
        return parser


def translated(
    arguments: Sequence[str], options: Sequence[click.Option], ctx: click.Context
) -> Iterator[str]:
    """Yield the arguments as click reads them. Raise BadOptionUsage for a flag without its value."""
    options_by_name = {name: option for option in options for name in _spellings(option)}
    words = list(arguments)
    while words:
        word = words.pop(0)
        if word == "--":
            yield from (word, *words)
            return
        if word.startswith("--"):
            yield from _long(word, words, options_by_name, ctx)
        elif _is_flag(word):
            yield from _short(word, words, options_by_name, ctx)
        else:
            yield word


def check_excluding(words: Sequence[str], excluding: Sequence[Sequence[str]], ctx: click.Context) -> None:
    """Raise UsageError for translated arguments with two flags of a group.

    Variables and a configuration file do not count: a flag overrides them.
    """
    names = [word.partition("=")[0] for word in takewhile(lambda word: word != "--", words)]
    for group in excluding:
        names_used = list(dict.fromkeys(name for name in names if name in group))
        if len(names_used) > 1:
            raise click.UsageError(
                f"{names_used[1]} cannot be used with {names_used[0]}: give one of them", ctx
            )


def _spellings(option: click.Option) -> tuple[str, ...]:
    return (*option.opts, *option.secondary_opts, *_aliases(option))


def _aliases(option: click.Option) -> dict[str, str]:
    return option.aliases if isinstance(option, ClapOption) else {}


def _takes(option: click.Option) -> Takes:
    if isinstance(option, ClapOption):
        return option.takes
    return Takes.NOTHING if option.is_flag or option.count else Takes.ONE


def _is_flag(word: str) -> bool:
    """Return whether a word is a flag, not a value.

    `-` alone is a value, and a negative number is a wrong one.
    """
    return word.startswith("-") and word != "-" and not word[1].isdigit()


def _long(
    word: str, words: list[str], options_by_name: Mapping[str, click.Option], ctx: click.Context
) -> Iterator[str]:
    """Yield a long flag with its values, which are taken from `words`."""
    name, separator, value = word.partition("=")
    option = options_by_name.get(name)
    if option is None:
        yield word
    elif separator:
        yield f"{_first(name, option)}={value}"
    else:
        yield from _with_values(name, option, words, ctx)


def _short(
    word: str, words: list[str], options_by_name: Mapping[str, click.Option], ctx: click.Context
) -> Iterator[str]:
    """Yield short flags in one word, the last of which may have its value in it."""
    name, remainder = word[:2], word[2:]
    option = options_by_name.get(name)
    if option is None:
        yield word
    elif _takes(option) is Takes.NOTHING:
        yield name
        if remainder:
            yield from _short(f"-{remainder}", words, options_by_name, ctx)
    elif remainder:
        yield f"{_first(name, option)}={remainder.removeprefix('=')}"
    else:
        yield from _with_values(name, option, words, ctx)


def _with_values(name: str, option: click.Option, words: list[str], ctx: click.Context) -> Iterator[str]:
    """Yield a flag whose values are the next words."""
    takes, first = _takes(option), _first(name, option)
    if takes is Takes.NOTHING:
        yield first
        return
    values: list[str] = []
    while words and not _is_flag(words[0]) and (takes is Takes.SEVERAL or not values):
        values.append(words.pop(0))
    if not values and takes is not Takes.OPTIONAL:
        if ctx.resilient_parsing:  # a shell completes the value
            yield name
            return
        raise click.BadOptionUsage(name, f"Option '{name}' requires an argument.", ctx)
    missing = option.missing if isinstance(option, ClapOption) else ""
    yield from (f"{first}={value}" for value in values or [missing])


def _first(name: str, option: click.Option) -> str:
    """Return the first long name of an option; of a switch the given one, since it may have two sides."""
    if _takes(option) is Takes.NOTHING:
        return _aliases(option).get(name, name)
    return next((spelling for spelling in option.opts if spelling.startswith("--")), option.opts[0])
