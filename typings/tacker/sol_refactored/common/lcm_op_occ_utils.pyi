# SPDX-License-Identifier: Apache-2.0
from typing import Any

def check_lcmocc_in_progress(context: Any, inst_id: str) -> None: ...
