"""Generate docs/reference from the code, or (--check) report pages that differ from the code."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Callable, Iterator, Mapping
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from cfnode.cli.official.flags import Flag
    from cfnode.sdk.errors import SdkError

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "reference"
sys.path.insert(0, str(ROOT))

from cfnode.cli.official.flags import Treatment  # noqa: E402
from scripts.cli_page import anchor_of, cli_page  # noqa: E402
from scripts.raised_codes import raised_codes  # noqa: E402
from scripts.sdk_pages import PAGES as SDK_PAGES  # noqa: E402
from scripts.sdk_pages import unclear  # noqa: E402


def official_flags_page() -> str:
    """Return the page of the official node's flags, and what `cfnode run` does with each."""
    from cfnode.cli.official.flags import EXCLUDING, FLAGS, Treatment
    from cfnode.cli.official.subcommands import SUBCOMMANDS
    from cfnode.cli.run import run
    from cfnode.cli.settings.names import options_of

    options = [option for option in options_of(run) if not option.hidden]
    own = {spelling: anchor_of(("run",), option) for option in options for spelling in option.opts}
    parts = [f"# Flags of the official node\n\n{OFFICIAL_FLAGS_HEAD}\n"]
    for treatment, title in OFFICIAL_FLAGS_SECTIONS.items():
        rows = "\n".join(_official_flag(flag, own) for flag in FLAGS if flag.treatment is treatment)
        head = "| flag | other names | values | default | note |\n|---|---|---|---|---|"
        parts.append(f"## {title}\n\n{head}\n{rows}\n")
    assert list(OFFICIAL_FLAGS_SECTIONS) == list(Treatment)
    groups = "\n".join(f"- {' and '.join(f'`{name}`' for name in group)}" for group in EXCLUDING)
    parts.append(f"## Flags that exclude each other on a command line\n\n{groups}\n")
    rows = "\n".join(f"| `{subcommand.name}` | {subcommand.here} |" for subcommand in SUBCOMMANDS)
    parts.append(f"## Subcommands\n\n| official | here |\n|---|---|\n{rows}\n")
    parts.append(_flags_of_subcommands())
    return "\n".join(parts)


def _flags_of_subcommands() -> str:
    """Return the section of the flags that subcommands have, each with its subcommands."""
    from cfnode.cli.official.subcommands import SUBCOMMANDS

    names: dict[Flag, list[str]] = {}
    for subcommand in SUBCOMMANDS:
        for flag in subcommand.flags:
            names.setdefault(flag, []).append(f"`{subcommand.name}`")
    rows = "\n".join(
        f"| {_names_and_values(flag, {})} | {_default(flag)} | {', '.join(subcommands)} |"
        for flag, subcommands in names.items()
    )
    head = "| flag | other names | values | default | subcommands |\n|---|---|---|---|---|"
    return f"## Flags of subcommands\n\n{FLAGS_OF_SUBCOMMANDS}\n\n{head}\n{rows}\n"


def _official_flag(flag: Flag, own: Mapping[str, str]) -> str:
    """Return the row of a flag, with a link to the entry of a flag of `cfnode run` by that name."""
    return f"| {_names_and_values(flag, own)} | {_default(flag)} | {flag.note} |"


def _default(flag: Flag) -> str:
    return f"`{flag.default}`" if flag.default else ""


def _names_and_values(flag: Flag, own: Mapping[str, str]) -> str:
    """Return the first three cells of a flag's row."""
    name = f"[`{flag.name}`](cli.md#{own[flag.name]})" if flag.name in own else f"`{flag.name}`"
    other_names = ", ".join(f"`{name}`" for name in (flag.short, *flag.aliases) if name)
    words = ", ".join(f"`{value}`" for value in flag.values)
    case = " in any case" if flag.in_any_case else ""
    return f"{name} | {other_names} | {flag.takes.value}{f': {words}' if words else ''}{case}"


def settings_page() -> str:
    """Return the page of every flag with its variables and its key in a configuration file."""
    from cfnode.cli import cli
    from cfnode.cli.settings.names import commands_below, key_of, options_of, variables_of

    parts = [f"# Variables and keys\n\nGenerated from the flags. {SETTINGS_HEAD}\n"]
    with click.Context(cli, info_name="cfnode") as ctx:
        for path, command in commands_below(cli, ctx):
            options = [option for option in options_of(command) if not option.hidden]
            rows = [
                f"| [`{key_of(option)}`](cli.md#{anchor_of(path, option)}) "
                f"| {', '.join(f'`{name}`' for name in variables_of(path, option))} |"
                for option in options
            ]
            parts.append(
                f"## [{'.'.join(path)}]\n\n| key | variables |\n|---|---|\n" + "\n".join(rows) + "\n"
            )
    return "\n".join(parts)


