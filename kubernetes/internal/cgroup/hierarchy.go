// SPDX-License-Identifier: Apache-2.0

package cgroup

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"nova-rt/kubernetes/internal/bandwidth"
)

// Hierarchy gives containers budgets together with the groups above them, as
// nova_rt/virt/cgroup/hierarchy.py does.
//
// The kernel wants every group to fit its parent. Those above a container that have a
// budget are raised from the top down before the container gets its own, and lowered to
// what their children hold from the bottom up when it has gone: what they keep is missing
// elsewhere. Its caller is the only writer below the top, one call at a time.
type Hierarchy struct {
	Files   Files
	Dialect Dialect
	// Top is the group that the kubelet puts pods below.
	Top string
}

// Apply gives a container's group its budget, and its pod and the groups above enough
// for it. If the kernel does not admit that, everything is as before.
func (h Hierarchy) Apply(group string, wanted Budget) error {
	if !strings.HasPrefix(group, h.Top+"/") {
		return fmt.Errorf("the control group /%s is not below /%s: the kubelet and the driver "+
			"must agree on the group for pods (--top)", group, h.Top)
	}
	before, err := h.Dialect.Read(group)
	if err != nil {
		return err
	}
	// Without a budget of its own, the pod's other containers would run in the top's.
	for _, above := range []string{h.Top, parent(group)} {
		if err := h.close(above); err != nil {
			return err
		}
	}
	if err := h.apply(group, wanted); err != nil {
		return errors.Join(err, h.restore(group, before), h.lowerAbove(group))
	}
	return nil
}

func (h Hierarchy) apply(group string, wanted Budget) error {
	if err := h.raiseAbove(group, wanted); err != nil {
		return err
	}
	if err := h.Dialect.Write(group, wanted); err != nil {
		return err
	}
	// The container has what it needs: a mere surplus above is Settle's to take and report.
	_ = h.lowerAbove(group)
	return nil
}

// restore gives a container back what it had, which may be nothing. What is above still
// holds the larger budget, so there is room for the old one.
func (h Hierarchy) restore(group string, before Budget) error {
	if h.Holds(group, before) {
		return nil
	}
	return ifPresent(h.Dialect.Write(group, before))
}

// Close gives the top a budget of its own, which is the dry write at start. Without one,
// any pod could run real-time tasks in the budget of the root group.
func (h Hierarchy) Close() error {
	return h.close(h.Top)
}

func (h Hierarchy) close(group string) error {
	bounded, err := h.Dialect.Bounded(group)
	if err != nil || bounded {
		return err
	}
	needed, err := h.needed(group, "", Budget{})
	if err != nil {
		return err
	}
	return h.Dialect.Write(group, needed)
}

// Holds returns whether a group has exactly this budget.
func (h Hierarchy) Holds(group string, wanted Budget) bool {
	held, err := h.Dialect.Read(group)
	return err == nil && held.Equal(wanted)
}

// Settle lowers every group from the top down to the containers to what its children
// hold, and returns what the kernel refused: it counts a removed group until its last
// reference has gone, so the caller tries again later.
//
// A group that is neither a container of these nor above one is nobody's, and ends with 0.
func (h Hierarchy) Settle(containers map[string]bool) error {
	return h.settle(h.Top, containers)
}

func (h Hierarchy) settle(group string, containers map[string]bool) error {
	if containers[group] {
		return nil
	}
	var refusals []error
	for _, child := range h.Files.Children(group) {
		refusals = append(refusals, h.settle(child, containers))
	}
	return errors.Join(append(refusals, h.lower(group))...)
}

// lowerAbove writes every group above from the bottom up, if it holds too much.
func (h Hierarchy) lowerAbove(group string) error {
	for _, above := range h.above(group) {
		if err := h.lower(above); err != nil {
			return err
		}
	}
	return nil
}

