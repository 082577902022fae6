// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"context"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// BenchmarkOverhead starts pods of one to four pCPUs, as section 5.2 of KubeDeadline's paper
// does, and one without a claim beside each.
func BenchmarkOverhead(b *testing.B) {
	const rounds, most = 20, 4
	n := newNode(b, "overhead", most)
	measured := series{}
	// The first round fills caches.
	for round := range rounds + 1 {
		inTurn(round, func(claimed bool) {
			name, what := fmt.Sprintf("overhead-%d-%v", round, claimed), "without"
			made := claimOf(name, 30_000, 100_000, int64(round%most+1))
			pod := claimedBy(b, made, map[string]string{"kubernetes.io/hostname": n.name})
			if claimed {
				what = "with"
			} else {
				pod.Spec.ResourceClaims, pod.Spec.Containers[0].Resources.Claims = nil, nil
			}
			bound := untilBound(b, pod)
			n.running(name)
			if round > 0 {
				took := n.kubelet.timesOf(name)
				measured.add("bound "+what, bound)
				measured.add("prepared "+what, took.prepare)
				measured.add("started "+what, took.start)
			}
			remove(b, name)
			n.wait(n.nothingLeft)
			n.wait(func() error { return claims(0) })
		})
	}
	save(b, measured)
}

// claims wants so many claims to be there: one that is deleted goes when it is not allocated
// any more.
func claims(count int) error {
	found, err := cluster.client.ResourceV1().ResourceClaims(namespace).List(context.Background(), metav1.ListOptions{})
	if err == nil && len(found.Items) != count {
		err = fmt.Errorf("there are %d claims, not %d: %w", len(found.Items), count, errNotYet)
	}
	return err
}
