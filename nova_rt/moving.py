# SPDX-License-Identifier: Apache-2.0
"""When the vCPUs of servers on a host are moved to other pCPUs of it."""

import enum

STAT = 'rt_defrag'
"""Under which name a host reports it."""


class Moving(enum.Enum):
    """When a host moves vCPUs; one that does not say never does."""

    NEVER = 'never'
    """Its kernel lets no vCPU move, or a reservation occupies every pCPU."""

    ASKED = 'asked'
    """When an operator asks for it."""

    REFUSED = 'refused'
    """Also before it refuses a claim for which it has room in the sum."""
