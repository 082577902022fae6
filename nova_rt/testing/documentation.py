# SPDX-License-Identifier: Apache-2.0
"""The commands in the documentation, run as they are written there.

A user types what follows ``$``, the operator what follows ``#``.
"""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
import os
import pathlib
import re
import subprocess
import sys
import textwrap
from typing import NamedTuple

ROOT = pathlib.Path(__file__).parents[2]

# Pages whose commands are run, and the tests that run them.
CLOUD = 'nova_rt/tests/e2e/test_documentation.py'
MANO = 'tacker_rt/tests/e2e/test_documentation.py'
TYPED = {
    'README.rst': CLOUD,
    'doc/source/mano/deploy.rst': MANO,
    'doc/source/mano/descriptors.rst':
        'doc/tests/test_documentation.py',
    'doc/source/operator/audit.rst': CLOUD,
    'doc/source/operator/changes.rst': CLOUD,
    'doc/source/operator/install.rst': CLOUD,
    'doc/source/operator/kernels.rst': CLOUD,
    'doc/source/operator/making-room.rst':
        'doc/tests/test_documentation.py',
    'doc/source/operator/placement.rst': CLOUD,
    'doc/source/operator/troubleshooting.rst': CLOUD,
    'doc/source/operator/upgrade.rst': CLOUD,
    'doc/source/operator/view.rst': CLOUD,
    'doc/source/sizing/guide.rst': CLOUD,
    'doc/source/stack.rst': MANO,
    'doc/source/user/applications.rst': CLOUD,
    'doc/source/user/refusals.rst': CLOUD,
    'doc/source/user/reservations.rst': CLOUD,
}

