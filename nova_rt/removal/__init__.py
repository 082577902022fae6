# SPDX-License-Identifier: Apache-2.0
"""What is left of nova-rt in a deployment, and how it is taken out again."""
