// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"nova-rt/kubernetes/internal/bandwidth"
	"nova-rt/kubernetes/internal/cgroup"
	"nova-rt/kubernetes/internal/claim"
	"nova-rt/kubernetes/internal/fakekernel"
	"nova-rt/kubernetes/internal/node"
	"nova-rt/kubernetes/internal/reservation"
)

const (
	top   = "kubepods"
	limit = int64(943719)
)

// claims is a fake of the API server.
type claims map[string]*resourceapi.ResourceClaim

func (c claims) Get(_ context.Context, namespace, name string) (*resourceapi.ResourceClaim, error) {
	return c[namespace+"/"+name], nil
}

// threads is a fake of the kernel's scheduler.
type threads map[string]reservation.Init

func (p threads) Confine(string, []int) error { return nil }

func (p threads) SetPolicy(group string, init reservation.Init) error {
	p[group] = init
	return nil
}

// rig is a node with a fake kernel; its driver can be killed and started again.
type rig struct {
	*testing.T
	*node.Node
	kernel  *fakekernel.Kernel
	api     claims
	threads threads
	dir     string
	config  node.Config
}

func newRig(t *testing.T, pcpus int) *rig {
	kernel := fakekernel.New(pcpus, limit)
	kernel.Mkdir(top)
	r := &rig{T: t, kernel: kernel, api: claims{}, threads: threads{}, dir: t.TempDir()}
	r.config = node.Config{Pool: "n1", Capacity: map[int]int64{}, Count: pcpus, Claims: r.api, Threads: r.threads,
		Records: claim.Records{Dir: r.dir}}
	for pcpu := range pcpus {
		r.config.Capacity[pcpu] = limit
	}
	r.start()
	return r
}

// start makes a driver that knows nothing but what it finds.
func (r *rig) start(running ...node.Container) {
	r.Helper()
	dialect, err := cgroup.Detect(r.kernel, top, r.config.Count)
	if err != nil {
		r.Fatal(err)
	}
	r.config.Hierarchy = cgroup.Hierarchy{Files: r.kernel, Dialect: dialect, Top: top}
	if err := r.config.Hierarchy.Close(); err != nil {
		r.Fatal(err)
	}
	r.Node = node.New(r.config)
	r.Synchronize(running)
}

// allocated is a claim of a pod of the same name, as the scheduler leaves it.
func (r *rig) allocated(name string, runtimeUS, periodUS int64, pcpus ...int) *resourceapi.ResourceClaim {
	made := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{
		UID: types.UID("uid-" + name), Namespace: "default", Name: name}}
	allocation := &resourceapi.AllocationResult{}
	for _, pcpu := range pcpus {
		allocation.Devices.Results = append(allocation.Devices.Results, resourceapi.DeviceRequestAllocationResult{
			Request: "vcpus", Driver: claim.Driver, Pool: "n1", Device: claim.Device(pcpu),
			ConsumedCapacity: map[resourceapi.QualifiedName]resource.Quantity{
				claim.Capacity: *resource.NewQuantity(bandwidth.Of(runtimeUS, periodUS), resource.DecimalSI)}})
	}
	allocation.Devices.Config = []resourceapi.DeviceAllocationConfiguration{{
		Source: resourceapi.AllocationConfigSourceClaim,
		DeviceConfiguration: resourceapi.DeviceConfiguration{Opaque: &resourceapi.OpaqueDeviceConfiguration{
			Driver: claim.Driver, Parameters: runtime.RawExtension{Raw: fmt.Appendf(nil,
				`{"apiVersion": %q, "kind": %q, %q: %d, %q: %d, %q: "fifo", %q: 7}`, reservation.APIVersion,
				reservation.Kind, reservation.Runtime, runtimeUS, reservation.Period, periodUS,
				reservation.Policy, reservation.Priority)}}}}}
	made.Status.Allocation = allocation
	made.Status.ReservedFor = []resourceapi.ResourceClaimConsumerReference{consumer("pod-" + name)}
	r.api["default/"+name] = made
	return made
}

func consumer(pod string) resourceapi.ResourceClaimConsumerReference {
	return resourceapi.ResourceClaimConsumerReference{Resource: "pods", Name: pod, UID: types.UID(pod)}
}

