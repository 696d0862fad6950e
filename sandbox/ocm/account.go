package ocm

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"open-cluster-management.io/helloworld-addon/sandbox/controlplane"
	"open-cluster-management.io/helloworld-addon/sandbox/pki"
)

// tokenSeconds is the life of the tokens of OCM's programs: a year, longer than any sandbox,
// because nothing renews them.
const tokenSeconds = int64(365 * 24 * 60 * 60)

// accountKubeconfig writes a kubeconfig with a token of the ServiceAccount and
// returns its path.
func accountKubeconfig(ctx context.Context, cluster *controlplane.Cluster, namespace, name string) (string, error) {
	client, err := kubernetes.NewForConfig(cluster.Admin)
	if err != nil {
		return "", fmt.Errorf("client of %s: %w", cluster.Name, err)
	}
	seconds := tokenSeconds
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	// A new account may not be in the API server's cache yet, which the request for a
	// token reads for the account's UID.
	err = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 20*time.Second, true, func(ctx context.Context) (bool, error) {
		answer, err := client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name, request, metav1.CreateOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		if err == nil {
			request = answer
		}
		return err == nil, err
	})
	if err != nil {
		return "", fmt.Errorf("token of the ServiceAccount %s/%s of %s: %w", namespace, name, cluster.Name, err)
	}
	file := filepath.Join(cluster.Dir, name+".kubeconfig")
	return file, pki.WriteKubeconfig(file, cluster.Kubeconfig(pki.User{Token: request.Status.Token}))
}
