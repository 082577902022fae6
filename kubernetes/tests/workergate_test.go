// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"encoding/json"
	"fmt"
	"strings"
)

// neverWithout has a container start while the driver is down, of a pod that does not ask
// the runtime to wait for the driver: it must not run until it can have its reservation.
func (w *worker) neverWithout() {
	w.Helper()
	pod := hogPod("real-e")
	pod.Annotations = nil
	pod.Spec.Containers[0].Args = []string{"fifo", "11"}
	runPod(w.T, pod, 10_000, 100_000, 1)
	group := w.running(pod.Name)[0]
	w.gets([]string{group}, []int{10}, []int{1})

	w.must("systemctl stop nova-rt-dra; kill -KILL $(cat /sys/fs/cgroup/" + group + "/cgroup.procs)")
	w.wait(func() error {
		said, err := statusOf(pod.Name)
		if err == nil && !strings.Contains(said, "has not got 10000 µs every 100000 µs of its claim") {
			err = fmt.Errorf("the pod says %s: %w", said, errNotYet)
		}
		return err
	})
	if runs := w.must("pgrep --exact --full '/hog fifo 11' || true"); runs != "" {
		w.Errorf("the container runs without its reservation: %s", runs)
	}

	w.must("systemctl start nova-rt-dra")
	w.wait(func() error { return again(pod.Name) })
	remove(w.T, pod.Name)
	w.wait(func() error { return gone(pod.Name) })
}

// statusOf returns all that the kubelet says of a pod's container.
func statusOf(name string) (string, error) {
	pod, err := podNamed(name)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(pod.Status.ContainerStatuses)
	return string(text), err
}

// again wants a container that was refused to run at last.
func again(name string) error {
	pod, err := podNamed(name)
	if err != nil {
		return err
	}
	if status := pod.Status.ContainerStatuses[0]; status.State.Running == nil || status.RestartCount == 0 {
		return fmt.Errorf("the container is %v: %w", status.State, errNotYet)
	}
	return nil
}
