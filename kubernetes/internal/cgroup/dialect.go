// SPDX-License-Identifier: Apache-2.0

package cgroup

import (
	"fmt"
	"strconv"
	"strings"
)

// Control files, by dialect.
const (
	multiRuntime = "cpu.rt_multi_runtime_us"
	listRuntime  = "cpu.rt_runtime_us"
	periodFile   = "cpu.rt_period_us"
	maxFile      = "cpu.rt.max"
)

// Where a group has no period, as new ones may not.
const defaultPeriod = 1_000_000

// Dialect is one way in which a kernel takes real-time budgets on control groups version
// 2, which is what the kubelet wants. The dialects are those of nova_rt/virt/cgroup.
type Dialect interface {
	// Name is as in nova-rt's documentation.
	Name() string
	// Every returns whether a reservation occupies every pCPU, because the kernel has
	// one runtime for all of them.
	Every() bool
	// Bounded returns whether a group has a budget; if not, those above bound it.
	Bounded(group string) (bool, error)
	// Read returns the budget of a group; one without takes nothing.
	Read(group string) (Budget, error)
	// Write gives a group a budget. The kernel admits every single write by itself.
	Write(group string, wanted Budget) error
	// Pool returns the bandwidth of the root group where groups take from that.
	Pool() (pool int64, has bool, err error)
}

// Detect returns the dialect of the kernel by the files of a group, without asking for a
// version. The dry write is Hierarchy.Close.
func Detect(files Files, group string, count int) (Dialect, error) {
	if !files.Has(group, "") {
		return nil, fmt.Errorf("there is no control group /%s: start the kubelet first, and name "+
			"its group for pods by --top if it has another name", group)
	}
	if files.Has(group, multiRuntime) {
		return multi{files}, nil
	}
	if files.Has(group, listRuntime) {
		text, err := readLine(files, group, listRuntime)
		if err != nil {
			return nil, err
		}
		if len(strings.Fields(text)) > 1 {
			return list{files, count}, nil
		}
	}
	if files.Has(group, maxFile) {
		return everyPCPU{files, count}, nil
	}
	return nil, fmt.Errorf("the control group /%s has none of the files %s, %s and %s: boot a kernel "+
		"with HCBS, and turn the cpu controller on there", group, multiRuntime, listRuntime, maxFile)
}

// notEmpty wants a time for each pCPU, as none would be taken for nothing that is held.
func notEmpty(group string, budget Budget) (Budget, error) {
	if len(budget.Runtimes) == 0 {
		return budget, fmt.Errorf("the control group /%s has no runtimes", group)
	}
	return budget, nil
}

// numbers returns whole numbers that stand in a control file; -1 means none, as 0 does.
func numbers(words []string) ([]int64, error) {
	out := make([]int64, len(words))
	for i, word := range words {
		number, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("a control file has %q where a number is expected", word)
		}
		out[i] = max(0, number)
	}
	return out, nil
}

// writeTimes writes runtimes and period, never with a runtime over the period: a period
// is changed under the smaller of old and new runtimes.
func writeTimes(held, wanted Budget, runtimes func([]int64) error, period func(int64) error) error {
	if held.Period != wanted.Period {
		lowest := pairwise(held.Runtimes, wanted.Runtimes, smaller)
		if !(Budget{held.Period, lowest}).Equal(held) {
			if err := runtimes(lowest); err != nil {
				return err
			}
		}
		if err := period(wanted.Period); err != nil {
			return err
		}
	}
	return runtimes(wanted.Runtimes)
}
