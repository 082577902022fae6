# SPDX-License-Identifier: Apache-2.0
"""What contradicts a reservation is what makes Nova choose pCPUs itself."""

from nova import exception
from nova import objects
from nova.virt import hardware
import pytest

from nova_rt import contradictions
from nova_rt import reservation

objects.register_all()
SPECS = [{'hw:cpu_policy': 'dedicated'}, {'hw:cpu_policy': 'mixed'}, {'hw:cpu_realtime': 'yes'},
         {'resources:PCPU': '2'}, {'hw:numa_nodes': '1'}, {'hw:numa_nodes': '2'},
         {'hw:mem_page_size': 'large'}, {'hw:mem_page_size': 'small'},
         {'hw:mem_page_size': '2048'}, {'hw:mem_page_size': 'any'}]
COMPATIBLE = [{}, {'hw:cpu_policy': 'shared'}, {'hw:cpu_realtime': 'no'},
              {'hw:emulator_threads_policy': 'share'}, {'hw:cpu_sockets': '2'},
              {'hw:cpu_threads': '1'}, {'hw:cpu_max_cores': '2'}, {'resources:VCPU': '2'},
              {'hw:numa_cpus.0': '0,1'}, {'hw:boot_menu': 'true'}]
IMAGES = [{'hw_cpu_policy': 'dedicated'}, {'hw_cpu_policy': 'mixed'}, {'hw_numa_nodes': '1'},
          {'hw_mem_page_size': 'large'}]


def nova_chooses(extra_specs, image):
    """Return whether Nova gives such a server a NUMA topology, or refuses it by itself."""
    flavor = objects.Flavor(vcpus=2, memory_mb=64, extra_specs=extra_specs)
    meta = objects.ImageMeta.from_dict({'properties': image})
    try:
        return hardware.numa_get_constraints(flavor, meta) is not None
    except (exception.NovaException, ValueError):
        return True


@pytest.mark.parametrize('extra_specs', SPECS)
def test_what_makes_nova_choose_pcpus_is_refused_in_a_flavor(extra_specs):
    assert nova_chooses(extra_specs, {})
    with pytest.raises(reservation.InvalidReservationError) as refusal:
        contradictions.check(extra_specs, {})
    assert next(iter(extra_specs)) in str(refusal.value)
    assert str(refusal.value).endswith(': remove it from the flavor.')


@pytest.mark.parametrize('image', IMAGES)
def test_what_makes_nova_choose_pcpus_is_refused_in_an_image(image):
    assert nova_chooses({}, image)
    with pytest.raises(reservation.InvalidReservationError, match=next(iter(image))):
        contradictions.check({}, image)


@pytest.mark.parametrize('extra_specs', COMPATIBLE)
def test_what_leaves_the_choice_of_pcpus_open_goes_with_a_reservation(extra_specs):
    assert not nova_chooses(extra_specs, {})
    contradictions.check(extra_specs, {'hw_cpu_policy': 'shared', 'hw_numa_mempolicy': 'strict'})


def test_isolated_emulator_threads_are_refused_by_nova_itself_without_dedicated_cpus():
    flavor = objects.Flavor(vcpus=2, memory_mb=64,
                            extra_specs={'hw:emulator_threads_policy': 'isolate'})
    with pytest.raises(exception.BadRequirementEmulatorThreadsPolicy):
        hardware.numa_get_constraints(flavor, objects.ImageMeta.from_dict({}))


def test_a_refusal_is_a_short_sentence_whatever_the_value():
    with pytest.raises(reservation.InvalidReservationError) as refusal:
        contradictions.check({'hw:numa_nodes': 'x' * 1000}, {})
    assert len(str(refusal.value)) < 300


def test_values_of_other_types_than_text_are_read():
    with pytest.raises(reservation.InvalidReservationError):
        contradictions.check({}, {'hw_numa_nodes': 2})
    contradictions.check({'hw:cpu_policy': None}, {'hw_cpu_policy': ['shared']})