def rpc_page() -> str:
    """Return the page of every JSON-RPC method with its parameters."""
    from cfnode.devchain.methods.rows import SECTION
    from cfnode.rpc.reference import page

    return page(SECTION)


def exit_codes_page() -> str:
    """Return the page of exit codes."""
    from cfnode.cli.exits import MEANINGS, ExitCode

    rows = "\n".join(f"| {int(code)} | `{code.name}` | {MEANINGS.get(code, '')} |" for code in ExitCode)
    head = (
        "# Exit codes\n\nGenerated from the code; every command ends with one of these. With `--json` an "
        "error's `code` is the name, or that of [an error of the SDK](errors.md#errors-of-the-sdk).\n"
    )
    return f"{head}\n| code | name | meaning |\n|---|---|---|\n{rows}\n"


def errors_page() -> str:
    """Return the page of JSON-RPC error codes, and of each error of the SDK and the partners' API."""
    from cfnode.rpc.error_codes import SECTIONS

    parts = [
        "# Error codes\n\nGenerated from the code. First those of JSON-RPC, which are the codes of "
        "`chainflip-node` and Substrate; then [those of the SDK](#errors-of-the-sdk) and "
        "[those of the partners' API](#errors-of-the-partners-api).\n"
    ]
    for title, text, codes in SECTIONS:
        rows = "\n".join(f"| {code} | {meaning.when} | {meaning.action} |" for code, meaning in codes.items())
        parts.append(f"## {title}\n\n{text}\n\n| code | meaning | what to do |\n|---|---|---|\n{rows}\n")
    return "\n".join([*parts, *sdk_errors(), *partner_errors()])


def partner_errors() -> Iterator[str]:
    """Yield a table of the codes that a partner's program gets."""
    from cfnode.swap_service.live_network.partner_api.problems import CODES

    yield (
        "## Errors of the partners' API\n\nThe code is `error.code` in the body of an answer of "
        "[the partners' API](../guide/partners.md).\n\n"
        "| code | status | meaning | what to do |\n|---|---|---|---|"
    )
    for name, code in CODES.items():
        yield f"| `{name}` | {code.status} | {code.when} | {code.action} |"
    yield ""


def sdk_errors() -> Iterator[str]:
    """Yield a table of the SDK's errors: a subclass without a code of its own has that of its parent."""
    from cfnode.cli.sdk_errors import exit_code_of

    yield (
        "## Errors of the SDK\n\nEach is a subclass of `SdkError` with a `code` that never changes. Commands "
        "end with the exit code, and print the code with `--json`, also those that ask a node without "
        "the SDK.\n\n"
        "| code | class | meaning | exit code |\n|---|---|---|---|"
    )
    for error in error_classes():
        code = int(exit_code_of(error))
        yield f"| `{error.code}` | `{error.__name__}` | {first_paragraph(error)} | {code} |"
    yield ""


def error_classes() -> list[type[SdkError]]:
    """Return all classes of the SDK's errors, each after its parent.

    Imports before this change no order.
    """
    import cfnode.sdk
    from cfnode.sdk.errors import SdkError

    for module in pkgutil.walk_packages(cfnode.sdk.__path__, "cfnode.sdk."):
        importlib.import_module(module.name)

    def below(error: type[SdkError]) -> Iterator[type[SdkError]]:
        for subclass in sorted(error.__subclasses__(), key=attrgetter("__module__")):
            yield subclass
            yield from below(subclass)

    return list(below(SdkError))


def first_paragraph(documented: type) -> str:
    """Return the first paragraph of a class's own docstring on one line, "" without one."""
    text = vars(documented).get("__doc__") or ""
    return " ".join(text.partition("\n\n")[0].split())


SETTINGS_HEAD = (
    "A section of the configuration file has the name of a command, a key that of a flag\n"
    "(without `--`). Of several variables the first one that is set counts. How both are read:\n"
    "[operating a node](../guide/operating.md#configuration)."
)


def metrics_page() -> str:
    """Return the page of every metric with its type, labels, unit and help, as declared.

    The node exports no others.
    """
    from cfnode.node.metrics.declared import LEFT_OUT, SECTIONS

    parts = [
        "# Metrics\n\nGenerated from the code. At `/metrics` on port 9615 (`--prometheus-port`) "
        "in Prometheus' text format. Every metric has the label `chain`, the id of "
        "the chain specification, except those of the process. A histogram `name` has the series "
        "`name_bucket`, `name_sum` and `name_count`.\n"
    ]
    for section in SECTIONS:
        rows = "\n".join(
            f"| `{metric.name}` | {metric.kind} | {', '.join(f'`{label}`' for label in metric.labels)} "
            f"| {metric.unit} | {metric.text} |"
            for metric in section.metrics
        )
        head = "| name | type | labels | unit | meaning |\n|---|---|---|---|---|"
        parts.append(f"## {section.title}\n\n{section.condition}\n\n{head}\n{rows}\n")
    rows = "\n".join(
        f"| {', '.join(f'`{name}`' for name in names)} | {reason} |" for names, reason in LEFT_OUT
    )
    head = "| names | why this node has no such value |\n|---|---|"
    parts.append(f"## Substrate's metrics that are absent\n\n{head}\n{rows}\n")
    return "\n".join(parts)


