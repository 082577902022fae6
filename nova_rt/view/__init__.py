# SPDX-License-Identifier: Apache-2.0
"""What is reserved where and by whom, read from Nova's objects in all cells."""
