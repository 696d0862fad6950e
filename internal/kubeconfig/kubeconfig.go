// Package kubeconfig finds the cluster that a program is to use, by the rules of
// kubectl.
package kubeconfig

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const environment = clientcmd.RecommendedConfigPathEnvVar

// Load returns the configuration of a cluster's clients: from the file at path, else
// from the files of $KUBECONFIG, else from ~/.kube/config. Without any of them it is
// that of the cluster in whose pod the program runs. Credentials may be of any kind.
// Flag and cluster are the words for path and cluster in errors, for example
// "--kubeconfig" and "the hub". See
// https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/
//
// client-go reads the certificate files that a kubeconfig names again when they change,
// but not the kubeconfig itself.
func Load(path, flag, cluster string) (*rest.Config, error) {
	config, err := fromFiles(path)
	files := os.Getenv(environment)
	switch {
	case err == nil:
		return config, nil
	case path != "":
		return nil, fmt.Errorf("read %s=%s: %s: give a kubeconfig file of %s", flag, path, oneLine(err), cluster)
	case !clientcmd.IsEmptyConfig(err) && files != "":
		return nil, fmt.Errorf("read $%s=%s: %s", environment, files, oneLine(err))
	case !clientcmd.IsEmptyConfig(err):
		return nil, fmt.Errorf("read %s: %s", clientcmd.RecommendedHomeFile, oneLine(err))
	}
	config, err = rest.InClusterConfig()
	switch {
	case err == nil:
		return config, nil
	case !errors.Is(err, rest.ErrNotInCluster):
		return nil, fmt.Errorf("read the pod's service account: %w", err)
	case files != "":
		return nil, fmt.Errorf("no configuration of %s in $%s=%s: the files do not exist or are empty", cluster, environment, files)
	default:
		return nil, fmt.Errorf("no configuration of %s: not running in a pod, so give a kubeconfig file by %s or $%s", cluster, flag, environment)
	}
}

func fromFiles(path string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = path
	merged, err := rules.Load()
	if err != nil {
		return nil, err
	}
	return clientcmd.NewDefaultClientConfig(*merged, &clientcmd.ConfigOverrides{}).ClientConfig()
}

// oneLine returns the message of err, which may have several lines, in one.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
