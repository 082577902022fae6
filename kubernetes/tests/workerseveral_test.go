// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// Several pCPUs, at 1 ns: they take turns, which what is busy here ends after 10 µs each.
var inShortTurns = kind{pcpus: 4, timing: countingInstructions("0")}

// releasingInTurns is like releasing. What does not end its turns early may do nothing
// meanwhile, so the hogs are threads of worker/periodic.c, and the node's services stop.
const releasingInTurns = `
echo $$ > /sys/fs/cgroup/cgroup.procs
chrt --fifo --pid 99 $$
for pcpu in 0 1 2 3; do
	taskset -c $pcpu /srv/worker/periodic 0 0 0 &
done
services=$(pidof kubelet containerd nova-rt-dra)
kill -STOP $services
sleep 0.5
procs=/sys/fs/cgroup/%s/cgroup.procs
kill -USR1 $(cat $procs)
while grep -q . $procs 2> /dev/null; do sleep 0.2; done
kill -CONT $services
kill $(jobs -p)
wait
`

// busyPod returns a pod that takes all it can of each pCPU it has, in short turns.
func busyPod(name string) *corev1.Pod {
	pod := hogPod(name)
	pod.Spec.Containers[0].Image = imageOf("periodic")
	pod.Spec.Containers[0].Args = []string{"0", "0", "0"}
	return pod
}

// respondOnSeveral is like respond, for a set that needs several pCPUs.
func (w *worker) respondOnSeveral(name string, set taskSet) outcome {
	w.Helper()
	runPod(w.T, set.pod(name), set.RuntimeUS, set.PeriodUS, set.VCPUs)
	period := set.PeriodUS * []int64{1, 2, 4}[set.Index%3] / 2
	left := admitted*period/100 - (set.RuntimeUS*period+set.PeriodUS-1)/set.PeriodUS - 1
	names := []string{name}
	if left > period/100 {
		names = append(names, name+"-neighbour")
		runPod(w.T, busyPod(name+"-neighbour"), left, period, int64(w.pcpus))
	}
	group := w.running(names...)[0]
	if _, err := w.run("bash -s", fmt.Sprintf(releasingInTurns, group)); err != nil {
		w.Fatal(err)
	}
	w.wait(func() error { return succeeded(name) })
	printed := w.must("cat /var/log/pods/" + namespace + "_" + name + "_*/main/0.log")
	for _, each := range names {
		remove(w.T, each)
	}
	return w.read(set, printed)
}

// KubeDeadline's figure 6 again, for sets that need several pCPUs.
func TestWorkerTaskSetsOnSeveralPCPUsMissNoDeadline(t *testing.T) {
	w := newWorker(t, inShortTurns)
	var all outcome
	for _, set := range readTaskSets(t, "severalsets.json") {
		got := w.respondOnSeveral(fmt.Sprint("several-", set.Index), set)
		t.Logf("%v on %d pCPUs: %v", set, set.VCPUs, got)
		if got.late > 0 {
			t.Errorf("%v misses deadlines", set)
		}
		all.jobs, all.late, all.worst = all.jobs+got.jobs, all.late+got.late, max(all.worst, got.worst)
	}
	t.Logf("in all: %d jobs, %d late, worst response / deadline %.4f", all.jobs, all.late, all.worst)
}
