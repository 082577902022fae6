# SPDX-License-Identifier: Apache-2.0
"""The kinds of servers, the traits of their hosts, and which kind a request chooses."""

from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import enum

from nova_rt import reservation
from nova_rt import wording

REQUIRED = 'required'
TRAIT_PREFIX = 'trait:'


class Kind(enum.Enum):
    """A kind of server; a host runs one. The value is its name."""

    CONTAINER = 'container'
    MACHINE = 'virtual machine'

    @property
    def plural(self) -> str:
        """Its name, in the plural."""
        return f'{self.value}s'

    @property
    def trait(self) -> str:
        """Placement's trait of the hosts that offer reservations to this kind."""
        return _TRAITS[self]


_TRAITS = {Kind.CONTAINER: 'CUSTOM_RT_CONTAINERS',
           Kind.MACHINE: 'CUSTOM_RT_VIRTUAL_MACHINES'}
# By the hypervisor type that an image names or a host reports, in lower case.
BY_HYPERVISOR = {'lxc': Kind.CONTAINER, 'qemu': Kind.MACHINE, 'kvm': Kind.MACHINE}
# The second is the first's name in old images; Nova still reads it.
_HYPERVISOR_PROPERTIES = ('img_hv_type', 'hypervisor_type')


@dataclasses.dataclass(frozen=True, slots=True)
class Choice:
    """The kind that a request chooses.

    :ivar reason: what chooses it, a clause such as "the flavor has hw:cpu.rt_policy"
    """

    kind: Kind
    reason: str


def chosen(extra_specs: Mapping[str, object], image: Mapping[str, object]) -> Choice | None:
    """Return the kind that a server's flavor and image choose, None if neither does.

    :param image: the image's properties, its required traits as ``trait:NAME``
    :raises reservation.InvalidReservationError: if they choose both kinds
    """
    first = None
    for choice in _choices(extra_specs, image):
        if first is not None and choice.kind is not first.kind:
            raise reservation.InvalidReservationError(
                f'{first.reason[0].upper()}{first.reason[1:]}, which is for '
                f'{first.kind.plural}, but {choice.reason}, which is for '
                f'{choice.kind.plural}: remove one of the two.')
        first = first or choice
    return first


def of_host(dialect: str | None, hypervisor: str | None) -> Kind | None:
    """Return the kind that a host runs, as it reports itself; None if that is not clear.

    :param dialect: how its kernel is asked for reservations
    :param hypervisor: Nova's ``hypervisor_type``
    """
    if dialect == 'deadline':
        return Kind.MACHINE
    if dialect not in (None, '', 'none'):
        return Kind.CONTAINER
    return BY_HYPERVISOR.get((hypervisor or '').lower())


def _choices(extra_specs: Mapping[str, object],
             image: Mapping[str, object]) -> Iterator[Choice]:
    policy = reservation.EXTRA_SPEC_PREFIX + reservation.POLICY
    if policy in extra_specs:
        yield Choice(Kind.CONTAINER, f'the flavor has {policy}')
    for owner, properties in (('flavor', extra_specs), ('image', image)):
        for kind in Kind:
            name = TRAIT_PREFIX + kind.trait
            if properties.get(name) == REQUIRED:
                yield Choice(kind, f'the {owner} has {name}={REQUIRED}')
    for name in _HYPERVISOR_PROPERTIES:
        hypervisor = image.get(name)
        image_kind = BY_HYPERVISOR.get(str(hypervisor).lower())
        if image_kind is not None:
            yield Choice(image_kind, f'the image has {name} {wording.shown(hypervisor)}')
