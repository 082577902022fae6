// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nova-rt/kubernetes/internal/bandwidth"
)

// arrivals are reservations that come one after the other, and go.
type arrivals struct {
	PCPUs  int
	Policy string
	Pods   []struct {
		Percent, VCPUs int64
		// Gone are those that have gone before this one comes, by number.
		Gone []int
	}
}

// BenchmarkAcceptance has the scheduler place what bench/kubernetes.py has drawn, on a node
// with the real driver, and notes which are placed.
func BenchmarkAcceptance(b *testing.B) {
	text, err := os.ReadFile(filepath.Join(seriesDir, "arrivals.json"))
	if err != nil {
		b.Skip("bench/kubernetes.py draws the reservations: run \"make bench\"")
	}
	var drawn []arrivals
	if err := json.Unmarshal(text, &drawn); err != nil {
		b.Fatal(err)
	}
	var accepted [][]bool
	for i, each := range drawn {
		accepted = append(accepted, each.place(b, fmt.Sprint("acceptance-", i)))
	}
	save(b, map[string]any{"limit": limit, "accepted": accepted})
}

// place returns which of the reservations a new node gets.
func (a arrivals) place(b *testing.B, node string) []bool {
	n := newNode(b, node, a.PCPUs, "--placement-policy", a.Policy)
	accepted := make([]bool, len(a.Pods))
	nodes := map[string]string{"kubernetes.io/hostname": node}
	name := func(number int) string { return fmt.Sprint(node, "-", number) }
	for number, pod := range a.Pods {
		for _, gone := range pod.Gone {
			if accepted[gone] {
				remove(b, name(gone))
			}
		}
		n.wait(func() error { return a.seen(n, a.held(accepted, number)) })
		made := claimOf(name(number), pod.Percent*1000, 100_000, pod.VCPUs)
		untilDecided(b, claimedBy(b, made, nodes), func(seen *corev1.Pod) bool {
			accepted[number] = seen.Spec.NodeName != ""
			return accepted[number] || slices.ContainsFunc(seen.Status.Conditions, func(c corev1.PodCondition) bool {
				return c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable
			})
		})
		if accepted[number] {
			n.running(name(number))
		} else {
			remove(b, name(number))
		}
	}
	for _, number := range append(a.held(accepted, len(a.Pods)-1), len(a.Pods)-1) {
		if accepted[number] {
			remove(b, name(number))
		}
	}
	n.wait(n.nothingLeft)
	return accepted
}

// held returns those that have been placed and have not gone when one comes.
func (a arrivals) held(accepted []bool, now int) []int {
	gone := map[int]bool{}
	for _, pod := range a.Pods[:now+1] {
		for _, each := range pod.Gone {
			gone[each] = true
		}
	}
	var held []int
	for number := range now {
		if accepted[number] && !gone[number] {
			held = append(held, number)
		}
	}
	return held
}

// seen wants that the scheduler can know what is held, and in which order devices are due.
func (a arrivals) seen(n *fakeNode, held []int) error {
	var sum int64
	for _, number := range held {
		sum += a.Pods[number].VCPUs * bandwidth.Of(a.Pods[number].Percent*1000, 100_000)
	}
	return errors.Join(claims(len(held)), total(n, sum), orderedAs(n, a.Policy))
}
