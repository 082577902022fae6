# SPDX-License-Identifier: Apache-2.0
"""SCHED_DEADLINE for the threads of virtual CPUs, on every Linux.

:class:`scheduler.Scheduler` asks the kernel for one thread, :mod:`threads` for all
of a virtual machine or none; :mod:`admission` finds out whether the kernel lets a
pinned thread have it; :mod:`findings` says so to an operator.
"""
