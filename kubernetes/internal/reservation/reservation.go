// SPDX-License-Identifier: Apache-2.0

// Package reservation has the limits and the sentences of nova_rt/reservation.py.
//
// Both are tested with nova_rt/tests/unit/arithmetic.json.
package reservation

import (
	"fmt"

	"nova-rt/kubernetes/internal/bandwidth"
)

// Names of a claim's parameters, as in flavors and hints of Nova.
const (
	Runtime  = "cpu.rt_runtime_us"
	Period   = "cpu.rt_period_us"
	Policy   = "cpu.rt_policy"
	Priority = "cpu.rt_priority"
)

// InvalidError is one sentence for a user.
type InvalidError struct{ Sentence string }

func (e *InvalidError) Error() string { return e.Sentence }

func invalid(format string, args ...any) error {
	return &InvalidError{fmt.Sprintf(format, args...)}
}

// Reservation is a runtime every period, in µs, on each of some vCPUs.
type Reservation struct {
	Runtime int64 `json:"runtime"`
	Period  int64 `json:"period"`
	VCPUs   int64 `json:"vcpus"`
}

// New returns a reservation within its limits.
func New(runtime, period, vcpus int64) (Reservation, error) {
	r := Reservation{runtime, period, vcpus}
	if err := checkRuntime(runtime); err != nil {
		return r, err
	}
	if err := checkPeriod(period); err != nil {
		return r, err
	}
	if vcpus < 1 {
		return r, invalid("A reservation needs at least 1 vCPU, not %d.", vcpus)
	}
	if runtime > period {
		return r, invalid("The runtime of %d µs is longer than the period of %d µs: "+
			"lower %s or raise %s.", runtime, period, Runtime, Period)
	}
	if r.Bandwidth() < 1 {
		return r, invalid("%d µs every %d µs is less than the kernel can account: raise %s.",
			runtime, period, Runtime)
	}
	return r, nil
}

// Bandwidth returns that of one vCPU in fixed point.
func (r Reservation) Bandwidth() int64 {
	return bandwidth.Of(r.Runtime, r.Period)
}

// CheckCap refuses a reservation that is too large even for an empty pCPU.
func (r Reservation) CheckCap(most int64) error {
	if r.Bandwidth() <= most {
		return nil
	}
	lower := ""
	if longest := bandwidth.LongestRuntime(most, r.Period); longest >= bandwidth.MinRuntime {
		lower = fmt.Sprintf("lower %s to %d or ", Runtime, longest)
	}
	return invalid("%d µs every %d µs is %s of a pCPU, but at most %s can be reserved: "+
		"%sraise %s.", r.Runtime, r.Period, bandwidth.Percent(r.Bandwidth()),
		bandwidth.Percent(most), lower, Period)
}

func checkRuntime(runtime int64) error {
	if runtime < bandwidth.MinRuntime {
		return invalid("%s is %d µs, but the kernel accounts for no runtime below %d µs.",
			Runtime, runtime, bandwidth.MinRuntime)
	}
	if runtime > bandwidth.MaxPeriod {
		return invalid("%s is %d µs, but a runtime cannot be longer than the longest "+
			"period, %d µs.", Runtime, runtime, bandwidth.MaxPeriod)
	}
	return nil
}

func checkPeriod(period int64) error {
	if period < bandwidth.MinPeriod || period > bandwidth.MaxPeriod {
		return invalid("%s is %d µs, but a period must be from %d µs to %d µs.",
			Period, period, bandwidth.MinPeriod, bandwidth.MaxPeriod)
	}
	return nil
}
