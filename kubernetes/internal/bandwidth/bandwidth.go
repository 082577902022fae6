// SPDX-License-Identifier: Apache-2.0

// Package bandwidth is the arithmetic of nova_rt/bandwidth.py: CPU bandwidth in the
// kernel's fixed point, as to_ratio() in kernel/sched/core.c computes it.
//
// Both are tested with nova_rt/tests/unit/arithmetic.json.
package bandwidth

import (
	"fmt"
	"math"
	"strings"
)

// Unit is one whole CPU.
const (
	Shift = 20
	Unit  = int64(1) << Shift
)

// SCHED_DEADLINE's own limits, and DL_SCALE's 1024 ns rounded up to whole µs.
const (
	MinRuntime = int64(2)
	MinPeriod  = int64(100)
	MaxPeriod  = int64(1) << 22
)

// Of returns runtime over period, rounded down. The period is positive.
func Of(runtime, period int64) int64 {
	return runtime << Shift / period
}

// OfFraction returns a configured fraction of a CPU (0.95). Multiplying a float by a
// power of two is exact, so it is what the same decimals give as times.
func OfFraction(fraction float64) int64 {
	return int64(math.Floor(fraction * float64(Unit)))
}

// RuntimeCovering returns the least runtime in µs whose bandwidth is at least this one:
// a parent group must not fall short of its children by the rounding of Of.
func RuntimeCovering(bandwidth, period int64) int64 {
	return (bandwidth*period + Unit - 1) >> Shift
}

// LongestRuntime returns the largest runtime in µs, of at most a period, whose bandwidth
// is at most this one.
func LongestRuntime(bandwidth, period int64) int64 {
	return min(period, ((bandwidth+1)*period-1)>>Shift)
}

// Percent returns a bandwidth as people read it, with one decimal unless that is zero.
func Percent(bandwidth int64) string {
	text := fmt.Sprintf("%.1f", float64(bandwidth)*100/float64(Unit))
	return strings.TrimSuffix(text, ".0") + "%"
}
