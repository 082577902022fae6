# SPDX-License-Identifier: Apache-2.0
"""Fakes and fixtures for tests, of this project and of others that build on it.

``fake_kernel``, ``fake_hcbs``
    Control groups in memory that admit and refuse budgets as kernels do.
``conformance``
    What every kernel must do, and every fake of one: tests to inherit.
``fake_driver``
    Nova's fake driver, with containers in a fake kernel.
``cases``, ``cloud``
    Base classes of functional tests: Nova's API alone, or compute services too.
``full``
    Which tests run with FULL=1 only.
``native_threads``, ``nova33``, ``quick_database``
    What Nova's own fixtures need to run with native threads, and quickly.
"""
