# SPDX-License-Identifier: Apache-2.0
"""Tacker's auto-healing, which first asks nova-rt for more.

tacker-server loads it where tacker.conf says so::

  [prometheus_plugin]
  auto_healing = true
  auto_healing_package = tacker_rt.auto_healing
  auto_healing_class = AutoHealing

Alerts with the label ``remedy: raise`` are about missed deadlines. The VNFC's reservation is
raised in place; only if that does not help, Tacker heals it. All others are Tacker's own.
"""

from collections.abc import Iterable
import datetime
from typing import Any

from oslo_config import cfg
from oslo_log import log as logging
from tacker.sol_refactored.api import validator
from tacker.sol_refactored.api.schemas import prometheus_plugin_schemas
from tacker.sol_refactored.common import coordinate
from tacker.sol_refactored.common import exceptions
from tacker.sol_refactored.common import lcm_op_occ_utils
from tacker.sol_refactored.common import monitoring_plugin_base
from tacker.sol_refactored.common import prometheus_plugin
from tacker.sol_refactored.common import vnf_instance_utils

from tacker_rt import raising
from tacker_rt import vim_compute
from tacker_rt import vnfcs

LOG = logging.getLogger(__name__)
CONF = cfg.CONF

GROUP = 'nova_rt'
OPTIONS = [
    cfg.IntOpt('raise_percent', default=25, min=1, help=(
        'By how much of what a VNFC has, its reservation is raised at a time; never above what '
        'its flavor reserves.')),
    cfg.IntOpt('raise_wait', default=300, min=1, help=(
        'For how many seconds after that nothing more is done for the VNFC. Longer than the '
        'alert needs to end when no deadline is missed any more.')),
    cfg.StrOpt('when_refused', default='leave', choices=[
        ('heal', 'make the VNFC anew'), ('leave', 'leave it alone')], help=(
            'What happens to a VNFC that misses deadlines, and for which nova-rt has refused '
            'more: most often, its host has no room. Heat makes the new server before it '
            'deletes the old one, so healing fails unless there is room for both.')),
]
CONF.register_opts(OPTIONS, GROUP)

_OPENSTACK = 'OPENSTACK'


class AutoHealing(prometheus_plugin.PrometheusPluginAutoHealing):
    """What tacker-server gives alerts to."""

    @staticmethod
    def instance() -> Any:
        """Return the only one; see base class."""
        base = prometheus_plugin.PrometheusPluginAutoHealing
        if base._instance is None:
            if not CONF.prometheus_plugin.auto_healing:
                base._instance = monitoring_plugin_base.MonitoringPluginStub.instance()
            else:
                AutoHealing()
        return base._instance

    @validator.schema_nover(prometheus_plugin_schemas.AlertMessage)
    def _alert(self, request: Any, body: dict[str, Any]) -> None:
        """Take the alerts to which a larger reservation is the answer; Tacker heals the others."""
        known = vnfcs.all_of(vnf_instance_utils.get_inst_all(request.context))
        left = [alert for alert in body['alerts'] if _is_ours(alert)
                and _is_to_be_healed(request.context, alert, known)]
        super()._alert(request, body={**body, 'alerts': left})


def _is_ours(alert: dict[str, Any]) -> bool:
    return bool(alert['status'] == 'firing'
                and alert['labels']['function_type'] == 'auto_heal')


def _is_to_be_healed(context: Any, alert: dict[str, Any], known: Iterable[vnfcs.Vnfc]) -> bool:
    """Return whether an alert is left to Tacker; name the VNFC in it as Tacker does."""
    labels = alert['labels']
    vnfc = vnfcs.find(labels, known)
    if vnfc is None:
        # Without Tacker's labels: a server of somebody else's, or one that was just replaced.
        return vnfcs.VNF in labels and vnfcs.VNFC in labels
    labels.update({vnfcs.VNF: vnfc.vnf.id, vnfcs.VNFC: vnfc.id})
    if labels.get('remedy') != 'raise' or not vnfc.is_healed:
        return True
    vim = vnf_instance_utils.select_vim_info(vnfc.vnf.vimConnectionInfo)
    if _OPENSTACK not in vim.vimType:
        return True
    try:
        return _is_hopeless(context, vnfc.vnf.id, vnfc.server, vim_compute.Compute(vim))
    except (exceptions.SolException, vim_compute.UnansweredError) as exc:
        LOG.warning('Server %s misses deadlines, and nothing is done for it now: %s',
                    vnfc.server, exc)
        return False


@coordinate.lock_vnf_instance('{vnf}')
def _is_hopeless(context: Any, vnf: str, server: str, compute: vim_compute.Compute) -> bool:
    """Take the next step for a server; return whether it is to be healed.

    Tacker's own operations on the VNF, and other processes that hear the same alert, are kept
    out meanwhile.

    :raises OtherOperationInProgress: if one of them is under way, or has failed
    """
    lcm_op_occ_utils.check_lcmocc_in_progress(context, vnf)
    shown = compute.show(server)
    if shown is None:
        return False
    now = datetime.datetime.now(datetime.UTC)
    rules = raising.Rules(CONF.nova_rt.raise_percent,
                          datetime.timedelta(seconds=CONF.nova_rt.raise_wait))
    step, runtime_us = raising.next_step(shown, rules, now)
    if step is raising.Step.RAISE:
        # First, so that whoever hears the alert next waits, though this process ends here.
        compute.mark(server, now)
        return _is_refused(compute, server, runtime_us) and CONF.nova_rt.when_refused == 'heal'
    if step is raising.Step.HEAL:
        LOG.warning('Server %s misses deadlines and has all that its flavor reserves: it is '
                    'made anew.', server)
    return step is raising.Step.HEAL


def _is_refused(compute: vim_compute.Compute, server: str, runtime_us: int) -> bool:
    """Raise a server; return whether that was refused for good."""
    refusal = _refusal(compute, server, runtime_us)
    if not refusal:
        LOG.info('Server %s misses deadlines: its runtime is raised to %d µs.',
                 server, runtime_us)
        return False
    LOG.warning('Server %s misses deadlines, and its runtime is not raised to %d µs: %s '
                '[nova_rt] when_refused = %s.', server, runtime_us, refusal,
                CONF.nova_rt.when_refused)
    return not _is_overtaken(compute, server)


def _refusal(compute: vim_compute.Compute, server: str, runtime_us: int) -> str:
    """Raise a server; return why that was refused, '' if it was not."""
    try:
        compute.set_runtime(server, runtime_us)
    except vim_compute.RefusedError as exc:
        return str(exc)
    return ''


def _is_overtaken(compute: vim_compute.Compute, server: str) -> bool:
    """Return whether a refusal was for what somebody does to the server, which passes."""
    shown = compute.show(server)
    return shown is None or shown.busy
