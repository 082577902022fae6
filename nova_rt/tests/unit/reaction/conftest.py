# SPDX-License-Identifier: Apache-2.0
"""Containers are processes with a /run of their own, as for the monitor's tests."""

from nova_rt.tests.unit.monitor.conftest import application  # noqa: F401
from nova_rt.tests.unit.monitor.conftest import built  # noqa: F401
from nova_rt.tests.unit.monitor.conftest import new_container  # noqa: F401
