// SPDX-License-Identifier: Apache-2.0

// Package tests runs the driver against a real kube-apiserver, kube-scheduler and
// controller of claims, with etcd. The kubelet, the container runtime and the kernel's
// control groups are fakes: fakeNode, a directory, and NRI's own library for runtimes. They
// are real in worker, a virtual machine.
package tests

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

const (
	adminToken = "admin"
	// Of the kubelet of workerNode.
	workerToken = "worker"
	// How long anything may take on a machine that is busy otherwise.
	patience = 90 * time.Second
)

// cluster is what all tests share.
var cluster struct {
	dir     string
	config  *rest.Config
	client  *kubernetes.Clientset
	dynamic *dynamic.DynamicClient
	driver  string
	server  string
}

// needed are the programs that the stage builds or installs.
var needed = map[string]string{
	"NOVA_RT_CONTROLPLANE": "the control plane is not built: run \"make test-kubernetes\"",
	"NOVA_RT_ETCD":         "there is no etcd: run \"make test-kubernetes\"",
}

func TestMain(m *testing.M) {
	for name, reason := range needed {
		if os.Getenv(name) == "" {
			fmt.Printf("tests of a cluster are skipped: %s\n", reason)
			return
		}
	}
	os.Exit(runCluster(m))
}

func runCluster(m *testing.M) int {
	dir, err := os.MkdirTemp("", "nrt")
	if err != nil {
		panic(err)
	}
	cluster.dir = dir
	servers := &processes{}
	defer func() {
		servers.end()
		_ = os.RemoveAll(dir)
	}()
	if err := startCluster(servers); err != nil {
		fmt.Printf("the cluster does not start: %v\n", err)
		servers.show()
		return 1
	}
	status := m.Run()
	if status != 0 {
		servers.show()
	}
	return status
}

func startCluster(servers *processes) error {
	if err := buildDriver(); err != nil {
		return err
	}
	etcd := "http://127.0.0.1:" + freePort()
	peer := "http://127.0.0.1:" + freePort()
	err := servers.start("etcd", os.Getenv("NOVA_RT_ETCD"), "--data-dir", path("etcd"), "--unsafe-no-fsync",
		"--listen-client-urls", etcd, "--advertise-client-urls", etcd, "--listen-peer-urls", peer,
		"--initial-advertise-peer-urls", peer, "--initial-cluster", "default="+peer)
	if err != nil {
		return err
	}
	if err := startServer(servers, etcd); err != nil {
		return err
	}
	controlplane := os.Getenv("NOVA_RT_CONTROLPLANE")
	if err := servers.start("scheduler", controlplane, "scheduler", "--kubeconfig", path("admin.conf"),
		"--leader-elect=false", "--secure-port=0",
		// A claim that is just being allocated may count twice for another pod, which then
		// waits without an event to try it again: five minutes, but for this.
		"--pod-max-in-unschedulable-pods-duration=5s"); err != nil {
		return err
	}
	if err := servers.start("claims", controlplane, "claims", "--kubeconfig", path("admin.conf")); err != nil {
		return err
	}
	return install()
}

// startServer starts the API server. What needs a kubelet or more controllers is off.
func startServer(servers *processes, etcd string) error {
	port := freePort()
	cluster.server = "https://127.0.0.1:" + port
	if err := os.WriteFile(path("tokens"), []byte(adminToken+",admin,admin,system:masters\n"+
		workerToken+",system:node:"+workerNode+",worker,system:nodes\n"), 0o600); err != nil {
		return err
	}
	if err := writeKey(path("sa.key")); err != nil {
		return err
	}
	if err := writeKubeconfig(path("admin.conf"), adminToken); err != nil {
		return err
	}
	err := servers.start("apiserver", os.Getenv("NOVA_RT_CONTROLPLANE"), "apiserver", "--etcd-servers", etcd,
		"--secure-port", port, "--bind-address", "127.0.0.1", "--cert-dir", path("certs"),
		"--token-auth-file", path("tokens"), "--authorization-mode", "Node,RBAC",
		"--service-cluster-ip-range", "10.0.0.0/24", "--service-account-issuer", "https://nova-rt.test",
		"--service-account-key-file", path("sa.key"), "--service-account-signing-key-file", path("sa.key"),
		"--disable-admission-plugins", "ServiceAccount,TaintNodesByCondition")
	if err != nil {
		return err
	}
	cluster.config = &rest.Config{Host: cluster.server, BearerToken: adminToken, QPS: 200, Burst: 400,
		TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
	if cluster.client, err = kubernetes.NewForConfig(cluster.config); err != nil {
		return err
	}
	if cluster.dynamic, err = dynamic.NewForConfig(cluster.config); err != nil {
		return err
	}
	return eventually(func() error {
		_, err := cluster.client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(context.Background())
		return err
	})
}

func buildDriver() error {
	cluster.driver = path("nova-rt-dra")
	return command("go", "build", "-race", "-o", cluster.driver, "../cmd/nova-rt-dra")
}

// command runs a program to its end.
func command(program string, arguments ...string) error {
	if output, err := exec.Command(program, arguments...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", program, err, output)
	}
	return nil
}

func path(name string) string { return filepath.Join(cluster.dir, name) }

func freePort() string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	defer func() { _ = listener.Close() }()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	return port
}

func writeKey(name string) error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	return os.WriteFile(name, pem.EncodeToMemory(&pem.Block{
		Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}), 0o600)
}

func writeKubeconfig(name, token string) error {
	config := clientcmdapi.NewConfig()
	config.Clusters["test"] = &clientcmdapi.Cluster{Server: cluster.server, InsecureSkipTLSVerify: true}
	config.AuthInfos["test"] = &clientcmdapi.AuthInfo{Token: token}
	config.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "test"}
	config.CurrentContext = "test"
	return clientcmd.WriteToFile(*config, name)
}

// eventually tries until there is no error or patience ends.
func eventually(try func() error) error { return within(patience, 50*time.Millisecond, try) }

// within tries until there is no error or so much time has passed.
func within(longest, pause time.Duration, try func() error) error {
	var err error
	for started := time.Now(); time.Since(started) < longest; time.Sleep(pause) {
		if err = try(); err == nil {
			return nil
		}
	}
	return fmt.Errorf("not within %v: %w", longest, err)
}

// processes are servers that end with the tests.
type processes struct{ running []*process }

type process struct {
	*exec.Cmd
	log string
}

func start(name, program string, arguments ...string) (*process, error) {
	log, err := os.OpenFile(path(name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	command := exec.Command(program, arguments...)
	command.Stdout, command.Stderr = log, log
	// With a test that is killed, its servers end too.
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return &process{command, log.Name()}, command.Start()
}

func (p *process) stop(signal syscall.Signal) error {
	_ = p.Process.Signal(signal)
	return p.Wait()
}

func (p *processes) start(name, program string, arguments ...string) error {
	started, err := start(name, program, arguments...)
	if err == nil {
		p.running = append(p.running, started)
	}
	return err
}

func (p *processes) end() {
	for i := len(p.running) - 1; i >= 0; i-- {
		_ = p.running[i].stop(syscall.SIGKILL)
	}
}

// show prints the ends of the servers' logs.
func (p *processes) show() {
	for _, each := range p.running {
		text, _ := os.ReadFile(each.log)
		lines := strings.Split(string(text), "\n")
		fmt.Printf("%s:\n%s\n", each.log, strings.Join(lines[max(0, len(lines)-15):], "\n"))
	}
}

var errNotYet = errors.New("not yet")
