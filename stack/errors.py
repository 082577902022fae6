# SPDX-License-Identifier: Apache-2.0
"""The error that the launcher prints instead of a traceback."""


class StackError(Exception):
    """A sentence that says what is wrong and what to do."""
