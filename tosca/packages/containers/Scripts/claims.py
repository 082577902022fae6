# SPDX-License-Identifier: Apache-2.0
"""Run by tacker-conductor around operations; nova-rt is installed there."""

from tacker_rt import lifecycle

lifecycle.main()
