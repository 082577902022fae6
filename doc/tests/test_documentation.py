# SPDX-License-Identifier: Apache-2.0
"""Every command in the documentation is run by a test, or has a reason why not."""

import itertools

import pytest

from nova_rt.testing import documentation

COMMANDS = list(itertools.chain.from_iterable(
    map(documentation.commands, documentation.pages())))


def test_every_command_is_typed_by_a_test_or_has_a_reason():
    assert [command for command in COMMANDS if command.is_typed
            and command.page not in documentation.TYPED] == []


@pytest.mark.parametrize('page', documentation.TYPED)
def test_a_page_that_is_typed_is_named_by_its_test(page):
    test = documentation.ROOT / documentation.TYPED[page]
    assert f"'{page}'" in test.read_text()


@pytest.mark.parametrize('start', documentation.NOT_TYPED)
def test_what_is_not_typed_stands_somewhere(start):
    assert any(command.text.startswith(start) for command in COMMANDS)


@pytest.mark.parametrize('page', documentation.pages())
def test_commands_stand_in_console_blocks_alone(page):
    text = (documentation.ROOT / page).read_text()
    marked = [line for line in text.splitlines()
              if line.lstrip().startswith('$ ')]
    assert len(marked) == len(
        [command for command in COMMANDS
         if command.page == page and not command.operator])


@pytest.mark.parametrize(('page', 'start', 'typed'), [
    ('README.rst', 'nova-rt-plan simulate', 1),
    ('doc/source/sizing/guide.rst', 'nova-rt-plan size --name sip', 0),
])
def test_a_command_prints_what_the_page_shows(tmp_path, page, start, typed):
    command, = (command for command in documentation.commands(page)
                if command.text.startswith(start))
    answer, shown = command.output[:typed], command.output[typed:]
    printed = documentation.Reader(tmp_path).type(
        command, answer=''.join(f'{line}\n' for line in answer))
    assert [*map(str.rstrip, printed.splitlines())] == [*shown]


def test_the_moves_are_printed_as_the_page_shows(tmp_path):
    page = 'doc/source/operator/making-room.rst'
    (_, lines), = documentation.blocks(page, 'json')
    (tmp_path / 'figure5.jsonl').write_text('\n'.join(filter(None, lines)))
    command, = filter(lambda command: command.is_typed, documentation.commands(page))
    printed = documentation.Reader(tmp_path).type(command)
    assert [line.rstrip() for line in printed.splitlines() if line] == [*command.output]


def test_the_types_are_written_as_the_page_says(tmp_path):
    documentation.Reader(tmp_path).read('doc/source/mano/descriptors.rst')
    assert 'cpu_allocation' in (
        tmp_path / 'nova_rt_nfv_types.yaml').read_text()
