// SPDX-License-Identifier: Apache-2.0

// Command nova-rt-dra offers reservations of a node's pCPUs to pods: a DRA driver for the
// kubelet and an NRI plug-in for the container runtime in one process.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"nova-rt/kubernetes/internal/claim"
	"nova-rt/kubernetes/internal/dra"
	"nova-rt/kubernetes/internal/gate"
	"nova-rt/kubernetes/internal/node"
	"nova-rt/kubernetes/internal/nri"
	"nova-rt/kubernetes/internal/serve"
)

const (
	reconcileEvery = 5 * time.Second
	collectEvery   = 10 * time.Minute
	// The runtime answers at once, or the node offers nothing: without it, claims would only
	// wait here. Until then, what a driver before this one has published stays.
	answersWithin = 30 * time.Second
	// A call of the API server that takes longer holds up the containers of the node.
	apiTimeout = 10 * time.Second
)

func main() {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	o, err := parse(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return // The flags have been printed.
	}
	if err == nil {
		err = run(ctx, o, log)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "nova-rt-dra: %v\n", err)
		os.Exit(1)
	}
}

// run serves until the context ends or a part fails for good.
func run(ctx context.Context, o options, log *slog.Logger) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	machine, err := examine(o)
	if err != nil {
		return err
	}
	alone, err := takeOver(ctx, o)
	if err != nil {
		return err
	}
	defer func() { _ = alone.Close() }()
	// The first write to the kernel: it shows whether it takes any.
	if err := machine.config.Hierarchy.Close(); err != nil {
		return err
	}
	client, err := connect(o.kubeconfig)
	if err != nil {
		return err
	}
	machine.config.Claims = dra.Claims{Client: client}
	if err := installGate(o.gate()); err != nil {
		return err
	}
	machine.config.Records = claim.Records{Dir: o.cdiDir, Gate: o.gate()}
	if err := machine.config.Records.Renew(); err != nil {
		return err
	}
	reservations := node.New(machine.config)
	metrics, health := serve.NewMetrics(machine.config.Capacity), &serve.Health{}
	log.Info("the node offers reservations", "dialect", machine.config.Hierarchy.Dialect.Name(),
		"pcpus", len(machine.config.Capacity))

	plugin := &dra.Plugin{Node: reservations, Devices: machine.devices, Log: log, Metrics: metrics, Fatal: cancel}
	helper, err := plugin.Start(ctx, client, o.nodeName, o.pluginDir(), o.registryDir())
	if helper != nil {
		defer helper.Stop()
	}
	if err != nil {
		return err
	}
	go func() { cancel(listen(ctx, o.address, serve.Handler(metrics, health))) }()
	go reconcile(ctx, reservations, health, log)
	go watch(ctx, o, machine, cancel)
	time.AfterFunc(answersWithin, func() { plugin.Republish(ctx) })
	(&nri.Plugin{Node: reservations, Log: log, Metrics: metrics, Synchronized: plugin.Republish}).Run(
		ctx, o.nriSocket)
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

// takeOver makes the directories of this process, and waits until no other one has them.
func takeOver(ctx context.Context, o options) (*os.File, error) {
	for _, dir := range []string{o.cdiDir, o.pluginDir(), o.registryDir()} {
		if err := os.MkdirAll(dir, 0o750); err != nil {
			return nil, err
		}
	}
	return lock(ctx, o.pluginDir(), predecessorEndsWithin)
}

// reconcile looks again and again whether the kernel holds what it should.
func reconcile(ctx context.Context, reservations *node.Node, health *serve.Health, log *slog.Logger) {
	look, collect := time.NewTicker(reconcileEvery), time.NewTicker(collectEvery)
	defer look.Stop()
	defer collect.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
			health.Report(reservations.Reconcile())
		case <-collect.C:
			if err := reservations.CollectGarbage(ctx); err != nil {
				log.Warn("claims that have gone are not forgotten yet", "error", err)
			}
		}
	}
}

// watch ends the process when the node offers other pCPUs than when it was started, so that
// it is started anew and says so to the scheduler.
func watch(ctx context.Context, o options, started machine, end func(error)) {
	look := time.NewTicker(reconcileEvery)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
			now, err := examine(o)
			if err == nil && maps.Equal(now.config.Capacity, started.config.Capacity) {
				continue
			}
			end(errors.Join(errors.New("the pCPUs of the node, or what its kernel admits, have changed"), err))
			return
		}
	}
}

func listen(ctx context.Context, address string, handler http.Handler) error {
	server := &http.Server{Addr: address, Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// connect returns a client of the API server: in a pod, or as a file says.
func connect(kubeconfig string) (kubernetes.Interface, error) {
	var config *rest.Config
	var err error
	if kubeconfig == "" {
		config, err = rest.InClusterConfig()
	} else {
		config, err = clientcmd.BuildConfigFromFlags("", kubeconfig)
	}
	if err != nil {
		return nil, fmt.Errorf("the API server is not known, name it by --kubeconfig: %w", err)
	}
	config.Timeout = apiTimeout
	return kubernetes.NewForConfig(config)
}

func (o options) pluginDir() string { return filepath.Join(o.kubeletDir, "plugins", claim.Driver) }

// gate is at the same path on the node, where the runtime looks.
func (o options) gate() string { return filepath.Join(o.pluginDir(), gate.Program) }

func (o options) registryDir() string { return filepath.Join(o.kubeletDir, "plugins_registry") }
