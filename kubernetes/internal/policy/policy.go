// SPDX-License-Identifier: Apache-2.0

// Package policy has the scheduling policies that a claim may name.
//
// It is small, as the gate runs on a container's budget.
package policy

import "golang.org/x/sys/unix"

// MaxPriority is the highest that a claim may give, and a container with a claim may choose
// itself: its budget bounds what it can use.
const MaxPriority = 99

// policies are in the order in which sentences name them.
var policies = []struct {
	name   string
	number uint32
}{{"fifo", unix.SCHED_FIFO}, {"rr", unix.SCHED_RR}}

// Names returns what a claim may say.
func Names() []string {
	var names []string
	for _, each := range policies {
		names = append(names, each.name)
	}
	return names
}

// Number returns the kernel's number of a policy, false for a name that a claim may not say.
func Number(name string) (uint32, bool) {
	for _, each := range policies {
		if each.name == name {
			return each.number, true
		}
	}
	return 0, false
}

// Name returns the name of one of the kernel's numbers, empty for what no claim may say.
func Name(number uint32) string {
	for _, each := range policies {
		if each.number == number {
			return each.name
		}
	}
	return ""
}
