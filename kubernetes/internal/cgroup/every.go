// SPDX-License-Identifier: Apache-2.0

package cgroup

import (
	"fmt"
	"strings"
)

// everyPCPU is hcbs-max, the series proposed for the kernel: runtime and period in one
// file, the same on all pCPUs. A group that says "max" has no budget of its own.
type everyPCPU struct {
	files Files
	count int
}

func (everyPCPU) Name() string { return "hcbs-max" }

func (everyPCPU) Every() bool { return true }

func (e everyPCPU) Bounded(group string) (bool, error) {
	text, err := readLine(e.files, group, maxFile)
	return !strings.HasPrefix(text, "max"), err
}

func (e everyPCPU) Read(group string) (Budget, error) {
	text, err := readLine(e.files, group, maxFile)
	if err != nil {
		return Budget{}, err
	}
	fields := strings.Fields(strings.Replace(text, "max", "0", 1))
	times, err := numbers(fields)
	if err != nil || len(times) != 2 {
		return Budget{}, fmt.Errorf("%s of the control group /%s is %q, which is no runtime and period",
			maxFile, group, text)
	}
	if times[1] == 0 {
		times[1] = defaultPeriod
	}
	runtimes := make([]int64, e.count)
	for pcpu := range runtimes {
		runtimes[pcpu] = times[0]
	}
	return Budget{times[1], runtimes}, nil
}

// Write changes both by one write, so nothing is in between.
func (e everyPCPU) Write(group string, wanted Budget) error {
	return e.files.Write(group, maxFile, fmt.Sprintf("%d %d", wanted.Runtimes[0], wanted.Period))
}

func (e everyPCPU) Pool() (int64, bool, error) { return pool(e) }

// pool returns what the root group has, from which all groups take.
func pool(d Dialect) (int64, bool, error) {
	root, err := d.Read("")
	if err != nil {
		return 0, true, err
	}
	return root.Bandwidths()[0], true, nil
}
