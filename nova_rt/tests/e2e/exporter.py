# SPDX-License-Identifier: Apache-2.0
"""nova-rt-exporter on a host of the stack, and a Prometheus that scrapes it."""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
import json
import pathlib
import subprocess
import sys
from typing import Any
import urllib.error
import urllib.parse
import urllib.request

from prometheus_client import parser

from nova_rt.tests.e2e import driver
from nova_rt.tests.e2e import ports
from stack import cloud as stack_cloud
from stack.services import libvirt
from stack.services import nova

ETC = pathlib.Path(__file__).parents[3] / 'etc'
RULES = ETC / 'prometheus/nova-rt.rules.yml'
_LABELS = ('server', 'project', 'dialect', 'vcpu', 'pcpu')
_PROMETHEUS = """\
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: [{rules}]
scrape_configs:
  - job_name: nova-rt
    static_configs: [{{targets: ['127.0.0.1:{port}']}}]
alerting:
  alertmanagers:
    - static_configs: [{{targets: {alertmanagers}}}]
"""


class Exporter:
    """What a host tells.

    :param port: of the exporter
    """

    def __init__(self, port: int) -> None:
        self.port = port

    def scrape(self) -> dict[tuple[str, ...], float]:
        """Return every sample by its name and what its labels say: server first, vCPU or pCPU last.

        :raises OSError: if nothing listens
        """
        with urllib.request.urlopen(f'http://127.0.0.1:{self.port}/metrics') as answer:
            text = answer.read().decode()
        return {(sample.name, *(sample.labels[label] for label in _LABELS
                                if label in sample.labels)): sample.value
                for metric in parser.text_string_to_metric_families(text)
                for sample in metric.samples}

    def agrees(self, used_ns: Callable[[], int], *name: str) -> bool:
        """Return whether a counter of seconds is what the kernel counts meanwhile.

        :param used_ns: reads the kernel's counter
        """
        least = used_ns()
        told = self.scrape()[name]
        most = used_ns()
        print(f'told {told:.6f}, counted {least / 1e9:.6f} to {most / 1e9:.6f}')
        # It is told in whole microseconds.
        return least - 1_000 <= told * 1e9 <= most + 1


class Prometheus:
    """A Prometheus that has scraped an exporter for some seconds.

    :param port: of its own
    """

    def __init__(self, port: int) -> None:
        self._port = port

    def query(self, expression: str) -> list[dict[str, Any]]:
        """Return the series that an expression has now."""
        asked = urllib.parse.urlencode({'query': expression})
        with urllib.request.urlopen(
                f'http://127.0.0.1:{self._port}/api/v1/query?{asked}') as answer:
            result: list[dict[str, Any]] = json.load(answer)['data']['result']
        return result


@contextlib.contextmanager
def running(stack: stack_cloud.Cloud, folder: pathlib.Path) -> Iterator[Exporter]:
    """Run the exporter on the stack's host.

    :param folder: for its own configuration and its log
    """
    port = ports.free()
    own = folder / 'exporter.conf'
    own.write_text(f'[rt]\nmetrics_port = {port}\n')
    with process(folder, 'exporter', *libvirt.inside(
            stack.site, sys.executable, '-m', 'nova_rt.cmd.exporter',
            *nova.arguments(stack.site), '--config-file', str(own))):
        exporter = Exporter(port)
        driver.until(lambda: _answers(exporter.scrape), 'the exporter answers')
        yield exporter


@contextlib.contextmanager
def prometheus(exporter: Exporter, folder: pathlib.Path, rules: pathlib.Path = RULES,
               alertmanagers: Sequence[str] = (), port: int | None = None
               ) -> Iterator[Prometheus]:
    """Run a Prometheus with alerts, by default ours.

    :param folder: for all that it writes
    :param alertmanagers: where it tells of them, as HOST:PORT
    :param port: of its own, by default any
    """
    port = port or ports.free()
    configuration = folder / 'prometheus.yml'
    configuration.write_text(_PROMETHEUS.format(
        rules=rules, port=exporter.port, alertmanagers=[*alertmanagers]))
    with process(folder, 'prometheus', 'prometheus', f'--config.file={configuration}',
                  f'--storage.tsdb.path={folder / "tsdb"}',
                  f'--web.listen-address=127.0.0.1:{port}'):
        server = Prometheus(port)
        driver.until(lambda: _answers(lambda: server.query('nova_rt_up')),
                     'Prometheus has scraped the exporter')
        yield server


def _answers(ask: Any) -> Any:
    try:
        return ask()
    except (urllib.error.URLError, ConnectionError):
        return None


@contextlib.contextmanager
def process(folder: pathlib.Path, name: str, *command: str) -> Iterator[None]:
    """Run a program meanwhile; its log is in the folder."""
    with open(folder / f'{name}.log', 'wb') as log, subprocess.Popen(
            command, stdout=log, stderr=subprocess.STDOUT) as process:
        try:
            yield
        finally:
            process.terminate()