func (r *rig) prepare(c *resourceapi.ResourceClaim) {
	r.Helper()
	if _, err := r.Prepare(c); err != nil {
		r.Fatal(err)
	}
}

// container is one of a pod, with what CDI has put into its environment.
func (r *rig) container(c *resourceapi.ResourceClaim, id string) node.Container {
	r.Helper()
	return node.Container{ID: id, Name: "main", Pod: string(c.Status.ReservedFor[0].UID), Running: true,
		Env:   []string{"PATH=/bin", "NOVA_RT_CLAIM_" + strings.ReplaceAll(string(c.UID), "-", "_") + "=1/2"},
		Group: top + "/" + string(c.Status.ReservedFor[0].UID) + "/" + id}
}

// run creates and starts a container as the runtime does.
func (r *rig) run(c node.Container) error {
	if _, err := r.Admit(context.Background(), c); err != nil {
		return err
	}
	r.kernel.Mkdir(c.Group)
	return r.Start(context.Background(), c)
}

// end ends a container, with its group.
func (r *rig) end(c node.Container) {
	r.Helper()
	r.kernel.Rmdir(c.Group)
	if err := r.Stopped(); err != nil {
		r.Error(err)
	}
}

func (r *rig) held(group string, want ...int64) {
	r.Helper()
	if got := r.kernel.Held()[group]; !slices.Equal(got, want) {
		r.Errorf("/%s has %v, not %v", group, got, want)
	}
}

func refused(t *testing.T, err error, part string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), part) {
		t.Errorf("got %v, not: %s", err, part)
	}
}

func TestClaimBecomesRuntimesBeforeTheFirstInstruction(t *testing.T) {
	r := newRig(t, 4)
	c := r.allocated("a", 30_000, 100_000, 3, 1)
	r.prepare(c)
	box := r.container(c, "c1")
	reserved, err := r.Admit(context.Background(), box)
	if err != nil || !slices.Equal(reserved.PCPUs, []int{1, 3}) {
		t.Fatal(reserved, err)
	}
	if err := r.run(box); err != nil {
		t.Fatal(err)
	}
	r.held(box.Group, 0, 30_000, 0, 30_000)
	if r.threads[box.Group] != (reservation.Init{Policy: "fifo", Priority: 7}) {
		t.Error(r.threads)
	}
	left, _ := r.Left()
	if left[0] != limit || left[1] != limit-314_572 {
		t.Error(left)
	}
}

func TestDeletionLeavesNothing(t *testing.T) {
	r := newRig(t, 2)
	c := r.allocated("a", 30_000, 100_000, 0)
	r.prepare(c)
	box := r.container(c, "c1")
	if err := r.run(box); err != nil {
		t.Fatal(err)
	}
	r.end(box)
	for range 2 {
		if err := r.Unprepare(string(c.UID)); err != nil {
			t.Fatal(err)
		}
	}
	r.held(top, 0, 0)
	left, _ := r.Left()
	if left[0] != limit {
		t.Error(left)
	}
	if files, _ := os.ReadDir(r.dir); len(files) > 0 {
		t.Error(files)
	}
}

func TestPreparingTwiceCountsOnce(t *testing.T) {
	r := newRig(t, 1)
	c := r.allocated("a", 60_000, 100_000, 0)
	r.prepare(c)
	r.prepare(c)
	r.start()
	r.prepare(c)
	left, _ := r.Left()
	if left[0] != limit-629_145 {
		t.Error(left)
	}
}

func TestClaimsThatRaceNeverPassTheCap(t *testing.T) {
	r := newRig(t, 2)
	var wait sync.WaitGroup
	results := make(chan error, 20)
	for i := range 20 {
		c := r.allocated(fmt.Sprint("c", i), 30_000, 100_000, 0, 1)
		wait.Go(func() {
			_, err := r.Prepare(c)
			results <- err
		})
	}
	wait.Wait()
	close(results)
	done := 0
	for err := range results {
		if err == nil {
			done++
		} else {
			refused(t, err, "30% is needed on pCPU 0, which has 0% left: other claims have taken it")
		}
	}
	left, _ := r.Left()
	if done != 3 || left[0] < 0 || left[1] < 0 {
		t.Errorf("%d claims of 30%% are prepared, left: %v", done, left)
	}
}

