// SPDX-License-Identifier: Apache-2.0

package bandwidth_test

import (
	"testing"

	"nova-rt/kubernetes/internal/bandwidth"
	"nova-rt/kubernetes/internal/testdata"
)

func TestArithmeticIsPythons(t *testing.T) {
	table := testdata.Arithmetic(t)
	for _, c := range table.Bandwidth {
		if got := bandwidth.Of(c.RuntimeUS, c.PeriodUS); got != c.Bandwidth {
			t.Errorf("%d µs every %d µs is %d, not %d", c.RuntimeUS, c.PeriodUS, c.Bandwidth, got)
		}
	}
	for _, c := range table.Fraction {
		if got := bandwidth.OfFraction(c.Fraction); got != c.Bandwidth {
			t.Errorf("%v of a CPU is %d, not %d", c.Fraction, c.Bandwidth, got)
		}
	}
	for _, c := range table.RuntimeCovering {
		if got := bandwidth.RuntimeCovering(c.Bandwidth, c.PeriodUS); got != c.RuntimeUS {
			t.Errorf("%d every %d µs needs %d µs, not %d", c.Bandwidth, c.PeriodUS, c.RuntimeUS, got)
		}
	}
	for _, c := range table.LongestRuntime {
		if got := bandwidth.LongestRuntime(c.Bandwidth, c.PeriodUS); got != c.RuntimeUS {
			t.Errorf("%d every %d µs holds %d µs, not %d", c.Bandwidth, c.PeriodUS, c.RuntimeUS, got)
		}
	}
	for _, c := range table.Percent {
		if got := bandwidth.Percent(c.Bandwidth); got != c.Text {
			t.Errorf("%d reads %q, not %q", c.Bandwidth, c.Text, got)
		}
	}
}

// What LongestRuntime gives fits, and one µs more does not; likewise RuntimeCovering.
func FuzzInverses(f *testing.F) {
	f.Add(int64(943718), int64(100000))
	f.Add(int64(1), bandwidth.MaxPeriod)
	f.Fuzz(func(t *testing.T, bw, period int64) {
		if bw < 0 || bw > bandwidth.Unit || period < bandwidth.MinPeriod || period > bandwidth.MaxPeriod {
			t.Skip()
		}
		longest := bandwidth.LongestRuntime(bw, period)
		if bandwidth.Of(longest, period) > bw {
			t.Errorf("%d µs every %d µs is more than %d", longest, period, bw)
		}
		if longest < period && bandwidth.Of(longest+1, period) <= bw {
			t.Errorf("%d µs every %d µs is not the longest within %d", longest, period, bw)
		}
		least := bandwidth.RuntimeCovering(bw, period)
		if bandwidth.Of(least, period) < bw || least > 0 && bandwidth.Of(least-1, period) >= bw {
			t.Errorf("%d µs every %d µs is not the least that covers %d", least, period, bw)
		}
	})
}
