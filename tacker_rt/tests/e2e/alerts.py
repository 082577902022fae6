# SPDX-License-Identifier: Apache-2.0
"""From missed deadlines to Tacker: exporter, Prometheus, Alertmanager, with shorter times."""

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
MISSING = next((f'There is no {each}.' for each in ('prometheus', PROGRAM)
                if shutil.which(each) is None), '')
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
    rules = folder / 'nova-rt-tacker.rules.yml'
    rules.write_text(_shortened(rules.name))
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


def _shortened(name: str) -> str:
    text = (_FILES / name).read_text()
    for long, short in _SHORTER.items():
        text = text.replace(long, short)
    return text
