package sandboxtest

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
)

const (
	agentNamespace  = "open-cluster-management-agent"
	bootstrapSecret = "bootstrap-hub-kubeconfig"
)

// bootstrap replaces the kubeconfig in the bootstrap Secret for the first hub.
func (c *Cluster) bootstrap(t testing.TB, flags ...string) {
	t.Helper()
	kubeconfig := c.sandbox.do(t, "bootstrap", append(flags, c.name)...)
	ctx, cancel := waitContext(t, commandTimeout)
	defer cancel()
	if err := c.writeBootstrap(ctx, kubeconfig); err != nil {
		t.Fatalf("replace the bootstrap kubeconfig of %s: %v", c.name, err)
	}
}

func (c *Cluster) writeBootstrap(ctx context.Context, kubeconfig []byte) error {
	patch, err := json.Marshal(map[string]any{"data": map[string][]byte{"kubeconfig": kubeconfig}})
	if err != nil {
		return fmt.Errorf("encode a Secret: %w", err)
	}
	// in hosted mode the Secret is on cluster1, in the namespace of the agents
	err = patchSecret(ctx, c.sandbox.clusters[0].config, "klusterlet-"+c.name, patch)
	if apierrors.IsNotFound(err) {
		err = patchSecret(ctx, c.config, agentNamespace, patch)
	}
	return err
}

func patchSecret(ctx context.Context, config *rest.Config, namespace string, patch []byte) error {
	client, err := corev1client.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("create a client: %w", err)
	}
	_, err = client.Secrets(namespace).Patch(ctx, bootstrapSecret, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}
