"""Frozen dataclasses of all of the chain's values, and the forms of their declared types.

There is a dataclass for each struct, and for each variant with fields of an enum, whose name is the union of
them. `FORMS` has the Python form of each declaration; each module has the forms of its own classes. Written
by scripts/chain_values.py: change the declarations instead.
"""

from __future__ import annotations

from collections.abc import Mapping

from cfnode.core.scale import PythonForm

from . import (
    accounts,
    bitcoin,
    blocks,
    boost,
    calls,
    channels,
    deposits,
    dev,
    egress,
    environment,
    fees,
    flip,
    funding,
    keys,
    lending,
    lending_reports,
    liabilities,
    messages,
    monitoring,
    opened,
    oracle,
    payments,
    pending_deposits,
    pools,
    providers,
    requests,
    safe_mode,
    screening,
    signing,
    simulations,
    swaps,
    system,
    trading_strategies,
    transactions,
    validators,
    vault_swaps,
    wallets,
    weights,
    whitelists,
    witnessed,
    witnessed_deposits,
)
from .accounts import *  # noqa: F403
from .bitcoin import *  # noqa: F403
from .blocks import *  # noqa: F403
from .boost import *  # noqa: F403
from .calls import *  # noqa: F403
from .channels import *  # noqa: F403
from .deposits import *  # noqa: F403
from .dev import *  # noqa: F403
from .egress import *  # noqa: F403
from .environment import *  # noqa: F403
from .fees import *  # noqa: F403
from .flip import *  # noqa: F403
from .funding import *  # noqa: F403
from .keys import *  # noqa: F403
from .lending import *  # noqa: F403
from .lending_reports import *  # noqa: F403
from .liabilities import *  # noqa: F403
from .messages import *  # noqa: F403
from .monitoring import *  # noqa: F403
from .opened import *  # noqa: F403
from .oracle import *  # noqa: F403
from .payments import *  # noqa: F403
from .pending_deposits import *  # noqa: F403
from .pools import *  # noqa: F403
from .providers import *  # noqa: F403
from .requests import *  # noqa: F403
from .safe_mode import *  # noqa: F403
from .screening import *  # noqa: F403
from .signing import *  # noqa: F403
from .simulations import *  # noqa: F403
from .swaps import *  # noqa: F403
from .system import *  # noqa: F403
from .trading_strategies import *  # noqa: F403
from .transactions import *  # noqa: F403
from .validators import *  # noqa: F403
from .vault_swaps import *  # noqa: F403
from .wallets import *  # noqa: F403
from .weights import *  # noqa: F403
from .whitelists import *  # noqa: F403
from .witnessed import *  # noqa: F403
from .witnessed_deposits import *  # noqa: F403

FORMS: Mapping[str, PythonForm] = {
    **keys.FORMS,
    **fees.FORMS,
    **funding.FORMS,
    **messages.FORMS,
    **requests.FORMS,
    **swaps.FORMS,
    **whitelists.FORMS,
    **liabilities.FORMS,
    **bitcoin.FORMS,
    **channels.FORMS,
    **deposits.FORMS,
    **pending_deposits.FORMS,
    **calls.FORMS,
    **egress.FORMS,
    **transactions.FORMS,
    **vault_swaps.FORMS,
    **witnessed.FORMS,
    **witnessed_deposits.FORMS,
    **screening.FORMS,
    **opened.FORMS,
    **simulations.FORMS,
    **pools.FORMS,
    **boost.FORMS,
    **providers.FORMS,
    **lending.FORMS,
    **trading_strategies.FORMS,
    **lending_reports.FORMS,
    **oracle.FORMS,
    **safe_mode.FORMS,
    **wallets.FORMS,
    **environment.FORMS,
    **signing.FORMS,
    **validators.FORMS,
    **accounts.FORMS,
    **monitoring.FORMS,
    **dev.FORMS,
    **flip.FORMS,
    **weights.FORMS,
    **system.FORMS,
    **payments.FORMS,
    **blocks.FORMS,
}
