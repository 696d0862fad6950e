package demo

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	addonclient "open-cluster-management.io/api/client/addon/clientset/versioned"
	workclient "open-cluster-management.io/api/client/work/clientset/versioned"
)

// requestTimeout limits each request of the demo.
const requestTimeout = 20 * time.Second

// clients holds the clients of the hub and of the managed cluster.
type clients struct {
	hub, cluster kubernetes.Interface
	addon        addonclient.Interface
	work         workclient.Interface
}

func newClients(hubFile, clusterFile string) (*clients, error) {
	hub, err := clientcmd.BuildConfigFromFlags("", hubFile)
	if err != nil {
		return nil, fmt.Errorf("read the hub's kubeconfig: %w", err)
	}
	managed, err := clientcmd.BuildConfigFromFlags("", clusterFile)
	if err != nil {
		return nil, fmt.Errorf("read the managed cluster's kubeconfig: %w", err)
	}
	for _, config := range []*rest.Config{hub, managed} {
		// the demo polls every few milliseconds: it would measure the client's
		// default limit of 5 requests per second
		config.QPS = -1
		config.Timeout = requestTimeout
	}
	c := &clients{}
	if c.hub, err = kubernetes.NewForConfig(hub); err != nil {
		return nil, fmt.Errorf("client of the hub: %w", err)
	}
	if c.cluster, err = kubernetes.NewForConfig(managed); err != nil {
		return nil, fmt.Errorf("client of the managed cluster: %w", err)
	}
	if c.addon, err = addonclient.NewForConfig(hub); err != nil {
		return nil, fmt.Errorf("add-on client of the hub: %w", err)
	}
	if c.work, err = workclient.NewForConfig(hub); err != nil {
		return nil, fmt.Errorf("work client of the hub: %w", err)
	}
	return c, nil
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