func TestDriverThatIsKilledLosesAndLeaksNothing(t *testing.T) {
	r := newRig(t, 2)
	a, b := r.allocated("a", 30_000, 100_000, 0), r.allocated("b", 40_000, 100_000, 1)
	r.prepare(a)
	r.prepare(b)
	boxes := []node.Container{r.container(a, "c1"), r.container(b, "c2")}
	for _, box := range boxes {
		if err := r.run(box); err != nil {
			t.Fatal(err)
		}
	}
	before := r.kernel.Held()
	// Half a record, as a kill within a write leaves it.
	half := filepath.Join(r.dir, "."+claim.Driver+"-claim_123")
	if err := os.WriteFile(half, []byte(`{"cdi`), 0o600); err != nil {
		t.Fatal(err)
	}
	r.start(boxes...)
	if err := r.Reconcile(); err != nil {
		t.Fatal(err)
	}
	for group, want := range before {
		r.held(group, want...)
	}
	left, _ := r.Left()
	if left[0] != limit-314_572 || left[1] != limit-419_430 {
		t.Error(left)
	}
	if _, err := os.Stat(half); err == nil {
		t.Error("half a record is still there")
	}
	// One ends while the driver is down.
	r.kernel.Rmdir(boxes[0].Group)
	r.start(boxes[1])
	if err := r.Reconcile(); err != nil {
		t.Fatal(err)
	}
	r.held(top, 0, 4*419_430)
}

func TestNothingIsTakenBeforeTheRuntimeHasSaidWhatRuns(t *testing.T) {
	r := newRig(t, 1)
	c := r.allocated("a", 30_000, 100_000, 0)
	r.prepare(c)
	box := r.container(c, "c1")
	if err := r.run(box); err != nil {
		t.Fatal(err)
	}
	r.Node = node.New(r.config)
	refused(t, r.Reconcile(), "has not said yet which containers run")
	_, err := r.Prepare(c)
	refused(t, err, "(NRI) turned on")
	r.held(box.Group, 30_000)
}

func TestBudgetThatSomebodyElseHasChangedIsGivenBack(t *testing.T) {
	r := newRig(t, 1)
	_, box := r.used("a", "c1")
	for _, restarted := range []bool{false, true} {
		for _, changed := range []string{"0", "10000"} {
			if err := r.kernel.Write(box.Group, "cpu.rt_multi_runtime_us", changed); err != nil {
				t.Fatal(err)
			}
			if restarted {
				r.start(box)
			}
			if err := r.Reconcile(); err != nil {
				t.Fatal(err)
			}
			r.held(box.Group, 60_000)
		}
	}
}

func TestContainerThatRestartsTakesOverFromItsPredecessor(t *testing.T) {
	r := newRig(t, 1)
	c := r.allocated("a", 60_000, 100_000, 0)
	r.prepare(c)
	first, second := r.container(c, "c1"), r.container(c, "c2")
	if err := r.run(first); err != nil {
		t.Fatal(err)
	}
	// It has ended, but the kernel has its group still.
	if err := r.run(second); err != nil {
		t.Fatal(err)
	}
	r.held(second.Group, 60_000)
	r.held(first.Group, 0)
	// It runs still: EBUSY.
	r.kernel.SetRTTasks(second.Group, true)
	err := r.run(r.container(c, "c3"))
	refused(t, err, "the container main runs still, and its successor must wait")
	if !errors.Is(err, syscall.EBUSY) {
		t.Error(err)
	}
	r.held(second.Group, 60_000)
}

func TestContainerThatEndsSlowlyKeepsItsReservation(t *testing.T) {
	r := newRig(t, 1)
	c := r.allocated("a", 60_000, 100_000, 0)
	r.prepare(c)
	box := r.container(c, "c1")
	if err := r.run(box); err != nil {
		t.Fatal(err)
	}
	if err := r.Stopped(); err != nil {
		t.Fatal(err)
	}
	r.held(box.Group, 60_000)
	if err := r.Removed(box.ID); err != nil {
		t.Fatal(err)
	}
	r.held(box.Group, 0)
	r.held(top, 0)
}

