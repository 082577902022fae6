# SPDX-License-Identifier: Apache-2.0
"""The base of everything that nova-rt raises on purpose."""


class NovaRTError(Exception):
    """Something is wrong; the message is one sentence: what, and what to do."""
