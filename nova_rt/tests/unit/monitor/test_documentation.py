# SPDX-License-Identifier: Apache-2.0
"""What the user guide says of records is true."""

import re
import struct
import time

from nova_rt.monitor import folder
from nova_rt.monitor import pace
from nova_rt.monitor import record
from nova_rt.monitor import watched
from nova_rt.testing import documentation
from nova_rt.testing import jobs

PAGE = 'doc/source/user/misses.rst'


def test_the_python_example_writes_what_the_host_reads(tmp_path):
    (_, lines), = documentation.blocks(PAGE, 'python')
    namespace = {}
    exec('\n'.join(lines), namespace)
    activity = namespace['Activity']('control', 10 * jobs.MS, 8 * jobs.MS, tmp_path)
    activity.end(time.monotonic_ns())
    assert list(tmp_path.iterdir()) == []
    for _ in range(2):
        activity.end(1)
    path, = tmp_path.iterdir()
    found = record.decode(path.read_bytes())
    assert (found.name, found.jobs, found.misses, found.consecutive) == ('control', 3, 2, 2)


def test_the_table_has_the_layout_of_the_header():
    text = (documentation.ROOT / PAGE).read_text()
    table = re.findall(r'^   \* - (\d+)\n     - (\d+)\n     -(?: ``(\w+)``)?$', text,
                       re.MULTILINE)
    header = (jobs.SOURCES / 'record.h').read_text()
    fields = re.findall(r'^\t(?:_Atomic )?(char|uint(\d+)_t) (\w+)(?:\[(\w+)\])?;$', header,
                        re.MULTILINE)
    lengths = {'4': 4, 'RECORD_NAME': 64}
    at, expected = 0, []
    for _, bits, name, length in fields:
        size = int(bits) // 8 if bits else lengths[length]
        expected.append((str(at), str(size), '' if name == 'reserved' else name))
        at += size
    assert table == expected
    assert at == record.SIZE


def test_the_layout_in_the_example_is_that_of_the_reader():
    text = (documentation.ROOT / PAGE).read_text()
    layout = re.search(r"struct\.Struct\('(.*)'\)", text)[1]
    assert layout == record._LAYOUT.format
    assert struct.calcsize(layout) == record.SIZE


def test_the_bounds_on_the_page_are_those_of_the_host():
    text = ' '.join((documentation.ROOT / PAGE).read_text().split())
    for said in (f'up to {folder.MOST} activities',
                 f'more than {pace.ONE:.0%} of a CPU, or its part of the {pace.ALL:.0%} that',
                 f'looks at a quiet server every {watched.SLOW_NS // 10 ** 9} s',
                 f'``/{folder.JOBS}``'):
        assert said in text
