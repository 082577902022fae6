# SPDX-License-Identifier: Apache-2.0
AlertMessage: dict[str, object]
