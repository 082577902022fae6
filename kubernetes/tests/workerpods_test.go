// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// hogPod returns a pod that burns CPU on every pCPU it has, under SCHED_FIFO.
func hogPod(name string) *corev1.Pod {
	pod := podOf(name, workerNode)
	// It waits for a driver that is down, as the documentation has it.
	pod.Annotations = map[string]string{"required-plugins.noderesource.dev/pod": "[nova-rt]"}
	// No network of its own, so that the node needs no plug-in for that.
	pod.Spec.HostNetwork = true
	pod.Spec.Containers[0].Image = imageOf("hog")
	pod.Spec.Containers[0].ImagePullPolicy = corev1.PullNever
	pod.Spec.Containers[0].Args = []string{"fifo", "10"}
	return pod
}

// measuring prints, for each group, what it has used of each pCPU at two times, and these. It
// is of the root group, and nothing but a budget comes before it.
const measuring = `
echo $$ > /sys/fs/cgroup/cgroup.procs
chrt --fifo --pid 99 $$
/srv/worker/hog fifo 50 %[1]d > /dev/null &
sleep 1
for when in before after; do
	for group in %[2]s; do
		file=/sys/fs/cgroup/$group/cpu.rt_stat
		began=${EPOCHREALTIME/./}
		mapfile -t lines < $file
		ended=${EPOCHREALTIME/./}
		echo $when $(((began + ended) / 2)) ${lines[*]}
	done
	[ $when = after ] || sleep %[3]d
done
kill $(jobs -p)
wait
`

// shares returns by group what it gets of each pCPU meanwhile, as the kernel counts it,
// beside a hog of the root group on each.
func (w *worker) shares(groups ...string) [][]float64 {
	w.Helper()
	seconds := int(w.window.Seconds())
	output, err := w.run("bash -s", fmt.Sprintf(measuring, seconds+60, strings.Join(groups, " "), seconds))
	if err != nil {
		w.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(output), "\n")
	if len(lines) != 2*len(groups) {
		w.Fatalf("the machine has measured:\n%s", output)
	}
	var all [][]float64
	for i := range groups {
		before, after := w.used(lines[i]), w.used(lines[len(groups)+i])
		var got []float64
		for pcpu := 1; pcpu < len(before); pcpu++ {
			got = append(got, (after[pcpu]-before[pcpu])/(after[0]-before[0]))
		}
		all = append(all, got)
	}
	return all
}

// used reads a line of the above: the time, and what was used of each pCPU, in µs.
func (w *worker) used(line string) []float64 {
	w.Helper()
	var numbers []float64
	for i, word := range strings.Fields(line) {
		_, digits, found := strings.Cut(word, "used_usec=")
		if i == 1 {
			digits, found = word, true
		}
		if !found {
			continue
		}
		number, err := strconv.ParseFloat(digits, 64)
		if err != nil {
			w.Fatalf("%v in %q", err, line)
		}
		numbers = append(numbers, number)
	}
	if len(numbers) != 1+w.pcpus {
		w.Fatalf("the machine has measured %q", line)
	}
	return numbers
}

// gets wants each group to get its share of so many pCPUs, and nothing of the others. A
// machine that was too busy to emulate may show it later.
func (w *worker) gets(groups []string, percents []int, vcpus []int) {
	w.Helper()
	var wrong string
	for range w.measurements {
		wrong = ""
		for i, got := range w.shares(groups...) {
			said := fmt.Sprintf("reserved %d x %d%%, measured %.4f", vcpus[i], percents[i], got)
			w.Log(said)
			if !w.isShare(got, float64(percents[i])/100, vcpus[i]) {
				wrong += said + "; "
			}
		}
		if wrong == "" {
			return
		}
	}
	w.Error(wrong)
}

// isShare returns whether so many pCPUs have given a share, and the others nothing.
func (w *worker) isShare(got []float64, share float64, vcpus int) bool {
	sorted := slices.Sorted(slices.Values(got))
	for i, each := range sorted {
		want := 0.0
		if i >= len(sorted)-vcpus {
			want = share
		}
		if math.Abs(each-want) > w.tolerance {
			return false
		}
	}
	return true
}

// held returns what every group for pods has, a line each.
func (w *worker) held() string {
	w.Helper()
	return w.must("cd /sys/fs/cgroup && for group in $(find kubepods.slice -type d | sort); do " +
		"echo $group: $(head -n 1 $group/cpu.rt_multi_runtime_us) / $(cat $group/cpu.rt_period_us); done")
}

