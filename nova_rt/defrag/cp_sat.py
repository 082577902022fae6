# SPDX-License-Identifier: Apache-2.0
"""How CP-SAT, the constraint solver of OR-tools, is run."""

from ortools.sat.python import cp_model

# Each has another strategy. On two CPUs, eight of them proved in two seconds what two
# did not in eight.
_WORKERS = 8


def solver(seconds: float) -> cp_model.CpSolver:
    """Return a solver that takes no longer than that, by the clock of the wall."""
    made = cp_model.CpSolver()
    made.parameters.max_time_in_seconds = seconds
    made.parameters.num_workers = _WORKERS
    return made
