# SPDX-License-Identifier: Apache-2.0
"""What else a flavor or an image may not ask for together with a reservation.

A reservation is a part of a pCPU that nova-rt chooses. Nova itself chooses the pCPUs of
a server that has CPUs of its own or a NUMA topology
(``nova.virt.hardware.numa_get_constraints``), and libvirt sets the policy of real-time
vCPUs. Neither knows what nova-rt has given to whom.
"""

from collections.abc import Mapping

from nova_rt import reservation
from nova_rt import wording

_WHOLE = 'it gives the server whole pCPUs'
_NUMA = 'it gives the server a NUMA topology, whose pCPUs Nova chooses'
_DEDICATED = ('dedicated', 'mixed')
# As oslo.utils reads a truth value, which Nova uses.
_TRUE = ('1', 't', 'true', 'on', 'y', 'yes')

# By extra spec: the values that contradict (None: all of them), and why.
EXTRA_SPECS: Mapping[str, tuple[tuple[str, ...] | None, str]] = {
    'hw:cpu_policy': (_DEDICATED, _WHOLE),
    'hw:cpu_realtime': (_TRUE, _WHOLE),
    'resources:PCPU': (None, _WHOLE),
    'hw:numa_nodes': (None, _NUMA),
    'hw:mem_page_size': (None, _NUMA),
    'hw:pmem': (None, _NUMA),
}
IMAGE_PROPERTIES: Mapping[str, tuple[tuple[str, ...] | None, str]] = {
    'hw_cpu_policy': (_DEDICATED, _WHOLE),
    'hw_numa_nodes': (None, _NUMA),
    'hw_mem_page_size': (None, _NUMA),
}


def check(extra_specs: Mapping[str, object], image: Mapping[str, object]) -> None:
    """Refuse what contradicts a reservation.

    :param extra_specs: of the flavor of a server with a reservation
    :param image: the properties of its image, empty where they are not known
    :raises reservation.InvalidReservationError: at the first contradiction
    """
    for given, contradicting, remedy in (
            (extra_specs, EXTRA_SPECS, 'remove it from the flavor'),
            (image, IMAGE_PROPERTIES, 'use an image without this property')):
        for name, (values, reason) in contradicting.items():
            value = str(given.get(name, '')).strip().lower()
            if value and (values is None or value in values):
                raise reservation.InvalidReservationError(
                    f'{name} {wording.shown(given[name])} contradicts a reservation, as '
                    f'{reason}: {remedy}.')
