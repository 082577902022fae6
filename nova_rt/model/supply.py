# SPDX-License-Identifier: Apache-2.0
"""The multiprocessor periodic resource and the least time it supplies.

The model is that of Easwaran, Shin and Lee (Real-Time Systems 43, 2009),
which `hcbs-linux-containers` section 3.2 uses. Time is continuous here, so
the worst supply is that of m equal periodic resources (Shin and Lee, 2003)
in step. Servers of the same runtime and period on m pCPUs supply as much under
the rule of "Several vCPUs" in the documentation. The simulator and our kernel
follow it; other kernels do not, and may exceed the bounds where m > 1.
"""

import dataclasses
from fractions import Fraction

from nova_rt import bandwidth
from nova_rt import reservation
from nova_rt.model import checks

MAX_VCPUS = 1024

# What a "yes" on more than one vCPU is worth.
OUR_KERNEL_ONLY = (
    "On more than one vCPU this is guaranteed on nova-rt's own kernel only: others, and "
    "that of a virtual machine's guest, may let an urgent task wait on one vCPU while "
    'another one serves a less urgent task, or none. Pin each task to one vCPU there, and '
    'analyse with --pinned.')


@dataclasses.dataclass(frozen=True, slots=True)
class Resource:
    """Θ units of CPU time every Π, on at most m vCPUs at a time.

    :ivar budget_us: Θ in µs, at most m Π
    :ivar period_us: Π in µs
    :ivar vcpus: m
    :raises checks.ModelError: if these cannot be
    """

    budget_us: int
    period_us: int
    vcpus: int = 1

    def __post_init__(self) -> None:
        checks.time_us('The budget Θ', self.budget_us)
        checks.time_us('The period Π', self.period_us)
        checks.count('The number of vCPUs m', self.vcpus, MAX_VCPUS)
        if self.budget_us > self.vcpus * self.period_us:
            raise checks.ModelError(
                f'Θ = {self.budget_us} µs is more than {self.vcpus} vCPUs '
                f'can use in Π = {self.period_us} µs: lower Θ or raise m.')

    @property
    def bandwidth(self) -> Fraction:
        """Θ / Π in CPUs."""
        return Fraction(self.budget_us, self.period_us)

    @property
    def runtime_us(self) -> int:
        """Q = ⌈Θ / m⌉, what each vCPU gets, in µs (section 3.2)."""
        return -(-self.budget_us // self.vcpus)

    @property
    def blackout_us(self) -> Fraction:
        """Longest time without any supply, 2 (Π - Θ/m), in µs."""
        return 2 * (self.period_us - Fraction(self.budget_us, self.vcpus))

    def reservation(self) -> reservation.Reservation:
        """Return the reservation (Q, P, m) that supplies at least this.

        :raises checks.ModelError: if the kernel's limits forbid it
        """
        if self.period_us < bandwidth.MIN_PERIOD_US:
            raise checks.ModelError(
                f'The kernel takes no period below {bandwidth.MIN_PERIOD_US}'
                f' µs, and this one is {self.period_us} µs.')
        try:
            return reservation.Reservation(
                max(self.runtime_us, bandwidth.MIN_RUNTIME_US),
                self.period_us, self.vcpus)
        except reservation.InvalidReservationError as error:
            raise checks.ModelError(str(error)) from None

    def per_cpu_runtimes(self, pcpus: int,
                         chosen: tuple[int, ...]) -> tuple[int, ...]:
        """Return the runtime in µs on each of a host's pCPUs.

        It documents how `hcbs-linux-containers` section 3.2 maps Θ to servers.

        :param pcpus: how many the host has
        :param chosen: the m that hold the reservation
        """
        wanted = self.reservation()
        return tuple(wanted.runtime_us if pcpu in chosen else 0
                     for pcpu in range(pcpus))

    def sbf(self, time_us: int) -> int:
        """Return the least supply in µs in any window of this length.

        With Q = Θ/m it is m times the supply of one periodic resource; both
        sides scaled by m, that is one periodic resource (Θ, mΠ) seen for a
        window of m t, and everything stays an integer.
        """
        period = self.vcpus * self.period_us
        usable = self.vcpus * time_us - (period - self.budget_us)
        if usable <= 0:
            return 0
        rounds, rest = divmod(usable, period)
        return rounds * self.budget_us + max(
            0, rest - (period - self.budget_us))

    def inverse_sbf(self, supply_us: int) -> int:
        """Return the shortest window in whole µs that supplies this much."""
        if supply_us <= 0:
            return 0
        period = self.vcpus * self.period_us
        gap = period - self.budget_us
        rounds = -(-supply_us // self.budget_us) - 1
        scaled = gap + rounds * period + gap + (
            supply_us - rounds * self.budget_us)
        return -(-scaled // self.vcpus)

    def lsbf(self, time_us: int) -> Fraction:
        """Return the linear lower bound of :meth:`sbf`, in µs."""
        return max(Fraction(0),
                   self.bandwidth * (time_us - self.blackout_us))


def from_reservation(wanted: reservation.Reservation) -> Resource:
    """Return what a reservation (Q, P, m) supplies: Θ = m Q every Π = P.

    It documents the inverse of that mapping, for comparisons.
    """
    return Resource(wanted.vcpus * wanted.runtime_us, wanted.period_us,
                    wanted.vcpus)
