# SPDX-License-Identifier: Apache-2.0
"""nova-rt-exporter on a host of the stack, and a Prometheus that scrapes it."""

from collections.abc import Iterator
import contextlib
import dataclasses
import json
import pathlib
import socket
import subprocess
import sys
import time
from typing import Any
import urllib.error
import urllib.parse
import urllib.request

from prometheus_client import parser

from nova_rt.tests.e2e import driver
from stack import cloud as stack_cloud
from stack.services import libvirt
from stack.services import nova

ETC = pathlib.Path(__file__).parents[3] / 'etc'
_LABELS = ('server', 'project', 'dialect', 'pcpu')
_PROMETHEUS = """\
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: [{rules}]
scrape_configs:
  - job_name: nova-rt
    static_configs: [{{targets: ['127.0.0.1:{port}']}}]
"""


@dataclasses.dataclass(frozen=True)
class Scrape:
    """What was told at one time.

    :ivar at: halfway through the scrape, in seconds
    :ivar samples: by name and what the labels say: server first, pCPU last
    """

    at: float
    samples: dict[tuple[str, ...], float]

    def rate(self, before: 'Scrape', *name: str) -> float:
        """Return by how much a counter has grown since an earlier scrape, per second."""
        return (self.samples[name] - before.samples[name]) / (self.at - before.at)


class Exporter:
    """What a host tells.

    :param port: of the exporter
    """

    def __init__(self, port: int) -> None:
        self.port = port

    def scrape(self) -> Scrape:
        """Return every sample.

        :raises OSError: if nothing listens
        """
        began = time.monotonic()
        with urllib.request.urlopen(f'http://127.0.0.1:{self.port}/metrics') as answer:
            text = answer.read().decode()
        return Scrape((began + time.monotonic()) / 2, {
            (sample.name, *(sample.labels[label] for label in _LABELS
                            if label in sample.labels)): sample.value
            for metric in parser.text_string_to_metric_families(text)
            for sample in metric.samples})


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


def free_port() -> int:
    """Return a port on which nothing listens."""
    with socket.socket() as own:
        own.bind(('127.0.0.1', 0))
        return int(own.getsockname()[1])


@contextlib.contextmanager
def running(stack: stack_cloud.Cloud, folder: pathlib.Path) -> Iterator[Exporter]:
    """Run the exporter on the stack's host.

    :param folder: for its own configuration and its log
    """
    port = free_port()
    own = folder / 'exporter.conf'
    own.write_text(f'[rt]\nmetrics_port = {port}\n')
    with _process(folder, 'exporter', *libvirt.inside(
            stack.site, sys.executable, '-m', 'nova_rt.cmd.exporter',
            *nova.arguments(stack.site), '--config-file', str(own))):
        exporter = Exporter(port)
        driver.until(lambda: _answers(exporter.scrape), 'the exporter answers')
        yield exporter


@contextlib.contextmanager
def prometheus(exporter: Exporter, folder: pathlib.Path) -> Iterator[Prometheus]:
    """Run a Prometheus with our alerts.

    :param folder: for all that it writes
    """
    port = free_port()
    configuration = folder / 'prometheus.yml'
    configuration.write_text(_PROMETHEUS.format(
        rules=ETC / 'prometheus/nova-rt.rules.yml', port=exporter.port))
    with _process(folder, 'prometheus', 'prometheus', f'--config.file={configuration}',
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
def _process(folder: pathlib.Path, name: str, *command: str) -> Iterator[None]:
    with open(folder / f'{name}.log', 'wb') as log, subprocess.Popen(
            command, stdout=log, stderr=subprocess.STDOUT) as process:
        try:
            yield
        finally:
            process.terminate()
