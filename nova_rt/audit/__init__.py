# SPDX-License-Identifier: Apache-2.0
"""The audit: what kernel, ledger, Nova and Placement each say of one host."""
