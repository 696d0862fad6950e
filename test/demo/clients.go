package demo

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	addonclient "open-cluster-management.io/api/client/addon/clientset/versioned"
	workclient "open-cluster-management.io/api/client/work/clientset/versioned"
)

// requestTimeout limits each request of the demo.
const requestTimeout = 20 * time.Second

// clients holds the clients of the hub and of the managed clusters.
type clients struct {
	hub     kubernetes.Interface
	addon   addonclient.Interface
	work    workclient.Interface
	dynamic dynamic.Interface
	// cluster is the first of clusters, which are by name.
	cluster  kubernetes.Interface
	clusters map[string]kubernetes.Interface
}

// newClients returns the clients of the sandbox. kubeconfig returns the file of the hub or of a managed cluster.
func newClients(kubeconfig func(name string) string, managed []string) (*clients, error) {
	c := &clients{clusters: map[string]kubernetes.Interface{}}
	for _, name := range managed {
		config, err := configOf(kubeconfig(name))
		if err != nil {
			return nil, err
		}
		if c.clusters[name], err = kubernetes.NewForConfig(config); err != nil {
			return nil, fmt.Errorf("client of %s: %w", name, err)
		}
	}
	c.cluster = c.clusters[cluster]
	hub, err := configOf(kubeconfig("hub"))
	if err != nil {
		return nil, err
	}
	if c.hub, err = kubernetes.NewForConfig(hub); err != nil {
		return nil, fmt.Errorf("client of the hub: %w", err)
	}
	if c.dynamic, err = dynamic.NewForConfig(hub); err != nil {
		return nil, fmt.Errorf("dynamic client of the hub: %w", err)
	}
	if c.addon, err = addonclient.NewForConfig(hub); err != nil {
		return nil, fmt.Errorf("add-on client of the hub: %w", err)
	}
	if c.work, err = workclient.NewForConfig(hub); err != nil {
		return nil, fmt.Errorf("work client of the hub: %w", err)
	}
	return c, nil
}

// configOf reads a kubeconfig. The demo polls every few milliseconds: it would measure the client's default limit of 5
// requests per second.
func configOf(file string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", file)
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig %s: %w", file, err)
	}
	config.QPS = -1
	config.Timeout = requestTimeout
	return config, nil
}

// writeConfigMap creates or updates the demo's ConfigMap on the hub.
func (d *demo) writeConfigMap(ctx context.Context, greeting string) error {
	configMap := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: configMapName, Namespace: cluster},
		Data:       map[string]string{"greeting": greeting},
	}
	maps := d.clients.hub.CoreV1().ConfigMaps(cluster)
	_, err := maps.Create(ctx, configMap, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = maps.Update(ctx, configMap, metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("write the ConfigMap %s/%s on the hub: %w", cluster, configMapName, err)
	}
	return nil
}

func (c *clients) deleteConfigMap(ctx context.Context) error {
	if err := c.hub.CoreV1().ConfigMaps(cluster).Delete(ctx, configMapName, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("delete the ConfigMap %s/%s on the hub: %w", cluster, configMapName, err)
	}
	return nil
}