func (h Hierarchy) lower(group string) error {
	bounded, err := h.Dialect.Bounded(group)
	if err != nil || !bounded {
		return ifPresent(err)
	}
	held, err := h.Dialect.Read(group)
	if err != nil {
		return ifPresent(err)
	}
	needed, err := h.needed(group, "", Budget{})
	if err != nil || slices.Equal(needed.Runtimes, held.Runtimes) {
		return ifPresent(err)
	}
	return ifPresent(h.Dialect.Write(group, needed))
}

// raiseAbove writes every group above from the top down, if it holds too little. What
// each needs is summed from the bottom up first.
func (h Hierarchy) raiseAbove(group string, wanted Budget) error {
	type need struct {
		group  string
		budget Budget
	}
	var needs []need
	below, instead := group, wanted
	for _, above := range h.above(group) {
		bounded, err := h.Dialect.Bounded(above)
		if err != nil {
			return err
		}
		if !bounded {
			continue
		}
		needed, err := h.needed(above, below, instead)
		if err != nil {
			return err
		}
		needs = append(needs, need{above, needed})
		below, instead = above, needed
	}
	for _, need := range slices.Backward(needs) {
		held, err := h.Dialect.Read(need.group)
		if err != nil {
			return err
		}
		target := Budget{periodAbove(held), pairwise(held.Runtimes, need.budget.Runtimes, larger)}
		if target.Equal(held) {
			continue
		}
		if err := h.Dialect.Write(need.group, target); err != nil {
			return err
		}
	}
	return nil
}

// needed returns the least budget of a group that holds those below it; one of these is
// counted with another budget than it has.
func (h Hierarchy) needed(group, below string, instead Budget) (Budget, error) {
	own, err := h.Dialect.Read(group)
	if err != nil {
		return Budget{}, err
	}
	total := make([]int64, len(own.Runtimes))
	counted := below == ""
	for _, child := range h.boundedBelow(group) {
		held := instead
		if child == below {
			counted = true
		} else if held, err = h.Dialect.Read(child); err != nil {
			if ifPresent(err) == nil {
				continue
			}
			return Budget{}, err
		}
		total = pairwise(total, held.Bandwidths(), sum)
	}
	if !counted {
		// It has no budget yet.
		total = pairwise(total, instead.Bandwidths(), sum)
	}
	return covering(periodAbove(own), total), nil
}

// With this period, a runtime of 4 µs is one unit of bandwidth, so that a group is given
// exactly what its children hold: rounded up, all together might pass what the kernel
// admits though the scheduler has promised it.
const exactPeriod = 4 * bandwidth.Unit

// periodAbove returns the period of a group above containers. It cannot be changed while
// the group's children hold something: between the writes they would not fit.
func periodAbove(held Budget) int64 {
	if slices.Max(held.Runtimes) > 0 {
		return held.Period
	}
	return exactPeriod
}

// boundedBelow returns the groups whose budgets are taken from a group's.
func (h Hierarchy) boundedBelow(group string) []string {
	var found []string
	for _, child := range h.Files.Children(group) {
		bounded, err := h.Dialect.Bounded(child)
		switch {
		case err != nil:
		case bounded:
			found = append(found, child)
		default:
			found = append(found, h.boundedBelow(child)...)
		}
	}
	return found
}

// above returns the groups above one up to the top, the nearest first.
func (h Hierarchy) above(group string) []string {
	var groups []string
	for group != h.Top && group != "" {
		group = parent(group)
		groups = append(groups, group)
	}
	return groups
}

func parent(group string) string {
	return group[:max(0, strings.LastIndexByte(group, '/'))]
}

// ifPresent drops the error for a group that has gone meanwhile.
func ifPresent(err error) error {
	if errors.Is(err, ErrGone) {
		return nil
	}
	return err
}

// Empty takes the budget of a group whose container has ended, and what those above held
// for it.
func (h Hierarchy) Empty(group string) error {
	held, err := h.Dialect.Read(group)
	if err != nil {
		return ifPresent(err)
	}
	if slices.Max(held.Runtimes) > 0 {
		err = h.Dialect.Write(group, Budget{held.Period, make([]int64, len(held.Runtimes))})
		if err != nil {
			return ifPresent(err)
		}
	}
	return h.lowerAbove(group)
}
