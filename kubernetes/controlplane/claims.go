// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/cobra"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/resourceclaim"
)

// newClaimsCommand makes claims of templates, and frees those of pods that have ended. The
// rest of kube-controller-manager would take minutes to build.
func newClaimsCommand() *cobra.Command {
	var kubeconfig string
	command := &cobra.Command{Use: "claims", RunE: func(command *cobra.Command, _ []string) error {
		config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
		if err != nil {
			return err
		}
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			return err
		}
		factory := informers.NewSharedInformerFactory(client, 0)
		resources := factory.Resource().V1()
		controller, err := resourceclaim.NewController(klog.Background(), client, factory.Core().V1().Pods(),
			factory.Scheduling().V1beta1().PodGroups(), resources.ResourceClaims(), resources.ResourceClaimTemplates())
		if err != nil {
			return err
		}
		factory.Start(command.Context().Done())
		controller.Run(command.Context(), 4)
		return nil
	}}
	command.Flags().StringVar(&kubeconfig, "kubeconfig", "", "how to reach the API server")
	return command
}
