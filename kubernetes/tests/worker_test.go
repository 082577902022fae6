// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	workerNode = "worker"
	// An emulated processor is slow, and the machine may be busy otherwise.
	workerPatience = 10 * time.Minute
	// Where QEMU's user network shows the host's loopback.
	hostInGuest = "10.0.2.2"
)

// kind says how many pCPUs a machine has, and how time passes in it.
type kind struct {
	pcpus int
	// Options of QEMU.
	timing []string
	// How long shares are measured, in the machine's time, and how often until they must be
	// right.
	window       time.Duration
	measurements int
	// Of a pCPU: what may be between what is reserved and what is measured.
	tolerance float64
}

var (
	// Time passes as outside: the pCPUs are threads, which wait for the processors of a busy
	// machine.
	asOutside = kind{4, []string{"-accel", "tcg,thread=multi,tb-size=512"}, 10 * time.Second, 3, 0.01}
	// Time passes by the instructions that the pCPUs execute in turn, 8 ns each, so it does
	// not depend on the machine outside what they get. While all are idle, time passes as
	// outside: the kubelet may wait for the API server. A window that begins within a period
	// has up to a budget more or less.
	inVirtualTime = kind{4, countingInstructions("3"), time.Minute, 1, 0.001}
	// One pCPU, at 1 ns: nothing waits for another's turn, so response times mean something.
	alone = kind{pcpus: 1, timing: countingInstructions("0")}
)

// countingInstructions returns options with which each takes 2 to the power of shift, in ns.
func countingInstructions(shift string) []string {
	return []string{"-accel", "tcg,thread=single,tb-size=512", "-icount", "sleep=on,shift=" + shift}
}

// worker is a node in a virtual machine: a real kubelet, containerd, runc, and our kernel.
type worker struct {
	*testing.T
	kind
	machine  *process
	dir, ssh string
}

// newWorker starts the machine that kubernetes/worker/image makes, and waits until it has
// joined the cluster and offers its pCPUs.
func newWorker(t *testing.T, kind kind) *worker {
	t.Helper()
	image, kernel := os.Getenv("NOVA_RT_WORKER_IMAGE"), os.Getenv("NOVA_RT_WORKER_KERNEL")
	if image == "" || kernel == "" {
		t.Skip("takes minutes: FULL=1 runs it")
	}
	dir, err := os.MkdirTemp(cluster.dir, workerNode)
	if err != nil {
		t.Fatal(err)
	}
	w := &worker{T: t, kind: kind, dir: dir, ssh: freePort()}
	if err := w.makeDisk(); err != nil {
		t.Fatal(err)
	}
	machine, err := start(filepath.Base(dir), "qemu-system-x86_64", w.arguments(image, kernel)...)
	if err != nil {
		t.Fatal(err)
	}
	w.machine = machine
	t.Cleanup(w.cleanUp)
	w.wait(w.registered)
	w.joinDriver()
	w.wait(func() error { return publishedBy(workerNode, w.pcpus) })
	return w
}

func (w *worker) arguments(image, kernel string) []string {
	return append([]string{"-name", workerNode, "-machine", "q35",
		"-cpu", "max", "-smp", fmt.Sprint(w.pcpus), "-m", "2048", "-nodefaults", "-display", "none",
		"-no-reboot", "-serial", "stdio", "-kernel", kernel,
		"-append", "console=ttyS0 quiet panic=-1 systemd.show_status=0 root=/dev/vda rw " +
			// The emulator's clock is the host's: it is never unstable.
			"tsc=reliable clocksource=tsc no_timer_check",
		"-drive", "file=" + image + ",if=virtio,format=raw,snapshot=on,cache=unsafe",
		"-drive", "file=" + w.path("disk") + ",if=virtio,format=raw,readonly=on",
		"-netdev", "user,id=user,hostfwd=tcp:127.0.0.1:" + w.ssh + "-:22",
		"-device", "virtio-net-pci,netdev=user,mac=52:54:00:00:00:01,romfile=",
		"-device", "virtio-rng-pci"}, w.timing...)
}

// makeDisk writes what kubernetes/worker/image expects on the second disk.
func (w *worker) makeDisk() error {
	if err := os.MkdirAll(w.path("share"), 0o755); err != nil {
		return err
	}
	compile := []string{"-O2", "-Wall", "-Werror", "-static", "-pthread", "-o"}
	driver := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", w.path("share/"), "../cmd/...")
	driver.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := driver.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, output)
	}
	for _, c := range [][]string{
		append(append([]string{"gcc"}, compile...), w.path("share/hog"), "../../stack/image/hog.c"),
		append(append([]string{"gcc"}, compile...), w.path("share/periodic"), "../worker/periodic.c"),
		append(append([]string{"gcc"}, compile...), w.path("pause"), "../worker/pause.c"),
		{"cp", os.Getenv("NOVA_RT_DRIVER_IMAGE"), w.path("share/driver.tar")},
		{"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", w.path("key")},
	} {
		if err := command(c[0], c[1:]...); err != nil {
			return err
		}
	}
	if err := writeImages(w.path("share/images.tar"), map[string]string{
		"pause": w.path("pause"), "periodic": w.path("share/periodic"), "hog": w.path("share/hog")}); err != nil {
		return err
	}
	public, err := os.ReadFile(w.path("key.pub"))
	if err != nil {
		return err
	}
	config, err := w.kubeconfig(workerToken)
	if err != nil {
		return err
	}
	for name, text := range map[string][]byte{"authorized_keys": public, "kubelet.conf": config} {
		if err := os.WriteFile(w.path("share/"+name), text, 0o600); err != nil {
			return err
		}
	}
	return command("mke2fs", "-q", "-t", "ext4", "-O", "^has_journal", "-E", "root_owner=0:0",
		"-d", w.path("share"), w.path("disk"), "256M")
}

