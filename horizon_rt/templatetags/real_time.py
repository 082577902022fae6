# SPDX-License-Identifier: Apache-2.0
"""What the templates need beyond Django's own filters."""

from django import template

from nova_rt import bandwidth

register = template.Library()


@register.filter
def percent(share: int | None) -> str:
    """Return a bandwidth as people read it, a dash if the API does not tell it."""
    return '–' if share is None else bandwidth.percent(share)
