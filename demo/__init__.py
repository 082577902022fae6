# SPDX-License-Identifier: Apache-2.0
"""Shows a server with a CPU reservation: ``python -m demo``."""
