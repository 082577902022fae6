# SPDX-License-Identifier: Apache-2.0
"""No test is judged by the clock: machines are slow and busy."""

import hypothesis
import pytest

from nova_rt.reaction import counts
from nova_rt.testing import native_threads  # noqa: F401
from nova_rt.virt import loans

hypothesis.settings.register_profile('untimed', deadline=None)
hypothesis.settings.load_profile('untimed')


@pytest.fixture(autouse=True)
def _nothing_of_this_machine(tmp_path, monkeypatch):
    monkeypatch.setattr(counts, 'FOLDER', tmp_path / 'counts')
    monkeypatch.setattr(loans, 'FOLDER', tmp_path / 'loans')
