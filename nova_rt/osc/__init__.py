# SPDX-License-Identifier: Apache-2.0
"""``openstack rt``: a plug-in of the openstack client, a module for each noun."""
