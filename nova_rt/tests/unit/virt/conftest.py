# SPDX-License-Identifier: Apache-2.0
import time

import pytest

from nova_rt.virt.deadline import granularity


@pytest.fixture(autouse=True)
def features(monkeypatch, tmp_path_factory):
    """The scheduler's features, whatever this machine's are: an exact timer ends turns."""
    monkeypatch.setattr(time, 'clock_getres', lambda clock: 1e-9)
    features = tmp_path_factory.mktemp('debugfs') / 'features'
    features.write_text('NO_HRTICK HRTICK_DL\n')
    monkeypatch.setattr(granularity, 'FEATURES', features)
    return features
