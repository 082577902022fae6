# SPDX-License-Identifier: Apache-2.0
"""What a VDU asks for, independent of how its descriptor expresses it."""

from collections.abc import Mapping
import dataclasses

from nova_rt import criticality
from nova_rt import elastic
from nova_rt import reservation
from tacker_rt import values


@dataclasses.dataclass(frozen=True, slots=True)
class Size:
    """The size of a flavor made for the VDU, in Nova's units.

    :ivar vcpus: number of vCPUs
    :ivar ram_mb: memory in MiB
    :ivar disk_gb: root disk in GiB
    """

    vcpus: values.Number = 1
    ram_mb: int = 512
    disk_gb: int = 1


@dataclasses.dataclass(frozen=True, slots=True)
class VduRequest:
    """What one VDU asks for.

    :ivar runtime_us: of the reservation in µs, None if only a flavor gives it
    :ivar period_us: of the reservation in µs, None if only a flavor gives it
    :ivar criticality: that it says, None if it says none
    :ivar min_runtime_us: the least runtime that it can live with, None if it is not elastic
    :ivar in_flavor: whether all of these are in the flavor that stock translation
        already makes, so that no hint is needed
    :ivar extra_specs: affinity and topology of the vCPUs, by extra spec
    :ivar flavor: the name of a flavor, or None
    :ivar size: of the flavor to make if none is named
    """

    runtime_us: values.Number | None = None
    period_us: values.Number | None = None
    criticality: str | values.Input | None = None
    min_runtime_us: values.Number | None = None
    in_flavor: bool = False
    extra_specs: Mapping[str, str | values.Input] = dataclasses.field(
        default_factory=dict)
    flavor: str | None = None
    size: Size | None = None

    @property
    def hints(self) -> dict[str, values.Value]:
        """What it asks for by the names of the hints, where given."""
        given: dict[str, values.Value | None] = {
            reservation.RUNTIME: self.runtime_us, reservation.PERIOD: self.period_us,
            criticality.NAME: self.criticality, elastic.NAME: self.min_runtime_us}
        return {name: value for name, value in given.items()
                if value is not None}
