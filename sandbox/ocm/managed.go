package ocm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"open-cluster-management.io/helloworld-addon/sandbox/apply"
	"open-cluster-management.io/helloworld-addon/sandbox/controlplane"
	"open-cluster-management.io/helloworld-addon/sandbox/mount"
	"open-cluster-management.io/helloworld-addon/sandbox/process"
)

// ManagedOptions configures OCM's agents of one managed cluster.
type ManagedOptions struct {
	// Cluster is the managed cluster.
	Cluster *controlplane.Cluster
	// Name is the cluster's name on the hub; by default the cluster's own name.
	Name string
	// Host is the hosting cluster in hosted mode; nil in default mode, where the
	// agents belong to the managed cluster itself.
	Host *controlplane.Cluster
	// Hubs are the bootstrap kubeconfigs. With more than one, the agent chooses a hub
	// (feature gate MultipleHubs).
	Hubs []*clientcmdapi.Config
	// Manifests is the directory "manifests" of OCM's module.
	Manifests string
	// Agents are the agents' settings.
	Agents Agents
	// FeatureGates are those of OCM's programs.
	FeatureGates FeatureGates
}

// Managed is OCM's part on a managed cluster.
type Managed struct {
	ManagedOptions
	// name is the klusterlet's name, namespace the agents' namespace on Host.
	name, namespace    string
	hubDir             string // the registration agent keeps the hub's kubeconfig here
	bootstrap          []*mount.Volume
	hub                *mount.Volume
	registration, work process.Spec
}

// InstallManaged writes OCM's CRDs and RBAC to the managed cluster and, in hosted mode, to its
// hosting cluster, and prepares the agents. The registration agent joins the hub as the
// bootstrap user.
func InstallManaged(ctx context.Context, options ManagedOptions) (*Managed, error) {
	m := &Managed{ManagedOptions: options, name: klusterletName, namespace: agentNamespace,
		hubDir: filepath.Join(options.Cluster.Dir, "hub-kubeconfig")}
	if m.Name == "" {
		m.Name = m.Cluster.Name
	}
	if m.Host == nil {
		m.Host = m.Cluster
	} else {
		m.name = klusterletName + "-" + m.Cluster.Name
		m.namespace = m.name
	}
	for _, step := range []func(context.Context) error{m.apply, m.writeSecrets, m.prepare} {
		if err := step(ctx); err != nil {
			return nil, fmt.Errorf("install OCM on %s: %w", m.Cluster.Name, err)
		}
	}
	return m, nil
}

func (m *Managed) hosted() bool { return m.Host != m.Cluster }

func (m *Managed) account(suffix string) string { return m.name + "-" + suffix }

func (m *Managed) apply(ctx context.Context) error {
	v := klusterletValues(m.name, m.namespace)
	managed, err := render(m.Manifests, v, "klusterlet/managed/*.crd.yaml", "klusterlet/managed/*clusterrole*.yaml")
	if err != nil {
		return err
	}
	management, err := render(m.Manifests, v, "klusterlet/management/*role*.yaml", "klusterlet/operator/*.crd.yaml")
	if err != nil {
		return err
	}
	accounts := func(namespace string) []byte {
		return serviceAccounts(namespace, m.account(registrationSuffix), m.account(workSuffix))
	}
	managedNamespaces, hostingNamespaces := m.namespaces()
	for _, target := range []struct {
		cluster   *controlplane.Cluster
		documents [][]byte
	}{
		{m.Cluster, [][]byte{managedNamespaces, accounts(agentNamespace), managed, workAggregate(m.name)}},
		{m.Host, [][]byte{hostingNamespaces, accounts(m.namespace), management}},
	} {
		applier, err := apply.New(target.cluster.Admin)
		if err != nil {
			return err
		}
		for _, documents := range target.documents {
			if err := applier.Apply(ctx, documents); err != nil {
				return err
			}
		}
	}
	return nil
}

