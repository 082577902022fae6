# SPDX-License-Identifier: Apache-2.0
"""Nova must have been told of native threads before anything else of it is imported."""

from nova_rt.testing import native_threads  # noqa: F401
from nova_rt.tests.e2e.machines.servers import brisk  # noqa: F401
from nova_rt.tests.e2e.machines.servers import disk  # noqa: F401
from nova_rt.tests.e2e.machines.servers import events  # noqa: F401
from nova_rt.tests.e2e.machines.servers import host  # noqa: F401
from nova_rt.tests.e2e.machines.servers import libvirtd  # noqa: F401
from nova_rt.tests.e2e.machines.servers import options  # noqa: F401
from nova_rt.tests.e2e.machines.servers import server  # noqa: F401
