# SPDX-License-Identifier: Apache-2.0
"""What is copied into the folder openstack_dashboard/local/enabled of Horizon."""
