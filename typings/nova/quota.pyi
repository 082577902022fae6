from collections.abc import Mapping

from nova.context import RequestContext

class QuotaEngine:
    def get_project_quotas(self, context: RequestContext, project_id: str | None,
                           ) -> Mapping[str, Mapping[str, int]]: ...
    def get_user_quotas(self, context: RequestContext, project_id: str | None,
                        user_id: str) -> Mapping[str, Mapping[str, int]]: ...

QUOTAS: QuotaEngine