func TestClaimIsForOnePodAndOneContainer(t *testing.T) {
	r := newRig(t, 1)
	c := r.allocated("a", 30_000, 100_000, 0)
	r.prepare(c)
	box := r.container(c, "c1")
	if err := r.run(box); err != nil {
		t.Fatal(err)
	}
	thief := box
	thief.ID, thief.Pod, thief.Group = "c9", "pod-thief", top+"/pod-thief/c9"
	refused(t, r.run(thief), "the claim default/a is not reserved for the pod of the container main")
	second := box
	second.ID, second.Name, second.Group = "c2", "side", top+"/pod-a/c2"
	refused(t, r.run(second), "is used by the container main already: give the container side a claim of its own")
	stranger := box
	stranger.Env = []string{"NOVA_RT_CLAIM_uid_x=1/2"}
	refused(t, r.run(stranger), "the claim uid-x of the container main is not prepared on this node")
	stranger.Env = append(stranger.Env, box.Env...)
	refused(t, r.run(stranger), "has 2 claims, but one reservation at most")
	c.Status.ReservedFor = append(c.Status.ReservedFor, consumer("pod-b"))
	r.prepare(c) // the kubelet restarts: the pod that has it keeps it
	other := r.allocated("b", 30_000, 100_000, 0)
	other.Status.ReservedFor = append(other.Status.ReservedFor, consumer("pod-c"))
	_, err := r.Prepare(other)
	refused(t, err, "is reserved for 2 pods, but a reservation is for one")
}

func TestNextPodOfAClaimTakesItOver(t *testing.T) {
	r := newRig(t, 1)
	c := r.allocated("a", 60_000, 100_000, 0)
	r.prepare(c)
	first := r.container(c, "c1")
	if err := r.run(first); err != nil {
		t.Fatal(err)
	}
	c.Status.ReservedFor = []resourceapi.ResourceClaimConsumerReference{consumer("pod-next")}
	second := r.container(c, "c2")
	refused(t, r.run(second), "is used by the container main already")
	r.end(first)
	if err := r.run(second); err != nil {
		t.Fatal(err)
	}
	r.held(second.Group, 60_000)
}

func TestStaleSlicesAndShrunkNodesAreRefused(t *testing.T) {
	r := newRig(t, 2)
	_, err := r.Prepare(r.allocated("gone", 30_000, 100_000, 5))
	refused(t, err, "the pCPU 5 of the claim default/gone holds no reservations on this node any more")
	kept := r.allocated("kept", 60_000, 100_000, 1)
	r.prepare(kept)
	r.config.Capacity = map[int]int64{0: limit / 2}
	r.start()
	r.prepare(kept) // promised stays promised
	_, err = r.Prepare(r.allocated("big", 60_000, 100_000, 0))
	refused(t, err, "60000 µs every 100000 µs is 60% of a pCPU, but at most 45% can be reserved: "+
		"lower cpu.rt_runtime_us to 45000 or raise cpu.rt_period_us.")
}

func TestWhatTheSchedulerCountedMustBeWhatTheKernelIsTold(t *testing.T) {
	r := newRig(t, 2)
	for want, change := range map[string]func(*resourceapi.DeviceAllocationResult){
		"asks for a bandwidth of 1, but 30000 µs every 100000 µs is 314572": func(d *resourceapi.DeviceAllocationResult) {
			d.Results[0].ConsumedCapacity[claim.Capacity] = resource.MustParse("1")
		},
		"asks for a bandwidth of 0, but": func(d *resourceapi.DeviceAllocationResult) {
			d.Results[0].ConsumedCapacity = nil
		},
		"has pCPU 0 twice": func(d *resourceapi.DeviceAllocationResult) {
			d.Results = append(d.Results, d.Results[0])
		},
		"has the device pcpu-00, which": func(d *resourceapi.DeviceAllocationResult) {
			d.Results[0].Device = "pcpu-00"
		},
		"has the device every-pcpu, which": func(d *resourceapi.DeviceAllocationResult) {
			d.Results = append(d.Results, d.Results[0])
			d.Results[1].Device = claim.EveryDevice
		},
		"of another kind": func(d *resourceapi.DeviceAllocationResult) {
			d.Results[0].Device = claim.EveryDevice
		},
		"of the pool n2": func(d *resourceapi.DeviceAllocationResult) { d.Results[0].Pool = "n2" },
		"admin access": func(d *resourceapi.DeviceAllocationResult) {
			yes := true
			d.Results[0].AdminAccess = &yes
		},
		"use two claims": func(d *resourceapi.DeviceAllocationResult) {
			d.Results = append(d.Results, d.Results[0])
			d.Results[1].Request = "more"
		},
		"has no parameters": func(d *resourceapi.DeviceAllocationResult) { d.Config = nil },
		"has two configurations": func(d *resourceapi.DeviceAllocationResult) {
			d.Config = append(d.Config, d.Config[0])
		},
	} {
		c := r.allocated("a", 30_000, 100_000, 0)
		change(&c.Status.Allocation.Devices)
		_, err := r.Prepare(c)
		refused(t, err, want)
	}
	left, _ := r.Left()
	if left[0] != limit {
		t.Error(left)
	}
}

