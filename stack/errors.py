# SPDX-License-Identifier: Apache-2.0
"""What the launcher tells its user instead of a traceback."""


class StackError(Exception):
    """One sentence: what was wrong and what to do about it."""
