// SPDX-License-Identifier: Apache-2.0

package cgroup

import (
	"slices"

	"nova-rt/kubernetes/internal/bandwidth"
)

// Budget is a group's period and its runtime on each pCPU, in µs.
type Budget struct {
	Period   int64
	Runtimes []int64
}

// OnPCPUs returns a budget of the same runtime on some pCPUs and 0 on the others; where none
// is named, it is on every one.
func OnPCPUs(runtime, period int64, pcpus []int, count int) Budget {
	runtimes := make([]int64, count)
	for pcpu := range runtimes {
		if len(pcpus) == 0 || slices.Contains(pcpus, pcpu) {
			runtimes[pcpu] = runtime
		}
	}
	return Budget{period, runtimes}
}

// Bandwidths returns by pCPU the bandwidth in fixed point.
func (b Budget) Bandwidths() []int64 {
	total := make([]int64, len(b.Runtimes))
	for pcpu, runtime := range b.Runtimes {
		total[pcpu] = bandwidth.Of(runtime, b.Period)
	}
	return total
}

// Equal returns whether two budgets are the same.
func (b Budget) Equal(other Budget) bool {
	return b.Period == other.Period && slices.Equal(b.Runtimes, other.Runtimes)
}

// covering returns the least budget of this period that holds these bandwidths.
func covering(period int64, bandwidths []int64) Budget {
	runtimes := make([]int64, len(bandwidths))
	for pcpu, needed := range bandwidths {
		runtimes[pcpu] = bandwidth.RuntimeCovering(needed, period)
	}
	return Budget{period, runtimes}
}

// pairwise returns what f makes of the numbers of each pCPU.
func pairwise(a, b []int64, f func(a, b int64) int64) []int64 {
	out := make([]int64, len(a))
	for pcpu := range a {
		out[pcpu] = f(a[pcpu], b[pcpu])
	}
	return out
}

func smaller(a, b int64) int64 { return min(a, b) }

func larger(a, b int64) int64 { return max(a, b) }

func sum(a, b int64) int64 { return a + b }
