# SPDX-License-Identifier: Apache-2.0
"""What a list costs: as many questions to the database for many hosts as for few."""

import contextlib
import uuid

from nova import context as nova_context
from nova import objects
from nova import test
from oslo_utils import timeutils
import sqlalchemy as sa

from nova_rt import shares
from nova_rt.testing import cases
from nova_rt.testing import cloud


class TestCost(cases.ApiTestCase):

    def setUp(self):
        super().setUp()
        self.cell = nova_context.get_admin_context()
        nova_context.set_target_cell(self.cell, self.cell_mappings[test.CELL1_NAME])

    def register(self, number):
        """Put a host into the cell's database."""
        name = f'host{number:05}'
        objects.Service(
            self.cell, host=name, binary='nova-compute', topic='compute', report_count=1,
            disabled=False, last_seen_up=timeutils.utcnow()).create()
        objects.ComputeNode(
            self.cell, uuid=str(uuid.UUID(int=number + 1)), host=name,
            hypervisor_hostname=name, hypervisor_type='LXC', hypervisor_version=1,
            vcpus=4, vcpus_used=0, memory_mb=1, memory_mb_used=0, local_gb=1,
            local_gb_used=0, cpu_info='{}', stats=shares.to_stats(
                shares.HostShares.empty((cloud.CAP,) * 4))).create()

    def ask(self, path):
        """Return the answer, and how many statements it took."""
        statements = []
        with listening(lambda *event: statements.append(event[2])):
            answer = self.admin_api.api_request(path, strip_version=True)
        self.assertEqual(200, answer.status_code, answer.text)
        return answer.json(), len(statements)

    def test_many_hosts_take_as_many_questions_as_few(self):
        for number in range(3):
            self.register(number)
        self.ask('rt/hosts')
        few, at_first = self.ask('rt/hosts')
        for number in range(3, 30):
            self.register(number)
        many, then = self.ask('rt/hosts')
        self.assertEqual((3, 30), (len(few['hosts']), len(many['hosts'])))
        self.assertEqual(at_first, then)

    def test_pages_together_are_the_list(self):
        for number in range(5):
            self.register(number)
        for limit in (2, 5):
            pages, marker = [], ''
            while marker is not None:
                page, _ = self.ask(f'rt/hosts?limit={limit}{marker and "&marker=" + marker}')
                pages.append([host['host'] for host in page['hosts']])
                marker = page['next']
            self.assertEqual([f'host{number:05}' for number in range(5)],
                             [host for page in pages for host in page])
            self.assertEqual(-(-5 // limit), len(pages))
            self.assertLessEqual(max(map(len, pages)), limit)


@contextlib.contextmanager
def listening(hear):
    """Hear of every statement of every database."""
    sa.event.listen(sa.Engine, 'before_cursor_execute', hear)
    try:
        yield
    finally:
        sa.event.remove(sa.Engine, 'before_cursor_execute', hear)
