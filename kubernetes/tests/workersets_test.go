// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

const (
	// Rounds in which all tasks of a set are released at once, each at another phase of the
	// reservation, and how long each is: at least two periods of every task.
	rounds  = 8
	roundMS = 400
	// What a node admits of each pCPU, in hundredths.
	admitted = 90
)

// taskSet is one of KubeDeadline's, with the claim that it needs. Times are in µs.
type taskSet struct {
	Index     int64      `json:"index"`
	RuntimeUS int64      `json:"runtime_us"`
	PeriodUS  int64      `json:"period_us"`
	VCPUs     int64      `json:"vcpus"`
	Tasks     [][2]int64 `json:"tasks"`
}

// readTaskSets reads what experiments/podsets.py or severalsets.py has written.
func readTaskSets(t *testing.T, file string) []taskSet {
	t.Helper()
	text, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	var sets []taskSet
	if err := json.Unmarshal(text, &sets); err != nil {
		t.Fatal(err)
	}
	return sets
}

func (s taskSet) utilisation() float64 {
	sum := 0.0
	for _, task := range s.Tasks {
		sum += float64(task[0]) / float64(task[1])
	}
	return sum
}

func (s taskSet) String() string {
	return fmt.Sprintf("set %d: %d tasks of %.3f, %d / %d", s.Index, len(s.Tasks), s.utilisation(), s.RuntimeUS,
		s.PeriodUS)
}

// pod returns a pod that runs the set, and a thread of its lowest priority that takes what the
// tasks leave: so they find the reservation empty as often as they can.
func (s taskSet) pod(name string) *corev1.Pod {
	pod := hogPod(name)
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	args := []string{fmt.Sprint(rounds), fmt.Sprint(roundMS), fmt.Sprint(s.PeriodUS)}
	for _, task := range s.Tasks {
		args = append(args, fmt.Sprintf("%d,%d", task[0], task[1]))
	}
	pod.Spec.Containers[0].Image = imageOf("periodic")
	pod.Spec.Containers[0].Args = args
	return pod
}

// outcome is what the jobs of a set did.
type outcome struct {
	jobs, late int
	// The longest response time over the period, and which task and round that was.
	worst       float64
	task, round int
}

func (o outcome) String() string {
	return fmt.Sprintf("%d jobs, %d late, worst response / deadline %.4f (task %d, round %d)", o.jobs, o.late, o.worst,
		o.task, o.round)
}

// releasing lets the tasks of a group begin, beside a hog of the root group on each pCPU, and
// waits until they have ended.
const releasing = `
echo $$ > /sys/fs/cgroup/cgroup.procs
chrt --fifo --pid 99 $$
/srv/worker/hog fifo 50 600 > /dev/null &
sleep 0.5
procs=/sys/fs/cgroup/%s/cgroup.procs
kill -USR1 $(cat $procs)
while grep -q . $procs 2> /dev/null; do sleep 0.2; done
kill $(jobs -p)
wait
`

// respond runs a set as a pod, beside a pod that takes whatever the node admits besides, and
// a hog of the root group on each pCPU, which takes the rest.
func (w *worker) respond(name string, set taskSet) outcome {
	w.Helper()
	neighbour := name + "-neighbour"
	runPod(w.T, set.pod(name), set.RuntimeUS, set.PeriodUS, 1)
	// Its deadline comes before, with, or after that of the set's.
	period := set.PeriodUS * []int64{1, 2, 4}[set.Index%3] / 2
	left := admitted*period/100 - (set.RuntimeUS*period+set.PeriodUS-1)/set.PeriodUS - 1
	names := []string{name}
	if left > period/100 {
		names = append(names, neighbour)
		runPod(w.T, hogPod(neighbour), left, period, 1)
	}
	group := w.running(names...)[0]
	if _, err := w.run("bash -s", fmt.Sprintf(releasing, group)); err != nil {
		w.Fatal(err)
	}
	w.wait(func() error { return succeeded(name) })
	printed := w.must("cat /var/log/pods/" + namespace + "_" + name + "_*/main/0.log")
	for _, each := range names {
		remove(w.T, each)
	}
	return w.read(set, printed)
}

func succeeded(name string) error {
	pod, err := podNamed(name)
	if err == nil && pod.Status.Phase != corev1.PodSucceeded {
		err = fmt.Errorf("the pod %s is %s: %w", name, pod.Status.Phase, errNotYet)
	}
	return err
}

// read reads what worker/periodic.c has printed, as containerd logs it.
func (w *worker) read(set taskSet, printed string) outcome {
	w.Helper()
	var all outcome
	lines := slices.Collect(strings.Lines(strings.TrimSpace(printed)))
	if len(lines) != len(set.Tasks) {
		w.Fatalf("%v has printed:\n%s", set, printed)
	}
	for i, line := range lines {
		var wcet, period, longest int64
		var jobs, late, round int
		_, numbers, _ := strings.Cut(line, " stdout F ")
		if _, err := fmt.Sscan(numbers, &wcet, &period, &jobs, &late, &longest, &round); err != nil {
			w.Fatalf("%v has printed %q: %v", set, line, err)
		}
		if [2]int64{wcet, period} != set.Tasks[i] || jobs != rounds*int(roundMS*1000/period) {
			w.Fatalf("%v has printed %q", set, line)
		}
		all.jobs, all.late = all.jobs+jobs, all.late+late
		if ratio := float64(longest) / float64(period); ratio > all.worst {
			all.worst, all.task, all.round = ratio, i, round
		}
	}
	return all
}

// KubeDeadline's figure 6: no job of its task sets is late.
func TestWorkerTaskSetsMissNoDeadline(t *testing.T) {
	w := newWorker(t, alone)
	sets := readTaskSets(t, "tasksets.json")
	// What is too small is found: a bandwidth of the utilisation.
	small := sets[0]
	small.RuntimeUS = int64(small.utilisation() * float64(small.PeriodUS))
	got := w.respond("too-small", small)
	t.Logf("with too small a claim, %v: %v", small, got)
	if got.late == 0 {
		t.Errorf("%v misses nothing", small)
	}

	var all outcome
	for _, set := range sets {
		got := w.respond(fmt.Sprint("set-", set.Index), set)
		t.Logf("%v: %v", set, got)
		if got.late > 0 {
			t.Errorf("%v misses deadlines", set)
		}
		all.jobs, all.late, all.worst = all.jobs+got.jobs, all.late+got.late, max(all.worst, got.worst)
	}
	t.Logf("in all: %d jobs, %d late, worst response / deadline %.4f", all.jobs, all.late, all.worst)
}
