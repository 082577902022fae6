# SPDX-License-Identifier: Apache-2.0
"""Task sets that several tests share, and strategies for small ones."""

from hypothesis import strategies as st

from nova_rt.model import tasks

# hcbs-linux-containers, section 4.1, in ms.
GAMMA_MS = [
    ('2', 32), ('2.88', 40), ('11.6', 46), ('9.125', 48), ('0.75', 55),
    ('17.3', 62), ('14.5', 90), ('2.6', 103), ('4.5', 261), ('67', 270),
    ('34.3', 275), ('4.45', 283), ('8.55', 311), ('47.4', 423),
    ('97.4', 490)]


def gamma():
    return [tasks.Task(round(float(wcet) * 1000), period * 1000)
            for wcet, period in GAMMA_MS]


@st.composite
def small_tasks(draw, most=4, longest=12):
    period = draw(st.integers(1, longest))
    deadline = draw(st.integers(1, period))
    return tasks.Task(draw(st.integers(1, deadline)), period, deadline)


def task_sets(most=4, longest=12):
    return st.lists(small_tasks(longest=longest), min_size=1, max_size=most)
