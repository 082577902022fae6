# SPDX-License-Identifier: Apache-2.0
"""What Nova's objects say of reservations: flavors, requests, instances, moves.

The floor that scheduler, compute service, driver and audit share.
"""
