# SPDX-License-Identifier: Apache-2.0
"""nova-rt in Horizon: hosts with their pCPUs, a server's reservation, a form for flavors."""
