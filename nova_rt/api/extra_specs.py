# SPDX-License-Identifier: Apache-2.0
"""Validators of our flavor extra specs, for nova.api.extra_spec_validators.

From microversion 2.86 on, Nova refuses an extra spec in a namespace that it
knows (``hw:``) unless a validator of that name is registered. Nova looks at
one extra spec at a time; what they are together is for
:mod:`nova_rt.api.paste_filter`, at every microversion.
"""


from nova import exception
from nova.api.validation.extra_specs import base

from nova_rt import bandwidth
from nova_rt import criticality
from nova_rt import elastic
from nova_rt import reservation


class ReservationValidator(base.ExtraSpecValidator):
    """A validator that answers in the sentences of nova_rt.reservation.

    Nova's own would pass what int() reads: ``1_000`` and unicode digits.
    """

    def validate(self, name: str, value: object) -> None:
        """Check one value.

        :raises nova.exception.ValidationError: answered by Nova as HTTP 400
        """
        try:
            if name == criticality.EXTRA_SPEC:
                criticality.parse(name, value)
            elif name == elastic.EXTRA_SPEC:
                elastic.parse(name, value)
            else:
                reservation.check_extra_spec(name, value)
        except reservation.InvalidReservationError as exc:
            raise exception.ValidationError(str(exc)) from exc


def register() -> list[base.ExtraSpecValidator]:
    """Return the validators; the entry point's contract with Nova."""
    runtime, period, policy, priority = reservation.EXTRA_SPECS
    return [
        ReservationValidator(
            name=runtime,
            description=(
                'The runtime in µs that each vCPU is guaranteed every '
                'period.'),
            value={'type': int, 'min': bandwidth.MIN_RUNTIME_US,
                   'max': bandwidth.MAX_PERIOD_US}),
        ReservationValidator(
            name=period,
            description='The period in µs of the reservation.',
            value={'type': int, 'min': bandwidth.MIN_PERIOD_US,
                   'max': bandwidth.MAX_PERIOD_US}),
        ReservationValidator(
            name=policy,
            description=(
                'The scheduling policy of the container\'s init. Without it, '
                'the application sets its own.'),
            value={'type': str, 'enum': list(reservation.POLICIES)}),
        ReservationValidator(
            name=priority,
            description=f'The priority of init under {policy}, 1 if not set.',
            value={'type': int, 'min': 1, 'max': reservation.MAX_PRIORITY}),
        ReservationValidator(
            name=criticality.EXTRA_SPEC,
            description=(
                'How bad it is if the server misses its deadlines; C is the highest.'),
            value={'type': str, 'enum': [*criticality.Criticality.__members__]}),
        ReservationValidator(
            name=elastic.EXTRA_SPEC,
            description=(
                'The least runtime in µs that the server can live with while a more critical '
                'one needs the rest.'),
            value={'type': int, 'min': bandwidth.MIN_RUNTIME_US,
                   'max': bandwidth.MAX_PERIOD_US}),
    ]
