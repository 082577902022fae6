# SPDX-License-Identifier: Apache-2.0
"""Fakes and fixtures for tests, of this project and of others that build on it."""