func TestKernelIsTheLastToDecide(t *testing.T) {
	r := newRig(t, 1)
	c := r.allocated("a", 60_000, 100_000, 0)
	r.prepare(c)
	r.kernel.Refuse = func(group, name, text string) error {
		if strings.HasSuffix(group, "/c1") {
			return &cgroup.RefusalError{Errno: syscall.EINVAL, Sentence: "The kernel refused it."}
		}
		return nil
	}
	refused(t, r.run(r.container(c, "c1")), "The kernel refused it.")
	r.held(top, 0)
	r.kernel.Refuse = nil
	r.kernel.Rmdir(top + "/pod-a/c1")
	if err := r.Stopped(); err != nil {
		t.Fatal(err)
	}
	r.held(top, 0)
}

func TestNodeWithOneRuntimeForAllPCPUs(t *testing.T) {
	r := newRig(t, 2)
	r.kernel.Every()
	r.start()
	c := r.allocated("a", 60_000, 100_000, 0)
	c.Status.Allocation.Devices.Results[0].Device = claim.EveryDevice
	r.prepare(c)
	box := r.container(c, "c1")
	if err := r.run(box); err != nil {
		t.Fatal(err)
	}
	r.held(box.Group, 60_000, 60_000)
	other := r.allocated("b", 40_000, 100_000, 0)
	other.Status.Allocation.Devices.Results[0].Device = claim.EveryDevice
	_, err := r.Prepare(other)
	refused(t, err, "40% is needed on pCPU 0, which has 30% left")
	_, err = r.Prepare(r.allocated("c", 10_000, 100_000, 0))
	refused(t, err, "of another kind than this node has now")
}

func TestClaimsThatHaveGoneAreForgotten(t *testing.T) {
	r := newRig(t, 1)
	unused, used := r.allocated("unused", 30_000, 100_000, 0), r.allocated("used", 30_000, 100_000, 0)
	alive := r.allocated("alive", 30_000, 100_000, 0)
	for _, c := range []*resourceapi.ResourceClaim{unused, used, alive} {
		r.prepare(c)
	}
	if err := r.run(r.container(used, "c1")); err != nil {
		t.Fatal(err)
	}
	delete(r.api, "default/unused")
	delete(r.api, "default/used")
	if err := r.CollectGarbage(context.Background()); err != nil {
		t.Fatal(err)
	}
	all, err := r.config.Records.All()
	if err != nil || len(all) != 2 || all["uid-unused"].UID != "" {
		t.Error(all, err)
	}
}

func TestClaimThatIsForgottenWhileItsContainerRunsIsStillCounted(t *testing.T) {
	r := newRig(t, 1)
	c := r.allocated("a", 60_000, 100_000, 0)
	r.prepare(c)
	if err := r.run(r.container(c, "c1")); err != nil {
		t.Fatal(err)
	}
	if err := r.Unprepare(string(c.UID)); err != nil {
		t.Fatal(err)
	}
	_, err := r.Prepare(r.allocated("b", 60_000, 100_000, 0))
	refused(t, err, "60% is needed on pCPU 0, which has 30% left")
}
