# SPDX-License-Identifier: Apache-2.0
"""The commands in the documentation, typed as they stand there.

What follows ``$`` is typed by a user, what follows ``#`` by the operator.
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

# Pages whose commands are typed, and the tests that do so.
CLOUD = 'nova_rt/tests/e2e/test_documentation.py'
MANO = 'tacker_rt/tests/e2e/test_documentation.py'
TYPED = {
    'README.rst': CLOUD,
    'doc/source/mano/deploy.rst': MANO,
    'doc/source/mano/descriptors.rst':
        'nova_rt/tests/unit/test_documentation.py',
    'doc/source/operator/audit.rst': CLOUD,
    'doc/source/operator/changes.rst': CLOUD,
    'doc/source/operator/install.rst': CLOUD,
    'doc/source/operator/kernels.rst': CLOUD,
    'doc/source/operator/placement.rst': CLOUD,
    'doc/source/operator/troubleshooting.rst': CLOUD,
    'doc/source/operator/upgrade.rst': CLOUD,
    'doc/source/sizing/guide.rst': CLOUD,
    'doc/source/stack.rst': MANO,
    'doc/source/user/applications.rst': CLOUD,
    'doc/source/user/refusals.rst': CLOUD,
    'doc/source/user/reservations.rst': CLOUD,
}

# Commands, by how they begin, that no test types, and why.
NOT_TYPED = {
    'apt-get install': 'tools/prepare installs the same by bindep.txt',
    'git clone': 'the tests are in the clone',
    'pip install': 'tox installs the same from the same directory',
    'make demo': 'takes minutes; the end-to-end tests do what it does',
    '.tox/nova/bin/pytest': 'this is how the tests run',
    '.tox/nova/bin/python -m stack': 'doc/source/stack.rst has the same',
    'eval "$(.tox/nova/bin/python -m stack':
        'doc/source/stack.rst has the same',
    '.tox/nova/bin/openstack': 'doc/source/stack.rst has the same',
    'make test-kernel': 'make test calls it',
    'make test-guest': 'it is a test',
    'FULL=1': 'takes hours',
    "ONLY='ours 2 v1' make test-kernel": 'make test calls it with ONLY=1cpu',
    'python -m stack --run-dir run/stack up': 'the tests start it so',
    'python -m stack --run-dir run/stack down': 'the tests end it so',
    'xzcat /usr/src/linux-config': 'for the next command',
    'kernel/build deb': 'takes an hour',
    'make experiments': 'takes long; make test runs small versions of them',
    'dpkg -i': 'would change the machine',
    'reboot': 'would change the machine',
    'cp /usr/local/share/nova-rt/systemd':
        'etc/tests/test_systemd.py checks the units',
    'systemctl': 'would change the machine; test_systemd.py checks the units',
    'kolla-ansible deploy': 'needs a cloud that Kolla has deployed',
    'ansible-playbook -i INVENTORY': 'kolla/tests/test_ansible.py plays it',
    'kolla-build':
        'needs Docker; kolla/tests/test_images.py renders the templates',
    'cp -r kolla/ansible/config': 'kolla/tests/test_ansible.py reads these',
    'cp kolla/ansible/globals.d': 'kolla/tests/test_ansible.py reads these',
    'tempest run': 'make test-tempest runs it',
    'echo 900000 1000000 >': 'of a kernel with hcbs-max; the stand-in has it',
    'echo 1000000 >': 'of a kernel with hcbs-list; the stand-in has it',
    'echo 900000 >': 'of a kernel with hcbs-list; the stand-in has it',
}


class Command(NamedTuple):
    """One command of a page.

    :ivar line: where it begins, from 1.
    :ivar operator: whether it is typed by the operator.
    :ivar text: on one line, without prompt.
    :ivar output: what the page shows after it.
    """

    page: str
    line: int
    operator: bool
    text: str
    output: tuple[str, ...]

    @property
    def is_typed(self) -> bool:
        """Whether it is among those that tests type."""
        return not self.text.startswith(tuple(NOT_TYPED))


def pages() -> list[str]:
    """Return all pages, relative to the top."""
    found = [*ROOT.glob('*.rst'), *(ROOT / 'doc' / 'source').rglob('*.rst')]
    return sorted(str(path.relative_to(ROOT)) for path in found)


def commands(page: str) -> list[Command]:
    """Return the commands in the console blocks of a page, in order."""
    return [command for start, block in blocks(page, 'console')
            for command in _in_block(page, start, block)]


def blocks(page: str, language: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number before each code block, and its lines unindented.
    """
    lines = (ROOT / page).read_text().splitlines()
    for number, line in enumerate(lines, 1):
        directive = re.match(rf'( *)\.\. code-block:: {language}$', line)
        if directive:
            block = []
            for each in lines[number:]:
                if each and not each.startswith(directive[1] + '   '):
                    break
                block.append(each)
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
    """Who types the commands of a page, in a terminal for each of two roles.

    :param directory: where it is done.
    :param user: the user's variables of the environment.
    :param operator: those of the operator.
    :param names: what stands for the names in capitals; a function is called
        when the name is met.
    :param wrap: makes the arguments that run another command of what they run;
        for a terminal that is not simply here.
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
        """Type all commands of a page that can be typed here.

        :param fails: how commands begin that end with another status than 0.
        :param answers: what is typed into commands, by how they begin.
        :raises AssertionError: if one does not end as it should.
        """
        for command in commands(page):
            if command.is_typed:
                self.type(
                    command, command.text.startswith(fails),
                    next((answer for start, answer in (answers or {}).items()
                          if command.text.startswith(start)), ''))

    def type(self, command: Command, fails: bool = False,
             answer: str = '') -> str:
        """Type one command and return what it prints.

        :param fails: whether it ends with another status than 0.
        :param answer: what is typed while it runs.
        :raises AssertionError: if it does not end as it should.
        """
        text = self._named(command.text)
        kept = self._directory / '.environment'
        environment = self._environments[command.operator]
        # What wraps it may begin in another directory.
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
            each.split('=', 1)
            for each in kept.read_text().split('\0') if each)
        return done.stdout

    def _named(self, text: str) -> str:
        for name, value in self._names.items():
            word = rf'(?<!\w){re.escape(name)}(?!\w)'
            if re.search(word, text):
                text = re.sub(
                    word, value if isinstance(value, str) else value(), text)
        return text


def _outside() -> dict[str, str]:
    """Return this process's environment, with our commands in the path."""
    kept = {key: value for key, value in os.environ.items()
            if not key.startswith('OS_')}
    packages = os.pathsep.join((str(ROOT), kept.get('PYTHONPATH', '')))
    return {**kept, 'PYTHONWARNINGS': 'ignore', 'PYTHONPATH': packages,
            'PATH': f'{pathlib.Path(sys.prefix) / "bin"}:{os.environ["PATH"]}'}
