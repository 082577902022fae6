# SPDX-License-Identifier: Apache-2.0
"""Why a request is not let through."""

from nova_rt import errors


class OverLimitError(errors.NovaRTError):
    """The project would have more than its limit; the message is for a user."""


class UndecidedError(errors.NovaRTError):
    """Limit or usage are not known; the message says what to do."""
