package fleet_test

import (
	"context"
	"os/signal"
	"syscall"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"open-cluster-management.io/helloworld-addon/sandbox/fleet"
)

// A program that runs the agents of an add-on for all clusters of a fleet. The agent's Deployment has
// the image registry.example.com/my-addon, and mounts the Secret my-addon-hub-kubeconfig.
func Example() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	err := fleet.Serve(ctx, fleet.Agents{
		Image: "registry.example.com/my-addon",
		Agent: runAgent,
		Job:   cleanUp,
	})
	if err != nil {
		panic(err)
	}
}

// runAgent is the function that the agent's own main calls too. It gets the credentials for the hub
// as the real agent does, from the Secret that OCM's registration agent writes.
func runAgent(ctx context.Context, cluster fleet.Cluster) error {
	managed, err := kubernetes.NewForConfig(cluster.Managed)
	if err != nil {
		return err
	}
	secret, err := managed.CoreV1().Secrets(cluster.Namespace).Get(ctx, "my-addon-hub-kubeconfig", metav1.GetOptions{})
	if err != nil {
		return err // called again, with the kubelet's back-off
	}
	hubConfig, err := clientcmd.RESTConfigFromKubeConfig(secret.Data["kubeconfig"])
	if err != nil {
		return err
	}
	// the kubeconfig names files, which a pod has in a volume
	hubConfig.CertFile, hubConfig.CertData = "", secret.Data["tls.crt"]
	hubConfig.KeyFile, hubConfig.KeyData = "", secret.Data["tls.key"]
	hub, err := kubernetes.NewForConfig(hubConfig)
	if err != nil {
		return err
	}
	return syncForever(ctx, hub.CoreV1().ConfigMaps(cluster.Name), managed)
}

// syncForever stands for the agent's own code.
func syncForever(ctx context.Context, _, _ any) error {
	<-ctx.Done()
	return nil
}

// cleanUp is the add-on's uninstall hook. The Job is complete when it returns nil.
func cleanUp(context.Context, fleet.Cluster) error { return nil }
