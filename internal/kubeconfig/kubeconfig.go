// Package kubeconfig finds the cluster that a program is to use.
package kubeconfig

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const environment = clientcmd.RecommendedConfigPathEnvVar

// Load returns the configuration of a cluster's clients: from the file at path, else
// from the files of $KUBECONFIG, else that of the cluster in whose pod the program runs,
// else from ~/.kube/config. Credentials may be of any kind. Flag and cluster are the
// words for path and cluster in errors, for example "--kubeconfig" and "the hub".
//
// This is controller-runtime's order. It differs from kubectl's in a pod: there the home
// directory is not read, which may be unreadable, or have a kubeconfig of the image. See
// https://pkg.go.dev/sigs.k8s.io/controller-runtime/pkg/client/config#GetConfig
//
// client-go reads the certificate files that a kubeconfig names again when they change,
// but not the kubeconfig itself.
func Load(path, flag, cluster string) (*rest.Config, error) {
	if path != "" {
		config, err := read(clientcmd.ClientConfigLoadingRules{ExplicitPath: path})
		if err != nil {
			return nil, fmt.Errorf("read %s=%s: %s: give a kubeconfig file of %s", flag, path, oneLine(err), cluster)
		}
		return config, nil
	}
	files := os.Getenv(environment)
	if files != "" {
		config, err := read(clientcmd.ClientConfigLoadingRules{Precedence: filepath.SplitList(files)})
		switch {
		case err == nil:
			return config, nil
		case !clientcmd.IsEmptyConfig(err):
			return nil, fmt.Errorf("read $%s=%s: %s", environment, files, oneLine(err))
		}
	}
	config, err := rest.InClusterConfig()
	switch {
	case err == nil:
		return config, nil
	case !errors.Is(err, rest.ErrNotInCluster):
		return nil, fmt.Errorf("read the pod's service account: %w", err)
	case files != "":
		return nil, fmt.Errorf("no configuration of %s in $%s=%s: the files do not exist, are empty, or have no current context",
			cluster, environment, files)
	}
	config, err = read(clientcmd.ClientConfigLoadingRules{Precedence: []string{clientcmd.RecommendedHomeFile}})
	switch {
	case err == nil:
		return config, nil
	case !clientcmd.IsEmptyConfig(err):
		return nil, fmt.Errorf("read %s: %s", clientcmd.RecommendedHomeFile, oneLine(err))
	default:
		return nil, fmt.Errorf("no configuration of %s: not running in a pod, so give a kubeconfig file by %s or $%s", cluster, flag, environment)
	}
}

func read(rules clientcmd.ClientConfigLoadingRules) (*rest.Config, error) {
	merged, err := rules.Load()
	if err != nil {
		return nil, err
	}
	return clientcmd.NewDefaultClientConfig(*merged, &clientcmd.ConfigOverrides{}).ClientConfig()
}

// oneLine returns the message of err, which may have several lines, in one.
func oneLine(err error) string {
	if clientcmd.IsEmptyConfig(err) {
		return "it is empty, or has no current context"
	}
	return strings.Join(strings.Fields(err.Error()), " ")
}