OFFICIAL_FLAGS_HEAD = """\
Generated from `cfnode/cli/official/`. The official node is Chainflip's build of Substrate stable2509
(sc-cli 0.55). Flags are read as it reads them: `--flag value` and `--flag=value`, `-d DIR`, `-dDIR` and
`-d=DIR`; no value begins with a dash; a flag with one or more values takes all words up to the next flag.
The default is the official one. Flags that only cfnode has are in [the command line](cli.md), variables and
keys in [settings](settings.md). The official node has no variables but `RUST_LOG`, which `cfnode run` reads,
too."""
OFFICIAL_FLAGS_SECTIONS = {
    Treatment.SAME: "The same effect",
    Treatment.IGNORED: "Accepted without effect, and named in one warning",
    Treatment.DEVELOPMENT: "Accepted with `--dev`, else refused",
    Treatment.REFUSED: "Refused with the reason",
}
FLAGS_OF_SUBCOMMANDS = """\
Read by the same grammar. One without meaning for the command is accepted, and named in one line. `--dev` of
`build-spec` is refused. The last five subcommands above end with their sentence, whatever their flags."""

WRITERS: dict[str, Callable[[], str]] = {
    "cli.md": cli_page,
    "settings.md": settings_page,
    "official-flags.md": official_flags_page,
    "rpc.md": rpc_page,
    "exit-codes.md": exit_codes_page,
    "errors.md": errors_page,
    "metrics.md": metrics_page,
    **{name: page.text for name, page in SDK_PAGES.items()},
}


def undocumented() -> Iterator[str]:
    """Yield a line for each undocumented part, and for each documented error that no code raises.

    Parts are commands, flags, methods, metrics, exit codes, errors and the public names of the SDK.
    """
    from cfnode.cli import cli
    from cfnode.cli.exits import MEANINGS, ExitCode
    from cfnode.devchain.methods.rows import SECTION
    from cfnode.node.metrics.declared import SECTIONS
    from cfnode.rpc.error_codes import documented
    from cfnode.rpc.reference import full_table

    yield from _without_help(cli, "cfnode")
    yield from (f"{row.name}: the method has no text" for row in full_table(SECTION).rows if not row.doc)
    metrics = (metric for section in SECTIONS for metric in section.metrics)
    yield from (f"{metric.name}: the metric has no text" for metric in metrics if not metric.text)
    yield from (f"exit code {int(code)}: not in MEANINGS" for code in ExitCode if code not in MEANINGS)
    public = {name.name for page in SDK_PAGES.values() for name in page.names()}
    yield from (
        f"{error.__module__}.{error.__name__}: the error is in no __all__ of a package of the SDK"
        for error in error_classes()
        if error.__name__ not in public
    )
    yield from unclear(SDK_PAGES)
    raised, documented_codes = raised_codes(), documented()
    for code in sorted(raised.keys() - documented_codes.keys()):
        yield f"error {code} of {raised[code]}: not in cfnode/rpc/error_codes.py"
    yield from (
        f"error {code}: documented, and never raised"
        for code in sorted(documented_codes.keys() - raised.keys())
    )


def _without_help(command: click.Command, path: str) -> Iterator[str]:
    """Yield a line for each visible command and flag without a text."""
    if not command.help:
        yield f"{path}: the command has no help"
    for parameter in command.params:
        if isinstance(parameter, click.Option) and not parameter.hidden and not parameter.help:
            yield f"{path} {parameter.opts[0]}: the flag has no help"
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from _without_help(below, f"{path} {name}")


def main(check: bool) -> int:
    """Write all pages; with `check`, only compare. Return the exit code."""
    stale = []
    for name, write in WRITERS.items():
        page = PAGES / name
        text = write()
        if check and (not page.exists() or page.read_text() != text):
            stale.append(name)
        elif not check:
            page.write_text(text)
    if stale:
        print(f"docs/reference: {', '.join(stale)} differ from the code; run python scripts/reference.py")
    missing = list(undocumented()) if check else []
    print("\n".join(missing), end="\n" * bool(missing))
    return 1 if stale or missing else 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
