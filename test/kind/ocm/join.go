package ocm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"
	klusterletchart "open-cluster-management.io/ocm/deploy/klusterlet/chart"
)

const (
	// bootstrapAccount is what the hub's chart creates for clusters that join.
	bootstrapAccount = "agent-registration-bootstrap"

	// bootstrapLife is how long a cluster may take to join, and to join again
	// with the same token, in seconds: one day.
	bootstrapLife = 24 * 60 * 60

	// joinTimeout is a guard; on two cores it takes about 10 s.
	joinTimeout = 5 * time.Minute
)

var managedClusters = schema.GroupVersionResource{
	Group: "cluster.open-cluster-management.io", Version: "v1", Resource: "managedclusters",
}

// joined are the conditions of a ManagedCluster that its hub can work with.
var joined = []string{"HubAcceptedManagedCluster", "ManagedClusterJoined", "ManagedClusterConditionAvailable"}

// Join registers the cluster on the first of the hubs under its name and returns when
// it has joined that hub and is available there. A cluster that has joined already
// keeps its credentials. With several hubs the cluster can also join the others.
func Join(ctx context.Context, hubs []Cluster, cluster Cluster, images Images) error {
	var bootstraps []bootstrap
	for i, hub := range hubs {
		b := bootstrap{secret: bootstrapSecret}
		if i > 0 {
			b.secret += "-" + hub.Name
		}
		content, err := bootstrapKubeconfig(ctx, hub, cluster, b.secret)
		if err != nil {
			return err
		}
		b.kubeconfig = string(content)
		bootstraps = append(bootstraps, b)
	}
	var managed []byte
	if cluster.Hosting != nil {
		var err error
		if managed, err = os.ReadFile(cluster.Internal); err != nil {
			return fmt.Errorf("read the internal kubeconfig of %s: %w", cluster.Name, err)
		}
	}
	loaded, err := loadChart(klusterletchart.ChartFiles, klusterletchart.ChartName)
	if err != nil {
		return err
	}
	values := klusterletValues(cluster, images, bootstraps, string(managed))
	if err := release(ctx, cluster.home().Kubeconfig, cluster.klusterlet(), loaded, values); err != nil {
		return fmt.Errorf("%s: %w", cluster.Name, err)
	}
	client, err := connect(hubs[0])
	if err != nil {
		return err
	}
	return waitFor(ctx, joinTimeout, cluster.Name+" to join", func(ctx context.Context) error {
		return client.joinState(ctx, cluster.Name)
	})
}

// home is the cluster where OCM's agents run.
func (c Cluster) home() Cluster {
	if c.Hosting != nil {
		return *c.Hosting
	}
	return c
}

// klusterlet is the name of the cluster's Klusterlet and of its release.
func (c Cluster) klusterlet() string {
	if c.Hosting != nil {
		return klusterletchart.ChartName + "-" + c.Name
	}
	return klusterletchart.ChartName
}

// namespace is that of the agents: in hosted mode it has the Klusterlet's name.
func (c Cluster) namespace() string {
	if c.Hosting != nil {
		return c.klusterlet()
	}
	return agentNamespace
}

// bootstrap is a Secret with a bootstrap kubeconfig.
type bootstrap struct{ secret, kubeconfig string }

// klusterletValues are the chart's. managed is a kubeconfig of the managed cluster for
// the agents of hosted mode.
func klusterletValues(cluster Cluster, images Images, bootstraps []bootstrap, managed string) map[string]any {
	klusterlet := map[string]any{"clusterName": cluster.Name, "name": cluster.klusterlet()}
	values := map[string]any{"images": images.values(), "klusterlet": klusterlet}
	if cluster.Hosting != nil {
		klusterlet["mode"] = "Hosted"
		values["externalManagedKubeConfig"] = managed
	}
	if len(bootstraps) == 1 {
		values["bootstrapHubKubeConfig"] = bootstraps[0].kubeconfig
		return values
	}
	var contents, names []any
	for _, b := range bootstraps {
		contents = append(contents, map[string]any{"name": b.secret, "kubeConfig": b.kubeconfig})
		names = append(names, map[string]any{"name": b.secret})
	}
	values["multiHubBootstrapHubKubeConfigs"] = contents
	klusterlet["registrationConfiguration"] = map[string]any{
		"featureGates":         []any{map[string]any{"feature": "MultipleHubs", "mode": "Enable"}},
		"bootstrapKubeConfigs": map[string]any{"type": "LocalSecrets", "localSecretsConfig": map[string]any{"kubeConfigSecrets": names}},
	}
	return values
}

func (c *client) joinState(ctx context.Context, name string) error {
	cluster, err := c.dynamic.Resource(managedClusters).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	var missing []error
	for _, condition := range joined {
		if reason := notTrue(cluster, condition); reason != "" {
			missing = append(missing, errors.New(reason))
		}
	}
	return errors.Join(missing...)
}

// bootstrapKubeconfig is the one with which the cluster asks to join: the
// hub's address as the cluster's pods reach it, and a token of the bootstrap
// account. One that is in use already is kept: a registration agent whose
// bootstrap kubeconfig changes starts again.
func bootstrapKubeconfig(ctx context.Context, hub, cluster Cluster, secretName string) ([]byte, error) {
	home, err := connect(cluster.home())
	if err != nil {
		return nil, err
	}
	c, err := connect(hub)
	if err != nil {
		return nil, err
	}
	secret, err := home.kube.CoreV1().Secrets(cluster.namespace()).Get(ctx, secretName, metav1.GetOptions{})
	if err == nil && len(secret.Data["kubeconfig"]) > 0 && c.joinState(ctx, cluster.Name) == nil {
		return secret.Data["kubeconfig"], nil
	}

	token, err := c.kube.CoreV1().ServiceAccounts(Namespace).CreateToken(ctx, bootstrapAccount,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To[int64](bootstrapLife)}},
		metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("create a bootstrap token on %s: %w", hub.Name, err)
	}
	internal, err := clientcmd.LoadFromFile(hub.Internal)
	if err != nil {
		return nil, fmt.Errorf("read the internal kubeconfig of %s: %w", hub.Name, err)
	}
	config, err := withToken(internal, token.Status.Token)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", hub.Internal, err)
	}
	return clientcmd.Write(*config)
}

// withToken is a kubeconfig for the server of another one's current context,
// with the token for its only credentials.
func withToken(from *clientcmdapi.Config, token string) (*clientcmdapi.Config, error) {
	current, ok := from.Contexts[from.CurrentContext]
	if !ok {
		return nil, fmt.Errorf("the current context %q does not exist", from.CurrentContext)
	}
	server, ok := from.Clusters[current.Cluster]
	if !ok {
		return nil, fmt.Errorf("the cluster %q does not exist", current.Cluster)
	}
	const name = "hub"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{
		Server:                   server.Server,
		CertificateAuthorityData: server.CertificateAuthorityData,
	}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: token}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	return config, nil
}

const (
	// agentNamespace and bootstrapSecret are the klusterlet chart's.
	agentNamespace  = "open-cluster-management-agent"
	bootstrapSecret = "bootstrap-hub-kubeconfig"
)
