// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"nova-rt/kubernetes/internal/cgroup"
	"nova-rt/kubernetes/internal/policy"
	"nova-rt/kubernetes/internal/topology"
)

// Self returns what the container of this process has.
func Self() (Has, error) {
	var has Has
	group, err := ownGroup("/proc/self/cgroup")
	if err != nil {
		return has, err
	}
	if has.Budget, err = budgetOf(cgroup.Dir("/sys/fs/cgroup"), group); err != nil {
		return has, err
	}
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return has, fmt.Errorf("the kernel does not say which CPUs the container has: %w", err)
	}
	for pcpu := range len(set) * 64 {
		if set.IsSet(pcpu) {
			has.PCPUs = append(has.PCPUs, pcpu)
		}
	}
	attr, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		return has, fmt.Errorf("the kernel does not say which policy the container has: %w", err)
	}
	has.Policy, has.Priority = policy.Name(attr.Policy), int64(attr.Priority)
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_RTPRIO, &limit); err != nil {
		return has, fmt.Errorf("the kernel does not say which priority the container may choose: %w", err)
	}
	has.MaxPriority = limit.Cur
	return has, nil
}

func budgetOf(files cgroup.Files, group string) (cgroup.Budget, error) {
	count, err := topology.Possible("/sys")
	if err != nil {
		return cgroup.Budget{}, err
	}
	dialect, err := cgroup.Detect(files, group, count)
	if err != nil {
		return cgroup.Budget{}, err
	}
	return dialect.Read(group)
}

// ownGroup returns the group on control groups version 2. In a namespace of its own, as
// most containers have, that is the root.
func ownGroup(file string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		if group, found := strings.CutPrefix(strings.TrimSpace(line), "0::/"); found {
			return group, nil
		}
	}
	return "", fmt.Errorf("%s names no group of control groups version 2", file)
}
