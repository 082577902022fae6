# SPDX-License-Identifier: Apache-2.0
"""How much a plan over several hosts may do."""

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class Limits:
    """How much a plan may do at most.

    :ivar steps: how many steps, migrations among them
    :ivar migrations: how many migrations
    """

    steps: int = 8
    migrations: int = 4
