# SPDX-License-Identifier: Apache-2.0
import types

from nova.virt.libvirt import driver as nova_driver
import pytest

from nova_rt.virt import driver


class LibvirtError(Exception):

    def get_error_code(self):
        return self.args[0]


@pytest.fixture(autouse=True)
def libvirt(monkeypatch):
    monkeypatch.setattr(nova_driver, 'libvirt', types.SimpleNamespace(
        libvirtError=LibvirtError, VIR_ERR_NO_DOMAIN=42))


def guest(answer):
    def get_xml_desc():
        if isinstance(answer, Exception):
            raise answer
        return answer
    return types.SimpleNamespace(uuid='a-uuid', get_xml_desc=get_xml_desc)


def test_a_domain_deleted_since_it_was_listed_holds_nothing():
    assert driver._holding_in(guest(LibvirtError(42))) is None


def test_a_libvirt_that_is_away_is_not_taken_for_an_empty_host():
    with pytest.raises(LibvirtError):
        driver._holding_in(guest(LibvirtError(38)))


def test_a_domain_of_somebody_else_holds_nothing():
    assert driver._holding_in(guest('<domain/>')) is None