# Commands that no test runs, by their beginnings, and why not.
NOT_TYPED = {
    'apt-get install': 'tools/prepare installs the packages of bindep.txt',
    'git clone': 'the tests are in the clone',
    'pip install': 'tox installs the same directory',
    'make demo': 'takes minutes; the end-to-end tests do the same',
    '.tox/nova/bin/pytest': 'this is how the tests run',
    '.tox/nova/bin/python -m stack': 'doc/source/stack.rst has the same command',
    'eval "$(.tox/nova/bin/python -m stack':
        'doc/source/stack.rst has the same command',
    '.tox/nova/bin/openstack': 'doc/source/stack.rst has the same command',
    'make test-kernel': 'make test calls it',
    'buildah bud -t localhost/nova-rt-dra':
        'kubernetes/worker/driver-image does, without a registry',
    'kubectl apply -k kubernetes/deploy': 'kubernetes/tests/install_test.go applies the same files',
    'make test-guest': 'it is a test',
    'FULL=1 make test-kolla': 'it is a test',
    'NOVA_RT_REACTIONS_SEQUENCES=2000': 'takes an hour; make test runs ten of them',
    'FULL=1': 'takes hours',
    'FRESH_ROOT=': 'takes minutes; tools/tests/test_fresh_root.py runs it with stand-ins',
    "ONLY='ours 2 v1' make test-kernel": 'make test calls it with ONLY=1cpu',
    'python -m stack --run-dir run/stack up': 'the tests start it so',
    'python -m stack --run-dir run/stack down': 'the tests end it so',
    'kernel/build deb': 'takes an hour',
    'make -C jobs install': 'jobs/tests/test_library.py installs it into a folder of its own',
    'mount -t tmpfs': 'would change the machine; the tests of nova_rt/monitor mount their own',
    'nova-rt-run': 'jobs/tests/test_nova_rt_run.py runs it with programs of its own',
    'make experiments': 'takes hours; make test runs small versions',
    'dpkg -i': 'would change the machine',
    'reboot': 'would change the machine',
    'cp /usr/local/share/nova-rt/systemd':
        'etc/tests/test_systemd.py checks the units',
    'systemctl': 'would change the machine; test_systemd.py checks the units',
    'kolla-ansible deploy': 'needs a cloud that Kolla has deployed',
    '. /etc/kolla/admin-openrc.sh': 'needs a cloud that Kolla has deployed',
    'ansible-playbook -i INVENTORY': 'kolla/tests/test_ansible.py plays it',
    'kolla-build':
        'needs Docker; kolla/tests/test_images.py renders the templates',
    'cp HORIZON_RT/enabled': 'stack/services/horizon.py has Horizon read the same file',
    'cp -r kolla/ansible/': 'kolla/tests/test_ansible.py reads these',
    'openstack service create --name nova-rt': 'the stack has it (stack/services/keystone.py)',
    'openstack endpoint create --region RegionOne rt': 'the stack has it, too',
    'openstack registered limit create': 'nova_rt/tests/e2e/test_limits.py has it by the API',
    'openstack limit create': 'nova_rt/tests/e2e/test_limits.py has it by the API',
    'openstack flavor set rt1 --property resources:CUSTOM_RT_SHARE':
        'nova_rt/tests/functional/api/test_flavor_extra_specs.py sets it',
    'openstack flavor set rt1 --property hw:cpu.rt_min_runtime_us':
        'nova_rt/tests/functional/api/test_elastic.py sets it',
    'openstack flavor set arm': 'nova_rt/tests/functional/test_criticality.py sets it',
    'openstack server create slam': 'nova_rt/tests/functional/test_criticality.py asks the API',
    'openstack server event': 'nova_rt/tests/e2e/test_misses.py asks the API',
    'openstack rt waiting list': 'nova_rt/tests/functional/rest/test_commands.py runs it',
    'openstack rt defrag': 'test_defrag.py and test_between.py in nova_rt/tests/functional/rest '
                           'run it; those in nova_rt/tests/unit/osc print what is shown',
    'openstack optimize': 'nova_rt/tests/e2e/cloud_of_machines/test_watcher.py types the first '
                          'and asks the API for the others',
    'curl -s -H "X-Auth-Token': 'needs a token; test_openstack_rt.py asks the API',
    'nova-rt-manage uninstall': 'nova_rt/tests/e2e/removal runs it',
    'nova-rt-manage paste remove': 'nova_rt/tests/e2e/removal runs it',
    'nova-rt-manage db downgrade': 'nova_rt/tests/e2e/removal runs it',
    'openstack server reboot --hard': 'nova_rt/tests/e2e/removal asks the API',
    'rm /etc/systemd/system': 'would change the machine',
    'pip uninstall': 'would take nova-rt from the tests',
    'tacker-rt claims': 'tacker_rt/tests/unit/test_manifests.py runs it',
    'tacker-rt vdus': 'tacker_rt/tests/unit/test_manifests.py runs it',
    'tacker-rt validate containers.csar': 'tacker_rt/tests/unit/test_manifests.py runs it',
    'openstack vnflcm update': 'tacker_rt/tests/e2e/test_healing.py types it',
    'openstack stack create -t tosca/hot/alarm.yaml':
        'tacker_rt/tests/e2e/test_alarms.py types it',
    'tempest run': 'make test-tempest runs it',
    'echo 900000 1000000 >': 'needs a kernel with hcbs-max; the stand-in covers it',
    'echo 1000000 >': 'needs a kernel with hcbs-list; the stand-in covers it',
    'echo 900000 >': 'needs a kernel with hcbs-list; the stand-in covers it',
}


class Command(NamedTuple):
    """One command of a page.

    :ivar line: number of its first line, from 1.
    :ivar operator: whether the operator types it.
    :ivar text: the command on one line, without prompt.
    :ivar output: the lines that the page shows after it.
    """

    page: str
    line: int
    operator: bool
    text: str
    output: tuple[str, ...]

    @property
    def is_typed(self) -> bool:
        """Whether a test runs it."""
        return not self.text.startswith(tuple(NOT_TYPED))


def pages() -> list[str]:
    """Return the paths of all pages, relative to the repository."""
    paths = [*ROOT.glob('*.rst'), *(ROOT / 'doc' / 'source').rglob('*.rst')]
    return sorted(str(path.relative_to(ROOT)) for path in paths)


def commands(page: str) -> list[Command]:
    """Return the commands in the console blocks of a page, in order."""
    return [command for start, block in blocks(page, 'console')
            for command in _in_block(page, start, block)]


