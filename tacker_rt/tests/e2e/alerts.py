# SPDX-License-Identifier: Apache-2.0
"""From missed deadlines to Tacker and Aodh: exporter, Prometheus, Alertmanager; shorter times."""

from collections.abc import Iterator
import contextlib
import pathlib
import shutil

from nova_rt.tests.e2e import driver
from nova_rt.tests.e2e import exporter
from nova_rt.tests.e2e import ports
from stack import cloud as stack_cloud
from stack import service

PROGRAM = 'prometheus-alertmanager'
NO_PROMETHEUS = '' if shutil.which('prometheus') else 'There is no prometheus.'
NO_ALERTMANAGER = NO_PROMETHEUS or ('' if shutil.which(PROGRAM) else f'There is no {PROGRAM}.')
_FILES = exporter.ETC / 'prometheus'
# A minute and two are too long for a test.
_SHORTER = {'[2m]': '[10s]', 'for: 1m': 'for: 2s', 'group_wait: 10s': 'group_wait: 1s',
            'group_interval: 1m': 'group_interval: 2s',
            'repeat_interval: 1m': 'repeat_interval: 2s'}


@contextlib.contextmanager
def told_to_tacker(stack: stack_cloud.Cloud, folder: pathlib.Path) -> Iterator[None]:
    """Tell Tacker of what our rule says about this host's servers.

    :param folder: for all that is written
    """
    rules = _rules(folder, 'nova-rt-tacker.rules.yml')
    configuration = folder / 'alertmanager.yml'
    configuration.write_text(_shortened('alertmanager-tacker.yml').replace(
        'http://controller:9890', stack.site.url('tacker-server')))
    port = ports.free()
    with exporter.running(stack, folder) as exported, exporter.process(
            folder, PROGRAM, PROGRAM, f'--config.file={configuration}',
            f'--storage.path={folder / "alerts"}', '--cluster.listen-address=',
            f'--web.listen-address=127.0.0.1:{port}'):
        driver.until(lambda: service.answers(f'http://127.0.0.1:{port}/-/ready'),
                     'Alertmanager is ready')
        with exporter.prometheus(exported, folder, rules, [f'127.0.0.1:{port}']):
            yield


@contextlib.contextmanager
def asked_by_aodh(stack: stack_cloud.Cloud, folder: pathlib.Path) -> Iterator[None]:
    """Run what Aodh asks about this host's servers.

    :param folder: for all that is written
    """
    rules = _rules(folder, 'nova-rt-aodh.rules.yml')
    with exporter.running(stack, folder) as exported, exporter.prometheus(
            exported, folder, rules, port=stack.site.port('prometheus')):
        yield


def _rules(folder: pathlib.Path, name: str) -> pathlib.Path:
    path = folder / name
    path.write_text(_shortened(name))
    return path


def _shortened(name: str) -> str:
    text = (_FILES / name).read_text()
    for long, short in _SHORTER.items():
        text = text.replace(long, short)
    return text
