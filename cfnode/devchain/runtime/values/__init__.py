"""What are the chain's values in Python?

A frozen dataclass for each struct, and for each variant with fields of an enum; the enum's name is the union
of them. `FORMS` says which declaration has which. Written by scripts/chain_values.py: change the declarations
instead.
"""

from __future__ import annotations

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
from .forms import FORMS as FORMS
from .funding import *  # noqa: F403
from .keys import *  # noqa: F403
from .lending import *  # noqa: F403
from .liabilities import *  # noqa: F403
from .limits import *  # noqa: F403
from .messages import *  # noqa: F403
from .monitoring import *  # noqa: F403
from .opened import *  # noqa: F403
from .oracle import *  # noqa: F403
from .payments import *  # noqa: F403
from .pools import *  # noqa: F403
from .providers import *  # noqa: F403
from .requests import *  # noqa: F403
from .safe_mode import *  # noqa: F403
from .screening import *  # noqa: F403
from .signing import *  # noqa: F403
from .simulations import *  # noqa: F403
from .swaps import *  # noqa: F403
from .system import *  # noqa: F403
from .transactions import *  # noqa: F403
from .validators import *  # noqa: F403
from .vault_swaps import *  # noqa: F403
from .wallets import *  # noqa: F403
from .weights import *  # noqa: F403
from .whitelists import *  # noqa: F403
from .witnessed import *  # noqa: F403
