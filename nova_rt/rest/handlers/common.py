# SPDX-License-Identifier: Apache-2.0
"""What several answers have."""

from __future__ import annotations

from nova_rt import kinds
from nova_rt import reservation
from nova_rt.rest.endpoints import Json


def of_reservation(wanted: reservation.Reservation | None) -> Json | None:
    """Return a reservation as the API has it."""
    if wanted is None:
        return None
    return {'runtime_us': wanted.runtime_us, 'period_us': wanted.period_us,
            'vcpus': wanted.vcpus, 'bandwidth': wanted.bandwidth}


def of_kind(kind: kinds.Kind | None) -> str | None:
    """Return a kind as the API has it."""
    return kind.value if kind else None
