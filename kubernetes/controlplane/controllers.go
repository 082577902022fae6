// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/controller-manager/pkg/informerfactory"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/deployment"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
	"k8s.io/kubernetes/pkg/controller/replicaset"
	"k8s.io/kubernetes/pkg/controller/resourceclaim"
)

// workers are the tasks of each controller.
const workers = 4

// newControllersCommand makes claims of templates and frees those of pods that have ended,
// makes pods of Deployments, and deletes what is left without an owner. The rest of
// kube-controller-manager would take minutes to build.
func newControllersCommand() *cobra.Command {
	var kubeconfig string
	command := &cobra.Command{Use: "controllers", RunE: func(command *cobra.Command, _ []string) error {
		config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
		if err != nil {
			return err
		}
		// The garbage collector watches every kind at its start.
		config.QPS, config.Burst = 200, 400
		return control(command.Context(), config)
	}}
	command.Flags().StringVar(&kubeconfig, "kubeconfig", "", "how to reach the API server")
	return command
}

// control runs the controllers until the context ends.
func control(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	resources, pods := factory.Resource().V1(), factory.Core().V1().Pods()
	deployments, replicaSets := factory.Apps().V1().Deployments(), factory.Apps().V1().ReplicaSets()
	claims, err := resourceclaim.NewController(klog.Background(), client, pods,
		factory.Scheduling().V1beta1().PodGroups(), resources.ResourceClaims(), resources.ResourceClaimTemplates())
	if err != nil {
		return err
	}
	deployed, err := deployment.NewDeploymentController(ctx, deployments, replicaSets, pods, client)
	if err != nil {
		return err
	}
	replicas := replicaset.NewReplicaSetController(ctx, replicaSets, pods, client, replicaset.BurstReplicas)
	collect, err := newCollector(ctx, config, client, factory)
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	var running sync.WaitGroup
	for _, run := range []func(context.Context, int){claims.Run, deployed.Run, replicas.Run, collect} {
		running.Go(func() { run(ctx, workers) })
	}
	running.Wait()
	return nil
}

// newCollector returns what runs the garbage collector, of all kinds that the server has.
func newCollector(ctx context.Context, config *rest.Config, client kubernetes.Interface,
	factory informers.SharedInformerFactory) (func(context.Context, int), error) {
	objects, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	started := make(chan struct{})
	close(started)
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client.Discovery()))
	collector, err := garbagecollector.NewGarbageCollector(ctx, client, objects, mapper,
		map[schema.GroupResource]struct{}{{Resource: "events"}: {}},
		informerfactory.NewInformerFactory(factory, metadatainformer.NewSharedInformerFactory(objects, 0)), started)
	if err != nil {
		return nil, err
	}
	const period = 5 * time.Second
	return func(ctx context.Context, count int) {
		var running sync.WaitGroup
		running.Go(func() { collector.Sync(ctx, client.Discovery(), period) })
		collector.Run(ctx, count, period)
		running.Wait()
	}, nil
}
