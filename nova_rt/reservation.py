# SPDX-License-Identifier: Apache-2.0
"""A reservation, and how it is asked for in flavors and scheduler hints."""

from collections.abc import Mapping
import dataclasses
import re

from nova_rt import bandwidth
from nova_rt import errors
from nova_rt import wording

RUNTIME = 'cpu.rt_runtime_us'
PERIOD = 'cpu.rt_period_us'
POLICY = 'cpu.rt_policy'
PRIORITY = 'cpu.rt_priority'
EXTRA_SPEC_PREFIX = 'hw:'

HINTS = (RUNTIME, PERIOD)
EXTRA_SPECS = tuple(
    EXTRA_SPEC_PREFIX + name for name in (RUNTIME, PERIOD, POLICY, PRIORITY))
POLICIES = ('fifo', 'rr')
MAX_PRIORITY = 99

_DIGITS = re.compile(r'[0-9]+')
# Beyond every limit here, and short enough to be shown in a sentence.
_OUT_OF_RANGE = 10 ** 18


class InvalidReservationError(errors.NovaRTError, ValueError):
    """An invalid reservation; the message is one sentence for a user."""


@dataclasses.dataclass(frozen=True, slots=True)
class Reservation:
    """Runtime Q every period P on each of m vCPUs.

    :ivar runtime_us: Q in µs, at least 2
    :ivar period_us: P in µs, from 100 to 2^22
    :ivar vcpus: m, at least 1
    :raises InvalidReservationError: if the numbers are outside these limits or the
        runtime is longer than the period
    """

    runtime_us: int
    period_us: int
    vcpus: int

    def __post_init__(self) -> None:
        check_runtime(RUNTIME, self.runtime_us)
        check_period(PERIOD, self.period_us)
        if self.vcpus < 1:
            raise InvalidReservationError(
                f'A reservation needs at least 1 vCPU, not {self.vcpus}.')
        if self.runtime_us > self.period_us:
            raise InvalidReservationError(
                f'The runtime of {self.runtime_us} µs is longer than the '
                f'period of {self.period_us} µs: lower {RUNTIME} or raise '
                f'{PERIOD}.')
        if self.bandwidth < 1:
            raise InvalidReservationError(
                f'{self.runtime_us} µs every {self.period_us} µs is less '
                f'than the kernel can account: raise {RUNTIME}.')

    @property
    def bandwidth(self) -> int:
        """Bandwidth of one vCPU in fixed point."""
        return bandwidth.to_bandwidth(self.runtime_us, self.period_us)

    @property
    def share(self) -> int:
        """Bandwidth summed over all vCPUs in fixed point."""
        return self.vcpus * self.bandwidth

    def with_times(self, times: 'Times') -> 'Reservation':
        """Return this reservation with other times, where they say any.

        :raises InvalidReservationError: if it would be invalid
        """
        return dataclasses.replace(self, **{
            name: value for name, value in dataclasses.asdict(times).items()
            if value is not None})


@dataclasses.dataclass(frozen=True, slots=True)
class Times:
    """Runtime and period as one source asks for them; either may be absent."""

    runtime_us: int | None = None
    period_us: int | None = None

    def over(self, base: 'Times') -> 'Times':
        """Return these times, with the base's where these are absent."""
        return Times(
            base.runtime_us if self.runtime_us is None else self.runtime_us,
            base.period_us if self.period_us is None else self.period_us)


@dataclasses.dataclass(frozen=True, slots=True)
class InitPolicy:
    """The scheduling policy under which a container's init is started."""

    policy: str
    priority: int = 1


def check_runtime(name: str, runtime_us: int) -> None:
    """Raise InvalidReservationError unless the runtime is within its limits."""
    if runtime_us < bandwidth.MIN_RUNTIME_US:
        raise InvalidReservationError(
            f'{name} is {runtime_us} µs, but the kernel accounts for no '
            f'runtime below {bandwidth.MIN_RUNTIME_US} µs.')
    if runtime_us > bandwidth.MAX_PERIOD_US:
        raise InvalidReservationError(
            f'{name} is {runtime_us} µs, but a runtime cannot be longer than '
            f'the longest period, {bandwidth.MAX_PERIOD_US} µs.')


