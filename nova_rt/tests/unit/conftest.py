# SPDX-License-Identifier: Apache-2.0
"""No test is judged by the clock: machines are slow and busy."""

import hypothesis

from nova_rt.testing import native_threads  # noqa: F401

hypothesis.settings.register_profile('untimed', deadline=None)
hypothesis.settings.load_profile('untimed')
