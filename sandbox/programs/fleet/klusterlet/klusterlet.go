package klusterlet

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ocmfeature "open-cluster-management.io/api/feature"

	"open-cluster-management.io/ocm/pkg/features"
	"open-cluster-management.io/ocm/pkg/registration/register"
	"open-cluster-management.io/ocm/pkg/registration/register/csr"
	"open-cluster-management.io/ocm/pkg/registration/register/token"
)

// Drivers by which the registration agent gets an add-on's credentials for the hub.
const (
	// AuthCSR is a client certificate that the hub signs on request.
	AuthCSR = "csr"
	// AuthToken is a token of a ServiceAccount in the cluster's namespace on the hub.
	AuthToken = "token"
)

const (
	// namespace is the agents' namespace on the managed cluster.
	namespace = "open-cluster-management-agent"
	// addonNamespace is the namespace in which OCM installs add-ons by default.
	addonNamespace = "open-cluster-management-agent-addon"
	// hubSecret is the Secret in which the registration agent keeps its credentials.
	hubSecret = "hub-kubeconfig-secret"
)

// Options configures the agents of one cluster.
type Options struct {
	// Name is the cluster's name on the hub.
	Name string
	// Dir is the cluster's own directory. It holds bootstrap/kubeconfig; the agents
	// write the hub's kubeconfig to hub.
	Dir string
	// Managed is the managed cluster's API.
	Managed *rest.Config
	// AddonAuth is AuthCSR or AuthToken.
	AddonAuth string
	// TokenLife is the life of the tokens of AuthToken; 0 selects OCM's default, a year.
	TokenLife time.Duration
	// StatusSync is the period with which the work agent reads the applied objects.
	StatusSync time.Duration
}

func (o Options) bootstrapFile() string { return filepath.Join(o.Dir, "bootstrap", "kubeconfig") }

func (o Options) hubDir() string { return filepath.Join(o.Dir, "hub") }

// agentID is the agent's part of the user name in its certificate.
func (o Options) agentID() string { return o.Name + "-agent" }

// SetFeatureGates declares the agents' feature gates with OCM's defaults. It must be called once,
// before the first Run.
func SetFeatureGates() error {
	if err := features.SpokeMutableFeatureGate.Add(ocmfeature.DefaultSpokeRegistrationFeatureGates); err != nil {
		return fmt.Errorf("declare the feature gates of the registration agent: %w", err)
	}
	if err := features.SpokeMutableFeatureGate.Add(ocmfeature.DefaultSpokeWorkFeatureGates); err != nil {
		return fmt.Errorf("declare the feature gates of the work agent: %w", err)
	}
	return nil
}

// agents are OCM's agents of one cluster from one start to the next.
type agents struct {
	Options
	shared  *Shared
	managed *managedClients
	secret  register.SecretOption
	driver  *csr.CSRDriver
	auth    addonAuth
}

// Run runs the agents until ctx ends, and then returns nil. It returns an error when an agent's
// process would exit, for example because its certificate has expired. Nothing of the agents runs
// any more when it returns. The next Run starts them anew, with what they left in the directory
// and in the managed cluster.
func Run(ctx context.Context, o Options, shared *Shared) error {
	ctx = klog.NewContext(ctx, logger(o.Name, shared.errors))
	a, err := newAgents(o, shared)
	if err != nil {
		return err
	}
	err = a.run(ctx)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func newAgents(o Options, shared *Shared) (*agents, error) {
	a := &agents{Options: o, shared: shared, auth: newAddonAuth(o), secret: register.SecretOption{
		SecretNamespace:         namespace,
		SecretName:              hubSecret,
		ClusterName:             o.Name,
		AgentName:               o.agentID(),
		HubKubeconfigFile:       filepath.Join(o.hubDir(), register.KubeconfigFile),
		HubKubeconfigDir:        o.hubDir(),
		BootStrapKubeConfigFile: o.bootstrapFile(),
	}}
	var err error
	if a.managed, err = newManagedClients(o.Managed); err != nil {
		return nil, err
	}
	if a.driver, err = csr.NewCSRDriver(a.auth.csr, a.secret); err != nil {
		return nil, fmt.Errorf("create the driver of the registration: %w", err)
	}
	return a, nil
}

func (a *agents) run(ctx context.Context) error {
	if err := a.createNamespaces(ctx); err != nil {
		return err
	}
	if err := a.dumpSecret(ctx); err != nil {
		return err
	}
	valid, err := a.valid(ctx)
	if err != nil {
		return err
	}
	joined := func() {}
	if !valid {
		if joined, err = a.shared.joins.wait(ctx); err != nil {
			return err
		}
		defer joined()
		if err := a.bootstrap(ctx); err != nil {
			return err
		}
	}
	return a.join(ctx, joined)
}

// createNamespaces creates the namespaces of the agents and of add-ons, as OCM's operator does.
func (a *agents) createNamespaces(ctx context.Context) error {
	for _, name := range []string{namespace, addonNamespace} {
		_, err := a.managed.kube.CoreV1().Namespaces().Create(ctx,
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create the namespace %s: %w", name, err)
		}
	}
	return nil
}

// valid reports whether the directory has a kubeconfig of the hub with a valid certificate.
func (a *agents) valid(ctx context.Context) (bool, error) {
	return register.IsHubKubeConfigValidFunc(a.driver, a.secret)(ctx)
}

// resync is the period with which OCM's agents handle all objects in their caches again.
const resync = 10 * time.Minute

var (
	// errEnded is the error of a part of the agents that ended by itself.
	errEnded = errors.New("ended")
	// errExpired is the error of the health check, which ends the agents.
	errExpired = errors.New("the certificate for the hub has expired")
)

// addonAuth holds the settings of the drivers for add-ons.
type addonAuth struct {
	driver string
	csr    *csr.Option
	token  *token.Option
}

func newAddonAuth(o Options) addonAuth {
	auth := addonAuth{driver: o.AddonAuth, csr: csr.NewCSROption(), token: token.NewTokenOption()}
	if o.TokenLife > 0 {
		auth.token.ExpirationSeconds = int64(o.TokenLife.Seconds())
	}
	return auth
}

// GetKubeClientAuth returns the driver's name.
func (a addonAuth) GetKubeClientAuth() string { return a.driver }

// GetCSRConfiguration returns the settings of AuthCSR.
func (a addonAuth) GetCSRConfiguration() register.CSRConfiguration { return a.csr }

// GetTokenConfiguration returns the settings of AuthToken.
func (a addonAuth) GetTokenConfiguration() register.TokenConfiguration { return a.token }
