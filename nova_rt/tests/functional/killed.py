# SPDX-License-Identifier: Apache-2.0
"""What a test raises in a service to kill it."""


class Killed(BaseException):
    """The service whose thread this is has been killed.

    No exception that Nova handles: nothing is rolled back or cleaned up.
    """
