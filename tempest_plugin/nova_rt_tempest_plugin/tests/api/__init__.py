# SPDX-License-Identifier: Apache-2.0
"""What the API takes, refuses and shows; nothing is built but where it must be."""
