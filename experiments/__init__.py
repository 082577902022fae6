# SPDX-License-Identifier: Apache-2.0
"""The papers' experiments, on our kernel, in virtual machines."""
