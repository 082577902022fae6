# SPDX-License-Identifier: Apache-2.0
"""The tests; a skipped test says what is missing."""