// workAggregate returns the aggregated ClusterRole that OCM's operator creates: add-ons give
// the work agent further permissions by labelled ClusterRoles.
func workAggregate(klusterlet string) []byte {
	return fmt.Appendf(nil, `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: "open-cluster-management:%s-work:aggregate"}
aggregationRule:
  clusterRoleSelectors:
  - matchLabels: {%s: "true"}
`, klusterlet, aggregateToWork)
}

// bootstrapSecret returns the name of the Secret with the n-th hub's bootstrap kubeconfig. The
// first one has the name from OCM's own charts.
func (m *Managed) bootstrapSecret(n int) string {
	if n == 0 {
		return BootstrapSecret
	}
	return BootstrapSecret + "-" + m.Hubs[n].CurrentContext
}

// writeSecrets creates the Secrets that OCM expects of the user who imports a cluster: the bootstrap
// kubeconfigs and, in hosted mode, an administrator's kubeconfig of the managed cluster. It does not
// overwrite an existing one.
func (m *Managed) writeSecrets(ctx context.Context) error {
	client, err := kubernetes.NewForConfig(m.Host.Admin)
	if err != nil {
		return fmt.Errorf("client of %s: %w", m.Host.Name, err)
	}
	kubeconfigs := map[string]*clientcmdapi.Config{}
	for i, hub := range m.Hubs {
		kubeconfigs[m.bootstrapSecret(i)] = hub
	}
	if m.hosted() {
		kubeconfigs[ExternalSecret] = m.Cluster.InsideKubeconfig()
	}
	for name, kubeconfig := range kubeconfigs {
		content, err := clientcmd.Write(*kubeconfig)
		if err != nil {
			return fmt.Errorf("encode the kubeconfig of the Secret %s: %w", name, err)
		}
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: m.namespace},
			Data: map[string][]byte{kubeconfigKey: content}}
		_, err = client.CoreV1().Secrets(m.namespace).Create(ctx, secret, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create the Secret %s/%s: %w", m.namespace, name, err)
		}
	}
	return nil
}

func (m *Managed) prepare(ctx context.Context) (err error) {
	volume := func(secret string) (*mount.Volume, string, error) {
		dir := filepath.Join(m.Cluster.Dir, secret)
		v, err := mount.New(m.Host.Admin, m.namespace, secret, dir)
		return v, filepath.Join(dir, kubeconfigKey), err
	}
	var bootstrapFiles []string
	for i := range m.Hubs {
		v, file, err := volume(m.bootstrapSecret(i))
		if err != nil {
			return err
		}
		m.bootstrap, bootstrapFiles = append(m.bootstrap, v), append(bootstrapFiles, file)
	}
	var hubKubeconfig string
	if m.hub, hubKubeconfig, err = volume(HubSecret); err != nil {
		return err
	}
	if m.registration, err = m.agent(ctx, "registration", 0, slices.Concat(bootstrapFlags(bootstrapFiles),
		m.FeatureGates.flags(registrationAgent), []string{"--hub-kubeconfig-dir=" + m.hubDir})...); err != nil {
		return err
	}
	m.registration.Prepare = m.prepareRegistration
	if m.work, err = m.agent(ctx, "work", 1, append(m.FeatureGates.flags(workAgent), "--hub-kubeconfig-dir="+filepath.Dir(hubKubeconfig),
		"--workload-source-driver=kube", "--workload-source-config="+hubKubeconfig,
		"--terminate-on-files="+hubKubeconfig, "--status-sync-interval="+m.Agents.StatusSyncInterval.String(),
		"--appliedmanifestwork-eviction-grace-period="+evictionGracePeriod.String())...); err != nil {
		return err
	}
	m.work.Prepare = func(bool) ([]string, string, error) {
		missing, err := m.missing(m.hub)
		return m.nameFlag(), missing, err
	}
	return nil
}

// agentPorts is the first LocalPort of the agents. The lower ones are for OCM's programs of a
// hub, because a hub may manage itself.
const agentPorts = 6

// evictionGracePeriod is the time for which a work agent keeps the objects from a former hub. A
// hub at another URL is another hub to it. OCM's default is an hour: for that time the objects of
// an add-on's ManifestWork stay even if it is deleted on the present hub.
const evictionGracePeriod = 30 * time.Second

