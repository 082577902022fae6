# SPDX-License-Identifier: Apache-2.0
from nova import service
import pytest

from nova_rt import signatures
from nova_rt.conductor import hooks


@pytest.mark.parametrize(('name', 'parameters'), sorted(hooks.EXPECTED.items()))
def test_this_nova_is_as_expected(name, parameters):
    signatures.check_signature(name, parameters)


def test_another_nova_is_refused(monkeypatch):
    monkeypatch.setitem(
        hooks.EXPECTED, 'nova.conductor.manager:ComputeTaskManager._bury_in_cell0', 'self')
    managers = dict(service.SERVICE_MANAGERS)
    with pytest.raises(signatures.UnknownNovaError, match='_bury_in_cell0'):
        hooks.install()
    assert managers == service.SERVICE_MANAGERS
