# SPDX-License-Identifier: Apache-2.0
"""The handlers of the API, a module for each noun; each reads, and forms the answer."""
