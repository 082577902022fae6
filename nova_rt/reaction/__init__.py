# SPDX-License-Identifier: Apache-2.0
"""What a compute node does about the misses of its servers."""