// holds wants every group for pods to have what it had.
func (w *worker) holds(before string) error {
	if now := w.held(); now != before {
		return fmt.Errorf("the groups have:\n%sbut had:\n%s%w", now, before, errNotYet)
	}
	return nil
}

// same wants the same containers to run with what they had.
func (w *worker) same(when string, names, groups []string, before string) {
	w.Helper()
	if now := w.running(names...); !slices.Equal(now, groups) {
		w.Errorf("%s, the containers are %v, not %v", when, now, groups)
	}
	if err := w.holds(before); err != nil {
		w.Errorf("%s, %v", when, err)
	}
}

// kill ends a service as a crash does, and waits until systemd has started it again.
func (w *worker) kill(service string) {
	w.Helper()
	w.must("old=$(systemctl show --property MainPID --value " + service + ") && kill -KILL $old && " +
		"until new=$(systemctl show --property MainPID --value " + service + "); " +
		"[ $new != 0 ] && [ $new != $old ] && systemctl --quiet is-active " + service + "; do sleep 1; done")
}

// nothingLeft wants no runtime in any group and no record of a claim.
func (w *worker) nothingLeft() error {
	held := w.held()
	for line := range strings.Lines(held) {
		_, times, _ := strings.Cut(line, ": ")
		runtimes, _, _ := strings.Cut(times, " /")
		for word := range strings.FieldsSeq(runtimes) {
			if word != "0" && word != "-1" {
				return fmt.Errorf("there is still %s: %w", held, errNotYet)
			}
		}
	}
	if records := w.must("ls /var/run/cdi"); records != "" {
		return fmt.Errorf("there are still %s: %w", records, errNotYet)
	}
	if groups := w.must("find /sys/fs/cgroup/kubepods.slice -name '*.scope'"); groups != "" {
		return fmt.Errorf("there are still %s: %w", groups, errNotYet)
	}
	return nil
}

// gone wants pods and their claims to be no more.
func gone(names ...string) error {
	for _, name := range names {
		_, err := podNamed(name)
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("the pod %s is still there: %w", name, errors.Join(err, errNotYet))
		}
		_, err = cluster.client.ResourceV1().ResourceClaims(namespace).Get(context.Background(), name,
			metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("the claim %s is still there: %w", name, errors.Join(err, errNotYet))
		}
	}
	return nil
}

// Each step goes on with what the one before has left.
func TestWorkerWithARealKubeletAndRuntime(t *testing.T) {
	w := newWorker(t, asOutside)
	runPod(t, hogPod("real-a"), 30_000, 100_000, 2)
	runPod(t, hogPod("real-b"), 10_000, 50_000, int64(w.pcpus))
	names, percents, vcpus := []string{"real-a", "real-b"}, []int{30, 20}, []int{2, w.pcpus}
	groups, before := w.running(names...), w.held()
	t.Logf("the groups have:\n%s", before)
	w.gets(groups, percents, vcpus)

	for _, service := range []string{"nova-rt-dra", "kubelet", "containerd"} {
		w.kill(service)
		w.same("after a restart of "+service, names, groups, before)
		// What comes then gets its reservation, and leaves nothing.
		runPod(t, hogPod("real-c"), 10_000, 100_000, 1)
		w.running("real-c")
		remove(t, "real-c")
		w.wait(func() error { return w.holds(before) })
		w.same("and after a pod that came and went", names, groups, before)
	}

	// One that ends while the driver is down.
	runPod(t, hogPod("real-d"), 10_000, 100_000, 1)
	group := w.running("real-d")[0]
	w.must("systemctl stop nova-rt-dra")
	remove(t, "real-d")
	w.must("while [ -e /sys/fs/cgroup/" + group + " ]; do sleep 1; done; systemctl start nova-rt-dra")
	w.wait(func() error { return w.holds(before) })
	w.gets(groups, percents, vcpus)

	w.neverWithout()
	w.wait(func() error { return w.holds(before) })

	end := w.runDriverInPod()
	// The driver's own group besides, which has no budget.
	with := w.held()
	for line := range strings.Lines(before) {
		if !strings.Contains(with, line) {
			t.Errorf("with the driver in a pod, the groups have:\n%sbut had %s", with, line)
		}
	}
	w.same("with the driver in a pod", names, groups, with)
	runPod(t, hogPod("real-f"), 10_000, 100_000, 1)
	w.gets(append(groups, w.running("real-f")...), append(percents, 10), append(vcpus, 1))
	remove(t, "real-f")
	w.wait(func() error { return w.holds(with) })
	end()
	w.wait(func() error { return w.holds(before) })

	for _, name := range names {
		remove(t, name)
	}
	w.wait(w.nothingLeft)
	w.wait(func() error { return gone(names...) })
}
