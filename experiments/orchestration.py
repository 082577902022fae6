# SPDX-License-Identifier: Apache-2.0
"""Containers of three criticalities, placed by Nova: RT-Kube's Table III.

Our Nova and a stock one place them. Each node's containers are then offered to
our kernel, and those that it admits to the exact simulator.
"""

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import json
import os
from pathlib import Path
import random
import subprocess
import sys
import tempfile

from experiments import guest
from experiments import output
from experiments import rtkube
from nova_rt.model import simulator

CLOUDS = {'stock': 'stock Nova', 'ours': 'nova-rt'}
HORIZON_US = 2_000_000
SEEDS = 20


@dataclasses.dataclass
class Container:
    """A container and what became of it.

    :ivar node: where Nova put it, None if nowhere
    :ivar pcpu: what the claim chose; on stock Nova, where the kernel took it
    :ivar admitted: by the kernel
    :ivar jobs: of its task, in the simulator
    :ivar missed: of these, how many were late
    """

    criticality: str
    node: str | None
    pcpu: int | None
    admitted: bool = False
    jobs: int = 0
    missed: int = 0


def placements(part: int) -> dict[tuple[str, str], list[Container]]:
    """Return where both clouds put the containers, by cloud and deployment.

    :raises guest.GuestError: if Nova's services failed
    """
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, '-m', 'pytest', '-q', '-p', 'no:cacheprovider',
             '-p', 'nova_rt.testing.native_threads',
             Path(__file__).with_name('placing.py')],
            env=os.environ | {'NOVA_RT_PLACEMENTS': folder,
                              'NOVA_RT_COUNTS': str(part)},
            cwd=guest.ROOT, capture_output=True, text=True, check=False)
        if done.returncode:
            raise guest.GuestError('Nova did not place the containers: '
                                   + done.stdout[-600:])
        return {(cloud, name): [Container(**fields) for fields in json.loads(
            Path(folder, f'{cloud}-{name}.json').read_text())]
            for cloud in CLOUDS for name in rtkube.DEPLOYMENTS}


def offer(nodes: Sequence[Sequence[Container]], pcpus: int) -> None:
    """Offer each node's containers to our kernel, and record what it admits.

    The cap is 95% of a CPU, as on the nodes. A container without a chosen pCPU
    is offered to one after the other, and is refused if none admits it.
    """
    lines = ['echo 950000 > /proc/sys/kernel/sched_rt_runtime_us']
    for number, containers in enumerate(nodes):
        lines.append(f': > /out/{number}')
        for index, container in enumerate(containers):
            lines += _ask(number, index, container, pcpus)
        lines += [f'rmdir /cg/c{index}' for index in range(len(containers))]
    result = guest.run('\n'.join(lines), cpus=pcpus)
    for number, containers in enumerate(nodes):
        for line in result.files[str(number)].decode().splitlines():
            index, pcpu = map(int, line.split())
            containers[index].admitted = True
            containers[index].pcpu = pcpu


def _ask(number: int, index: int, container: Container, pcpus: int) -> list[str]:
    task = rtkube.TASKS[container.criticality]
    choice = range(pcpus) if container.pcpu is None else [container.pcpu]
    return [
        f'mkdir /cg/c{index}',
        f'echo {task.period_us} > /cg/c{index}/cpu.rt_period_us',
        f'for cpu in {" ".join(map(str, choice))}; do',
        f'  if echo "$cpu {task.wcet_us}" > '
        f'/cg/c{index}/cpu.rt_multi_runtime_us; then',
        f'    echo "{index} $cpu" >> /out/{number}; break',
        '  fi',
        'done']


def judge(containers: Sequence[Container]) -> None:
    """Simulate one node, and record the jobs and the missed deadlines.

    Each container's task is alone in its server. Tasks start together in the
    first run, and at random in the others.
    """
    running = [container for container in containers if container.admitted]
    groups = [simulator.Group(
        [simulator.Server(container.pcpu or 0, task.wcet_us, task.period_us)],
        [task], [0]) for container in running
        if (task := rtkube.TASKS[container.criticality])]
    tasks = [group.tasks[0] for group in groups]
    if not tasks:
        return
    for seed in range(SEEDS):
        source = random.Random(seed)  # noqa: S311
        starts = [source.randrange(task.period_us) if seed else 0
                  for task in tasks]
        outcome = simulator.simulate(groups, HORIZON_US, (), simulator.periodic(
            tasks, HORIZON_US, starts))
        for index, container in enumerate(running):
            container.jobs += int(outcome.jobs[index])
        for index, _ in outcome.misses():
            running[index].missed += 1


HEADER = ['deployment', 'cloud', 'criticality', 'containers', 'on_I', 'on_J',
          'on_R', 'nowhere', 'refused', 'missed_running_percent',
          'missed_all_percent', 'paper_kubernetes_refused',
          'paper_missed_running_percent', 'paper_missed_all_percent',
          'paper_rtkube_refused']


def rows(containers: Mapping[tuple[str, str], Sequence[Container]]
         ) -> list[list[object]]:
    """Return the table, a row per deployment, cloud and criticality."""
    table = []
    for name in rtkube.DEPLOYMENTS:
        for cloud in CLOUDS:
            for level in rtkube.TASKS:
                some = [container for container in containers[cloud, name]
                        if container.criticality == level]
                table.append([name, CLOUDS[cloud], level, *_counted(some),
                              *rtkube.PAPER[name][level], 0])
    return table


def _counted(some: Sequence[Container]) -> list[object]:
    where = [sum(container.node == node for container in some)
             for node in (*rtkube.NODES, None)]
    running = [container for container in some if container.admitted]
    jobs = sum(container.jobs for container in running)
    share = (sum(container.missed for container in running) / jobs) if jobs else 0.0
    # A task that does not run misses every deadline.
    idle = 1 - len(running) / len(some)
    return [len(some), *where,
            sum(container.node is not None and not container.admitted for container in some),
            100 * share, 100 * (idle + (1 - idle) * share)]


def run(folder: output.Folder, quick: bool = False) -> list[list[object]]:
    """Place, offer and simulate the containers; write and return the table."""
    clock = output.Clock()
    placed = placements(8 if quick else 1)
    clock.say('placed by both clouds')
    nodes = [[container for container in containers if container.node == node]
             for containers in placed.values()
             for node, what in rtkube.NODES.items() if what.real_time]
    offer(nodes, max(node.pcpus for node in rtkube.NODES.values()))
    clock.say('offered to our kernel')
    for containers in nodes:
        judge(containers)
    clock.say('judged by the exact simulator')
    table = rows(placed)
    folder.table('rtkube-table3', HEADER, table)
    for row in table:
        print(*row)
    return table
