# SPDX-License-Identifier: Apache-2.0
"""A directive that shows how the code refuses a request.

::

    .. refusal::
       :flavor: hw:cpu.rt_runtime_us=60000 hw:cpu.rt_period_us=100000
       :hints: cpu.rt_runtime_us=abc

The sentence comes from the code that nova-api runs, so that the pages cannot quote a
sentence that is never printed. A request that is not refused fails the build.
"""

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

from nova_rt import bandwidth
from nova_rt import conf
from nova_rt import reservation
from nova_rt import shares
from nova_rt import spelling


class Refusal(SphinxDirective):
    """Shows the sentence of a refusal; see the module."""

    option_spec = {  # noqa: RUF012
        'flavor': directives.unchanged,
        'hints': directives.unchanged,
    }

    def run(self) -> list[nodes.Node]:
        """Return the sentence as a literal block."""
        flavor = _pairs(self.options.get('flavor', ''))
        hints = _pairs(self.options.get('hints', ''))
        try:
            _check(flavor, hints)
        except reservation.InvalidReservationError as exc:
            return [nodes.literal_block(
                str(exc), str(exc), language='none',
                classes=['refusal'])]
        raise self.error(f'{self.options} is not refused')


def _pairs(text: str) -> dict[str, str]:
    """Return the words ``name=value`` of a text."""
    return dict(word.split('=', 1) for word in text.split())


def _check(flavor: dict[str, str], hints: dict[str, str]) -> None:
    """Check as nova_rt.api.checks does: without hints, the flavor alone."""
    cap = next(option.default for option in conf.COMMON_OPTS
               if option.name == 'cap')
    spelling.check_hint_names(hints)
    spelling.check_extra_spec_names(flavor)
    shares.check_extra_spec(flavor, vcpus=1)
    wanted = reservation.described(flavor, vcpus=1)
    if wanted is None or hints:
        wanted = reservation.requested(flavor, hints, vcpus=1)
    if wanted:
        reservation.check_cap(wanted, bandwidth.fraction_to_bandwidth(cap))


def setup(app: object) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive('refusal', Refusal)  # type: ignore[attr-defined]
    return {'parallel_read_safe': True}