def check_period(name: str, period_us: int) -> None:
    """Raise InvalidReservationError unless the period is within its limits."""
    if not bandwidth.MIN_PERIOD_US <= period_us <= bandwidth.MAX_PERIOD_US:
        raise InvalidReservationError(
            f'{name} is {period_us} µs, but a period must be from '
            f'{bandwidth.MIN_PERIOD_US} µs to {bandwidth.MAX_PERIOD_US} µs.')


def parse_number(name: str, value: object) -> int:
    """Return the whole number that a flavor, a hint or RequestSpec holds.

    :param value: an int, a string of ASCII digits, or a list of one of these
        (RequestSpec holds hints as lists of strings)
    :raises InvalidReservationError: for everything else
    """
    if isinstance(value, (list, tuple)):
        if len(value) != 1:
            raise InvalidReservationError(
                f'{name} has {len(value)} values: give one.')
        value = value[0]
    if isinstance(value, str) and _DIGITS.fullmatch(value):
        # Python converts no text of more than 4300 digits.
        digits = value.lstrip('0') or '0'
        value = int(digits) if len(digits) < 20 else _OUT_OF_RANGE
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidReservationError(
            f'{name} is {wording.shown(value)}: give a whole number in digits, '
            'for example 100000.')
    if abs(value) >= _OUT_OF_RANGE:
        raise InvalidReservationError(
            f'{name} is a number far out of range: give one such as 100000.')
    return value


def times_from_extra_specs(extra_specs: Mapping[str, object]) -> Times:
    """Return the times in a flavor's extra specs; a flavor may lack either.

    :raises InvalidReservationError: if one is not a number within its limits
    """
    return _times(extra_specs, {RUNTIME: EXTRA_SPEC_PREFIX + RUNTIME,
                                PERIOD: EXTRA_SPEC_PREFIX + PERIOD})


def times_from_hints(hints: Mapping[str, object]) -> Times:
    """Return the times in scheduler hints, named with or without ``hw:``.

    :raises InvalidReservationError: if one is not a number within its limits, or
        is given under both names with different values
    """
    plain = _times(hints, {RUNTIME: RUNTIME, PERIOD: PERIOD})
    prefixed = times_from_extra_specs(hints)
    for name, one, other in (
            (RUNTIME, plain.runtime_us, prefixed.runtime_us),
            (PERIOD, plain.period_us, prefixed.period_us)):
        if one is not None and other is not None and one != other:
            raise InvalidReservationError(
                f'The hint {name} is {one} and hw:{name} is {other}: '
                'give it once.')
    return plain.over(prefixed)


def _times(source: Mapping[str, object], names: Mapping[str, str]) -> Times:
    runtime_us = period_us = None
    if names[RUNTIME] in source:
        runtime_us = parse_number(names[RUNTIME], source[names[RUNTIME]])
        check_runtime(names[RUNTIME], runtime_us)
    if names[PERIOD] in source:
        period_us = parse_number(names[PERIOD], source[names[PERIOD]])
        check_period(names[PERIOD], period_us)
    return Times(runtime_us, period_us)