// kubeconfig says how the guest reaches the API server.
func (w *worker) kubeconfig(token string) ([]byte, error) {
	if err := writeKubeconfig(w.path("kubeconfig"), token); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(w.path("kubeconfig"))
	return bytes.ReplaceAll(text, []byte("127.0.0.1"), []byte(hostInGuest)), err
}

func (w *worker) path(name string) string { return filepath.Join(w.dir, name) }

// registered wants the kubelet to have made its node, and to have told what it has.
func (w *worker) registered() error {
	if err := w.machine.Process.Signal(syscall.Signal(0)); err != nil {
		w.Fatalf("the machine has ended: %v", err)
	}
	node, err := cluster.client.CoreV1().Nodes().Get(context.Background(), workerNode, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if node.Status.Allocatable.Pods().IsZero() {
		return fmt.Errorf("the node has no room for pods: %w", errNotYet)
	}
	w.Logf("the node has the kernel %s, the kubelet %s and %s", node.Status.NodeInfo.KernelVersion,
		node.Status.NodeInfo.KubeletVersion, node.Status.NodeInfo.ContainerRuntimeVersion)
	return nil
}

// joinDriver gives the driver, which is started again and again until then, its token. It
// names the node, which the kubelet makes.
func (w *worker) joinDriver() {
	w.Helper()
	node, err := cluster.client.CoreV1().Nodes().Get(context.Background(), workerNode, metav1.GetOptions{})
	if err != nil {
		w.Fatal(err)
	}
	token, err := driverToken(node)
	if err != nil {
		w.Fatal(err)
	}
	config, err := w.kubeconfig(token)
	if err != nil {
		w.Fatal(err)
	}
	w.wait(func() error {
		_, err := w.run("cat > /etc/nova-rt-dra.conf", string(config))
		return err
	})
}

// run runs a command in the guest as root, and returns what it prints.
func (w *worker) run(command, input string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), workerPatience)
	defer cancel()
	ssh := exec.CommandContext(ctx, "ssh", append(w.sshOptions(), "root@127.0.0.1", command)...)
	ssh.Stdin = strings.NewReader(input)
	var stderr bytes.Buffer
	ssh.Stderr = &stderr
	output, err := ssh.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s%s", command, err, output, stderr.String())
	}
	return string(output), nil
}

// sshOptions make the connection stay for the next command.
func (w *worker) sshOptions() []string {
	options := []string{"-F", "none", "-i", w.path("key"), "-p", w.ssh}
	for _, option := range []string{"BatchMode=yes", "StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null",
		"LogLevel=ERROR", "ConnectTimeout=60", "ControlMaster=auto", "ControlPersist=60",
		"ControlPath=" + w.path("ssh")} {
		options = append(options, "-o", option)
	}
	return options
}

// must is the same for commands that do not fail.
func (w *worker) must(command string) string {
	w.Helper()
	output, err := w.run(command, "")
	if err != nil {
		w.Fatal(err)
	}
	return output
}

func (w *worker) wait(try func() error) {
	w.Helper()
	if err := within(workerPatience, time.Second, try); err != nil {
		w.Fatal(err)
	}
}

// running waits until pods run, and returns the control group of each one's container.
func (w *worker) running(names ...string) []string {
	w.Helper()
	var groups []string
	for _, name := range names {
		var id string
		w.wait(func() error {
			pod, err := podNamed(name)
			if err != nil {
				return err
			}
			if pod.Status.Phase != corev1.PodRunning {
				return fmt.Errorf("the pod %s is %s: %v", name, pod.Status.Phase, pod.Status.ContainerStatuses)
			}
			if restarts := pod.Status.ContainerStatuses[0].RestartCount; restarts != 0 {
				w.Fatalf("the container of %s has been restarted %d times", name, restarts)
			}
			_, id, _ = strings.Cut(pod.Status.ContainerStatuses[0].ContainerID, "://")
			return nil
		})
		groups = append(groups, strings.TrimSpace(w.must(
			"cd /sys/fs/cgroup && find kubepods.slice -name 'cri-containerd-"+id+".scope'")))
	}
	return groups
}

func (w *worker) cleanUp() {
	if w.Failed() {
		console, _ := os.ReadFile(w.machine.log)
		w.Logf("the console says:\n%s", console)
		log, err := w.run("journalctl --no-pager -o cat -u nova-rt-dra | tail -40; "+
			"journalctl --no-pager -o cat -u kubelet -u containerd -p warning | tail -60", "")
		w.Logf("its services say (%v):\n%s", err, log)
	}
	_ = command("ssh", append(w.sshOptions(), "-O", "exit", "root@127.0.0.1")...)
	_ = w.machine.stop(syscall.SIGKILL)
	ctx := context.Background()
	_ = cluster.client.CoreV1().Nodes().Delete(ctx, workerNode, metav1.DeleteOptions{})
	// Nobody collects garbage here.
	_ = cluster.client.ResourceV1().ResourceSlices().DeleteCollection(ctx, metav1.DeleteOptions{},
		metav1.ListOptions{FieldSelector: "spec.nodeName=" + workerNode})
}
