# SPDX-License-Identifier: Apache-2.0
"""Keystone's limit of a project's share, enforced by nova-api.

Nova itself counts a flavor's resources. A reservation's share depends on hints too, and
Nova counts a server only once Placement has its allocation, so requests that come together
pass its limits together. Here a request waits for its turn (:mod:`~nova_rt.limits.turns`),
and servers on their way to an allocation count (:mod:`~nova_rt.limits.under_way`). So do
those that were shrunk for more critical ones, with all that they get back.
"""
