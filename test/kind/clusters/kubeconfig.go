package clusters

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// answerTimeout is for a cluster to answer, which it does at once when it runs.
const answerTimeout = 30 * time.Second

// ours reports whether kind's cluster is the one whose kubeconfig is in Dir: its
// certificate authority is made anew with every cluster. A cluster whose node
// has stopped tells nothing, and then the file alone decides.
func (s *Set) ours(name string) bool {
	file, err := clientcmd.LoadFromFile(s.Kubeconfig(name))
	if err != nil {
		return false
	}
	text, err := s.provider.KubeConfig(s.kindName(name), false)
	if err != nil {
		return true
	}
	now, err := clientcmd.Load([]byte(text))
	return err == nil && bytes.Equal(authority(file), authority(now))
}

// authority is the certificate authority of the current context's cluster.
func authority(config *clientcmdapi.Config) []byte {
	current, ok := config.Contexts[config.CurrentContext]
	if !ok {
		return nil
	}
	if server, ok := config.Clusters[current.Cluster]; ok {
		return server.CertificateAuthorityData
	}
	return nil
}

// writeKubeconfigs writes the cluster's two kubeconfigs, with the cluster's
// name as the context's.
func (s *Set) writeKubeconfigs(name string) error {
	for file, internal := range map[string]bool{s.Kubeconfig(name): false, s.Internal(name): true} {
		text, err := s.provider.KubeConfig(s.kindName(name), internal)
		if err != nil {
			return fmt.Errorf("get the kubeconfig of %s: %w", name, err)
		}
		config, err := clientcmd.Load([]byte(text))
		if err != nil {
			return fmt.Errorf("read the kubeconfig of %s: %w", name, err)
		}
		renamed, err := rename(config, name)
		if err != nil {
			return fmt.Errorf("kubeconfig of %s: %w", name, err)
		}
		if err := clientcmd.WriteToFile(*renamed, file); err != nil {
			return fmt.Errorf("write the kubeconfig %s: %w", file, err)
		}
	}
	return nil
}

// rename is the current context of a kubeconfig under another name, and
// nothing else of it.
func rename(config *clientcmdapi.Config, name string) (*clientcmdapi.Config, error) {
	current, ok := config.Contexts[config.CurrentContext]
	if !ok {
		return nil, fmt.Errorf("it has no context %q", config.CurrentContext)
	}
	server, user := config.Clusters[current.Cluster], config.AuthInfos[current.AuthInfo]
	if server == nil || user == nil {
		return nil, errors.New("its current context names no cluster and user")
	}
	renamed := clientcmdapi.NewConfig()
	renamed.Clusters[name] = server
	renamed.AuthInfos[name] = user
	renamed.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	renamed.CurrentContext = name
	return renamed, nil
}

// writeMerged writes one kubeconfig with a context for each cluster; the hub's
// is current.
func (s *Set) writeMerged() error {
	names, err := s.Names()
	if err != nil {
		return err
	}
	merged := clientcmdapi.NewConfig()
	for _, name := range names {
		config, err := clientcmd.LoadFromFile(s.Kubeconfig(name))
		if err != nil {
			return fmt.Errorf("read the kubeconfig of %s: %w", name, err)
		}
		merged.Clusters[name] = config.Clusters[name]
		merged.AuthInfos[name] = config.AuthInfos[name]
		merged.Contexts[name] = config.Contexts[name]
	}
	merged.CurrentContext = Hub
	if err := clientcmd.WriteToFile(*merged, s.merged()); err != nil {
		return fmt.Errorf("write the kubeconfig %s: %w", s.merged(), err)
	}
	return nil
}

// answers asks the cluster's API server whether it is ready.
func (s *Set) answers(ctx context.Context, name string) error {
	config, err := clientcmd.BuildConfigFromFlags("", s.Kubeconfig(name))
	if err != nil {
		return fmt.Errorf("read the kubeconfig of %s: %w", name, err)
	}
	config.Timeout = answerTimeout
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("create a client for %s: %w", name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	if _, err := client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx); err != nil {
		return fmt.Errorf("%s does not answer: %w", name, err)
	}
	return nil
}
