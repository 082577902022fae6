# SPDX-License-Identifier: Apache-2.0
from translator.hot.syntax import hot_resource

class ToscaNfvVduCompute(hot_resource.HotResource): ...
