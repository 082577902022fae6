# SPDX-License-Identifier: Apache-2.0
from nova import service
import nova.conf
import pytest

from nova_rt import conf
from nova_rt import signatures
from nova_rt.conductor import hooks
from nova_rt.conductor import manager


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


@pytest.mark.parametrize(('wait_s', 'service_tokens', 'periodic', 'said'), [
    (3600, False, True, None), (3601, False, True, 'send_service_user_token'),
    (172_800, True, True, None), (60, False, False, 'periodic_enable'), (0, False, False, None)])
def test_options_by_which_servers_would_wait_in_vain_are_refused(
        wait_s, service_tokens, periodic, said):
    conf.register_opts(nova.conf.CONF)
    for name, value, group in (
            ('wait_for_room', wait_s, 'rt'), ('periodic_enable', periodic, None),
            ('send_service_user_token', service_tokens, 'service_user')):
        nova.conf.CONF.set_override(name, value, group)
    try:
        if said is None:
            manager.check_options()
        else:
            with pytest.raises(manager.ImpossibleWaitError, match=said):
                manager.check_options()
    finally:
        for name, group in (('wait_for_room', 'rt'), ('periodic_enable', None),
                            ('send_service_user_token', 'service_user')):
            nova.conf.CONF.clear_override(name, group)
