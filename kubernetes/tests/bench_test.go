// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// seriesDir is where benchmarks leave what they measure, for bench/kubernetes.py. With it,
// the driver is built as users have it, without the race detector.
var seriesDir = os.Getenv("NOVA_RT_SERIES")

// series are seconds by what took them, in the order of the rounds.
type series map[string][]float64

func (s series) add(what string, took time.Duration) {
	s[what] = append(s[what], took.Seconds())
}

// save writes what a benchmark has measured, by its name.
func save(b *testing.B, measured any) {
	b.Helper()
	text, err := json.Marshal(measured)
	if err == nil {
		err = os.WriteFile(filepath.Join(seriesDir, b.Name()+".json"), text, 0o644)
	}
	if err != nil {
		b.Error(err)
	}
}

// inTurn calls with false and true, in an order that changes from round to round.
func inTurn(round int, call func(bool)) {
	call(round%2 == 0)
	call(round%2 != 0)
}

// untilBound creates a pod and returns how long it took until it was bound to a node.
func untilBound(b *testing.B, pod *corev1.Pod) time.Duration {
	b.Helper()
	return untilDecided(b, pod, func(pod *corev1.Pod) bool { return pod.Spec.NodeName != "" })
}

// untilDecided creates a pod and returns how long it took until something held of it.
func untilDecided(b *testing.B, pod *corev1.Pod, holds func(*corev1.Pod) bool) time.Duration {
	b.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	pods := cluster.client.CoreV1().Pods(namespace)
	// From what the API server has at hand: it would wait for etcd's next change otherwise.
	seen, err := pods.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + pod.Name, ResourceVersion: "0"})
	if err != nil {
		b.Fatal(err)
	}
	defer seen.Stop()
	began := time.Now()
	if _, err := pods.Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		b.Fatal(err)
	}
	for event := range seen.ResultChan() {
		if pod, known := event.Object.(*corev1.Pod); known && event.Type != watch.Deleted && holds(pod) {
			return time.Since(began)
		}
	}
	b.Fatalf("the pod %s is not placed within %v", pod.Name, patience)
	return 0
}
