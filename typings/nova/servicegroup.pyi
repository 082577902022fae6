# SPDX-License-Identifier: Apache-2.0
from nova import objects

class API:
    def service_is_up(self, service: objects.Service) -> bool: ...
