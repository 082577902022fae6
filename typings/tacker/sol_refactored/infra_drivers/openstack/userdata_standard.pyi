# SPDX-License-Identifier: Apache-2.0
from typing import Any

# Tacker's objects, as the dicts that its conductor writes for a user data script.
class StandardUserData:
    @staticmethod
    def instantiate(req: dict[str, Any], inst: dict[str, Any], grant_req: dict[str, Any],
                    grant: dict[str, Any], tmp_csar_dir: str) -> dict[str, Any]: ...
    @staticmethod
    def scale(req: dict[str, Any], inst: dict[str, Any], grant_req: dict[str, Any],
              grant: dict[str, Any], tmp_csar_dir: str) -> dict[str, Any]: ...
    @staticmethod
    def change_vnfpkg(req: dict[str, Any], inst: dict[str, Any], grant_req: dict[str, Any],
                      grant: dict[str, Any], tmp_csar_dir: str) -> dict[str, Any]: ...
    @staticmethod
    def change_vnfpkg_rollback(req: dict[str, Any], inst: dict[str, Any],
                               grant_req: dict[str, Any], grant: dict[str, Any],
                               tmp_csar_dir: str) -> dict[str, Any]: ...
