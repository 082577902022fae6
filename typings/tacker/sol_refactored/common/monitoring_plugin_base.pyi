# SPDX-License-Identifier: Apache-2.0
class MonitoringPluginStub:
    @staticmethod
    def instance() -> MonitoringPluginStub: ...
