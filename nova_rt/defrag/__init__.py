# SPDX-License-Identifier: Apache-2.0
"""Making room: which reservations to move between the pCPUs of a host.

Pure: no Nova. Bandwidths are integers in fixed point (:mod:`nova_rt.bandwidth`).
"""
