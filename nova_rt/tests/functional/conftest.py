# SPDX-License-Identifier: Apache-2.0
from nova_rt.tests import native_threads  # noqa: F401
