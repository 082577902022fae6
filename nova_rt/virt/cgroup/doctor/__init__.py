# SPDX-License-Identifier: Apache-2.0
"""The doctor: what keeps a host from holding reservations, and what to do.

:func:`examination.examine` runs every check on a :class:`machine.Machine` and
returns a :class:`finding.Finding` for each thing that it looked at; the checks of
groups and of the tasks in them are in :mod:`groups`.
"""
