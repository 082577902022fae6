# SPDX-License-Identifier: Apache-2.0
"""What tests of tacker_rt and of the stack share."""
