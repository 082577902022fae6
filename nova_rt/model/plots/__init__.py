# SPDX-License-Identifier: Apache-2.0
"""Pictures of what the model says, as SVG and PNG. Needs Matplotlib."""
