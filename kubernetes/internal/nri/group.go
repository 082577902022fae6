// SPDX-License-Identifier: Apache-2.0

package nri

import (
	"fmt"
	"strings"
)

// groupOf returns the control group of a container from the path in its OCI specification:
// a path, or "slice:prefix:name" where the runtime leaves groups to systemd.
func groupOf(path string) (string, error) {
	parts := strings.Split(path, ":")
	switch {
	case path == "":
		return "", fmt.Errorf("the runtime does not say in which control group the container is")
	case len(parts) == 1:
		return strings.Trim(path, "/"), nil
	case len(parts) != 3 || !strings.HasSuffix(parts[0], ".slice"):
		return "", fmt.Errorf("%q is no path of a control group", path)
	}
	return slicePath(parts[0]) + "/" + parts[1] + "-" + parts[2] + ".scope", nil
}

// slicePath returns where systemd puts a slice: each dash of its name is a level.
func slicePath(slice string) string {
	name := strings.TrimSuffix(slice, ".slice")
	var path, prefix string
	for part := range strings.SplitSeq(name, "-") {
		prefix += part
		path += "/" + prefix + ".slice"
		prefix += "-"
	}
	return strings.TrimPrefix(path, "/")
}