def requested(extra_specs: Mapping[str, object], hints: Mapping[str, object],
              vcpus: int) -> Reservation | None:
    """Return the reservation of a server, or None if it asks for none.

    A hint overrides the flavor's value (OpenStack paper, section 5).

    :param extra_specs: of the flavor
    :param hints: of the server; ints, strings or lists of one string
    :param vcpus: of the flavor
    :raises InvalidReservationError: if only one of runtime and period is given, or
        they are invalid together
    """
    times = times_from_hints(hints).over(times_from_extra_specs(extra_specs))
    if times.runtime_us is None and times.period_us is None:
        if init_policy(extra_specs) is not None:
            raise InvalidReservationError(
                f'The flavor sets {EXTRA_SPEC_PREFIX}{POLICY} without a '
                f'reservation: set {RUNTIME} and {PERIOD} too.')
        return None
    if times.runtime_us is None or times.period_us is None:
        given, missing = ((PERIOD, RUNTIME) if times.runtime_us is None
                          else (RUNTIME, PERIOD))
        raise InvalidReservationError(
            f'{given} is set but {missing} is neither in the flavor nor in '
            f'a hint: set both.')
    init_policy(extra_specs)
    return Reservation(times.runtime_us, times.period_us, vcpus)


def described(extra_specs: Mapping[str, object],
              vcpus: int) -> Reservation | None:
    """Return the reservation that a flavor describes by itself.

    None if the flavor has only one of runtime and period: hints may add the
    other, and extra specs are set one by one.

    :raises InvalidReservationError: if an extra spec is wrong by itself, or runtime
        and period are invalid together
    """
    for name in EXTRA_SPECS:
        if name in extra_specs:
            check_extra_spec(name, extra_specs[name])
    times = times_from_extra_specs(extra_specs)
    if times.runtime_us is None or times.period_us is None:
        return None
    return Reservation(times.runtime_us, times.period_us, vcpus)


def check_extra_spec(name: str, value: object) -> None:
    """Check the value of one of EXTRA_SPECS by itself.

    :raises InvalidReservationError: if the value is wrong whatever the others are
    """
    plain = name.removeprefix(EXTRA_SPEC_PREFIX)
    if plain == POLICY:
        init_policy({name: value})
    elif plain == PRIORITY:
        _parse_priority(value)
    else:
        times_from_extra_specs({name: value})


def check_cap(wanted: Reservation, cap: int) -> None:
    """Refuse a reservation that is too large even for an empty pCPU.

    :param cap: largest bandwidth admitted per pCPU, in fixed point
    :raises InvalidReservationError: if the bandwidth of one vCPU is over the cap
    """
    if wanted.bandwidth <= cap:
        return
    longest = bandwidth.longest_runtime(cap, wanted.period_us)
    lower = (f'lower {RUNTIME} to {longest} or '
             if longest >= bandwidth.MIN_RUNTIME_US else '')
    raise InvalidReservationError(
        f'{wanted.runtime_us} µs every {wanted.period_us} µs is '
        f'{bandwidth.percent(wanted.bandwidth)} of a pCPU, but at most '
        f'{bandwidth.percent(cap)} can be reserved: {lower}raise '
        f'{PERIOD}.')


def init_policy(extra_specs: Mapping[str, object]) -> InitPolicy | None:
    """Return the policy for the container's init, or None if none is asked.

    :raises InvalidReservationError: for an unknown policy, a priority outside
        1 to 99, or a priority without a policy
    """
    policy_name = EXTRA_SPEC_PREFIX + POLICY
    priority_name = EXTRA_SPEC_PREFIX + PRIORITY
    policy = extra_specs.get(policy_name)
    if policy is None:
        if priority_name in extra_specs:
            raise InvalidReservationError(
                f'{priority_name} is set without {policy_name}: set '
                f'{policy_name} to one of {", ".join(POLICIES)} too.')
        return None
    if policy not in POLICIES:
        raise InvalidReservationError(
            f'{policy_name} is {wording.shown(policy)}: give one of '
            f'{", ".join(POLICIES)}.')
    return InitPolicy(policy, _parse_priority(
        extra_specs.get(priority_name, 1)))


def _parse_priority(value: object) -> int:
    name = EXTRA_SPEC_PREFIX + PRIORITY
    priority = parse_number(name, value)
    if not 1 <= priority <= MAX_PRIORITY:
        raise InvalidReservationError(
            f'{name} is {priority}, but a priority must be from 1 to '
            f'{MAX_PRIORITY}.')
    return priority