// hubTimeout is the time without its hub after which an agent with several hubs switches to
// another one. OCM's default is ten minutes, the minimum in its API three. The agent judges by the
// cluster's lease, which is renewed once a minute.
const hubTimeout = "--hub-connection-timeout-seconds=90"

func bootstrapFlags(files []string) []string {
	if len(files) == 1 {
		return []string{"--bootstrap-kubeconfig=" + files[0]}
	}
	flags := []string{"--feature-gates=" + multipleHubs + "=true", hubTimeout}
	for _, file := range files {
		flags = append(flags, "--bootstrap-kubeconfigs="+file)
	}
	return flags
}

// agent returns the specification of an agent: the flags that both agents share, and args.
func (m *Managed) agent(ctx context.Context, program string, port int, args ...string) (process.Spec, error) {
	account := m.account(program + "-sa")
	kubeconfig, err := accountKubeconfig(ctx, m.Host, m.namespace, account)
	if err != nil {
		return process.Spec{}, err
	}
	listen := fmt.Sprintf("127.0.0.1:%d", m.Cluster.LocalPort(agentPorts+port))
	all := append([]string{"agent", "--kubeconfig=" + kubeconfig, "--namespace=" + m.namespace,
		"--agent-id=" + m.Name + "-agent", "--disable-leader-election", "--listen=" + listen}, args...)
	if m.hosted() {
		spoke, err := accountKubeconfig(ctx, m.Cluster, agentNamespace, account)
		if err != nil {
			return process.Spec{}, err
		}
		all = append(all, "--spoke-kubeconfig="+spoke)
	}
	spec := m.Cluster.Program(program+"-agent", program, all...)
	if m.hosted() {
		spec.Inside = inNamespace(m.namespace)
	}
	spec.Liveness = "https://" + listen + "/healthz"
	return spec, nil
}

// prepareRegistration prepares a start of the registration agent as kubelet does. A new pod waits
// for the Secrets of the bootstrap kubeconfigs, and its directory of the hub's kubeconfig is empty:
// the agent fills it from the Secret. A restarted container keeps its pod's files, even if a Secret
// was deleted meanwhile.
func (m *Managed) prepareRegistration(fresh bool) (args []string, missing string, err error) {
	if fresh {
		if err := errors.Join(os.RemoveAll(m.hubDir), os.MkdirAll(m.hubDir, 0o700)); err != nil {
			return nil, "", fmt.Errorf("empty the directory of the hub's kubeconfig: %w", err)
		}
		for _, v := range m.bootstrap {
			if missing, err := m.missing(v); err != nil || missing != "" {
				return nil, missing, err
			}
		}
	}
	return slices.Concat(m.nameFlag(), m.authFlags(), m.registrationFlags()), "", nil
}

// missing names the volume's Secret if there is none, for which a new pod waits.
func (m *Managed) missing(v *mount.Volume) (string, error) {
	ready, err := v.Ready()
	if err != nil || ready {
		return "", err
	}
	return v.String() + " on " + m.Host.Name, nil
}

// NameFile is the file in a cluster's directory with the name under which the cluster is managed,
// if that is not its own.
const NameFile = "cluster-name"

func (m *Managed) nameFlag() []string {
	return []string{"--spoke-cluster-name=" + m.override(NameFile, m.Name)}
}

// Run runs OCM's agents of the managed cluster until ctx ends. The work agent
// starts when the registration agent has joined the hub.
func (m *Managed) Run(ctx context.Context, onLoop func(*process.LoopError)) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, v := range append(slices.Clone(m.bootstrap), m.hub) {
		group.Go(func() error {
			v.Run(ctx)
			return nil
		})
	}
	group.Go(func() error { return process.Keep(ctx, m.registration, onLoop) })
	group.Go(func() error { return process.Keep(ctx, m.work, onLoop) })
	group.Go(func() error { return keepDescribed(ctx, m.Host.Admin, m.klusterlet) })
	return group.Wait()
}