def blocks(page: str, language: str) -> Iterator[tuple[int, list[str]]]:
    """Yield each code block: the number of its directive's line, its lines."""
    lines = (ROOT / page).read_text().splitlines()
    for number, line in enumerate(lines, 1):
        directive = re.match(rf'( *)\.\. code-block:: {language}$', line)
        if directive:
            block = []
            for content in lines[number:]:
                if content and not content.startswith(directive[1] + '   '):
                    break
                block.append(content)
            yield number, textwrap.dedent('\n'.join(block)).splitlines()


def _in_block(page: str, start: int, block: list[str]) -> Iterator[Command]:
    text: list[str] = []
    output: list[str] = []
    first, operator = 0, False
    for number, line in enumerate(
            [*map(str.strip, block), '$ '], start + 1):
        if text and text[-1].endswith('\\'):
            text[-1] = text[-1][:-1].strip()
            text.append(line)
        elif line.startswith(('$ ', '# ')):
            if text:
                yield Command(
                    page, first, operator, ' '.join(text), tuple(output))
            first, operator, text, output = number, line[0] == '#', [line[2:]], []
        elif line:
            output.append(line)


class Reader:
    """Runs the commands of a page, with one environment for each role.

    :param directory: the working directory.
    :param user: environment variables of the user.
    :param operator: environment variables of the operator.
    :param names: values of the page's placeholders; a function is called when
        its placeholder is reached.
    :param wrap: turns a command's words into those that run it elsewhere, for
        example in another namespace.
    """

    def __init__(self, directory: pathlib.Path,
                 user: Mapping[str, str] | None = None,
                 operator: Mapping[str, str] | None = None,
                 names: Mapping[str, str | Callable[[], str]] | None = None,
                 wrap: Callable[..., tuple[str, ...]] = lambda *words: words,
                 ) -> None:
        self._directory = directory
        self._names = names or {}
        self._wrap = wrap
        self._environments = {
            operates: {**_outside(), 'PWD': str(directory),
                       **(variables or {})}
            for operates, variables in ((False, user), (True, operator))}

    def read(self, page: str, fails: tuple[str, ...] = (),
             answers: Mapping[str, str] | None = None) -> None:
        """Run those commands of a page that tests run.

        :param fails: beginnings of commands that must fail.
        :param answers: standard input of commands, by their beginnings.
        :raises AssertionError: if a command succeeds or fails unexpectedly.
        """
        for command in commands(page):
            if command.is_typed:
                self.type(
                    command, command.text.startswith(fails),
                    next((answer for start, answer in (answers or {}).items()
                          if command.text.startswith(start)), ''))

    def type(self, command: Command, fails: bool = False,
             answer: str = '') -> str:
        """Run one command and return its standard output.

        :param fails: whether it must fail.
        :param answer: its standard input.
        :raises AssertionError: if it succeeds or fails unexpectedly.
        """
        text = self._named(command.text)
        kept = self._directory / '.environment'
        environment = self._environments[command.operator]
        # The wrapping command may change the directory.
        done = subprocess.run(
            self._wrap('bash', '-c',
                       f'cd {environment["PWD"]}\n{text}\n'
                       f'status=$?; env -0 > {kept}; exit $status'),
            env=environment, input=answer, capture_output=True, text=True,
            timeout=300, check=False)
        where = f'{command.page}:{command.line}: {text}'
        assert (done.returncode != 0) == fails, (
            f'{where}\n{done.returncode}\n{done.stdout}{done.stderr}')
        self._environments[command.operator] = dict(
            variable.split('=', 1)
            for variable in kept.read_text().split('\0') if variable)
        return done.stdout

    def _named(self, text: str) -> str:
        for name, value in self._names.items():
            word = rf'(?<!\w){re.escape(name)}(?!\w)'
            if re.search(word, text):
                text = re.sub(
                    word, value if isinstance(value, str) else value(), text)
        return text


def _outside() -> dict[str, str]:
    """Return this process's environment, with our programs in the path."""
    kept = {key: value for key, value in os.environ.items()
            if not key.startswith('OS_')}
    packages = os.pathsep.join((str(ROOT), kept.get('PYTHONPATH', '')))
    return {**kept, 'PYTHONWARNINGS': 'ignore', 'PYTHONPATH': packages,
            'PATH': f'{pathlib.Path(sys.prefix) / "bin"}:{os.environ["PATH"]}'}
