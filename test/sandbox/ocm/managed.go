package ocm

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/util/wait"

	"open-cluster-management.io/helloworld-addon/test/sandbox/apply"
	"open-cluster-management.io/helloworld-addon/test/sandbox/controlplane"
	"open-cluster-management.io/helloworld-addon/test/sandbox/pki"
	"open-cluster-management.io/helloworld-addon/test/sandbox/process"
)

// workAggregate is the ClusterRole that OCM's operator makes: add-ons give the
// work agent more permissions by labelling ClusterRoles of theirs.
const workAggregate = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: "open-cluster-management:klusterlet-work:aggregate"}
aggregationRule:
  clusterRoleSelectors:
  - matchLabels: {` + aggregateToWork + `: "true"}
`

// Managed is OCM's half on a managed cluster.
type Managed struct {
	cluster       *controlplane.Cluster
	hubDir        string // the registration agent keeps the hub's kubeconfig here
	registration  process.Spec
	work          process.Spec
	bootstrapFile string
}

// InstallManaged writes OCM's CRDs and RBAC to the managed cluster and prepares
// its agents; the registration agent will join the hub as the bootstrap user.
func InstallManaged(ctx context.Context, cluster, hub *controlplane.Cluster, manifests string) (*Managed, error) {
	m := &Managed{
		cluster: cluster, hubDir: filepath.Join(cluster.Dir, "hub-kubeconfig"),
		bootstrapFile: filepath.Join(cluster.Dir, "bootstrap.kubeconfig"),
	}
	if err := m.apply(ctx, manifests); err != nil {
		return nil, fmt.Errorf("install OCM on %s: %w", cluster.Name, err)
	}
	pair, err := hub.Authority.Client(bootstrapUser+"-"+cluster.Name, bootstrapUser)
	if err != nil {
		return nil, err
	}
	if err := pki.WriteKubeconfig(m.bootstrapFile, hub.Kubeconfig(pki.User{Pair: pair})); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(m.hubDir, 0o700); err != nil {
		return nil, fmt.Errorf("create the directory of the hub's kubeconfig: %w", err)
	}
	return m, m.prepare(ctx)
}

func (m *Managed) apply(ctx context.Context, manifests string) error {
	applier, err := apply.New(m.cluster.Admin)
	if err != nil {
		return err
	}
	rendered, err := render(manifests, defaultValues(),
		"klusterlet/managed/*.crd.yaml",
		"klusterlet/managed/*clusterrole*.yaml",
		"klusterlet/management/*role*.yaml",
	)
	if err != nil {
		return err
	}
	accounts := serviceAccounts([]string{agentNamespace}, registrationSA, workSA)
	for _, documents := range [][]byte{accounts, rendered, []byte(workAggregate)} {
		if err := applier.Apply(ctx, documents); err != nil {
			return err
		}
	}
	return nil
}

func (m *Managed) prepare(ctx context.Context) error {
	common := []string{
		"--namespace=" + agentNamespace, "--spoke-cluster-name=" + m.cluster.Name,
		"--agent-id=" + m.cluster.Name + "-agent", "--hub-kubeconfig-dir=" + m.hubDir,
		"--disable-leader-election",
	}
	registration, err := accountKubeconfig(ctx, m.cluster, agentNamespace, registrationSA)
	if err != nil {
		return err
	}
	work, err := accountKubeconfig(ctx, m.cluster, agentNamespace, workSA)
	if err != nil {
		return err
	}
	m.registration = m.cluster.Program("registration-agent", "registration", append([]string{
		"agent", "--kubeconfig=" + registration, "--bootstrap-kubeconfig=" + m.bootstrapFile,
		fmt.Sprintf("--listen=127.0.0.1:%d", m.cluster.LocalPort(0)),
	}, common...)...)
	hubKubeconfig := filepath.Join(m.hubDir, "kubeconfig")
	m.work = m.cluster.Program("work-agent", "work", append([]string{
		"agent", "--kubeconfig=" + work,
		"--workload-source-driver=kube", "--workload-source-config=" + hubKubeconfig,
		"--terminate-on-files=" + hubKubeconfig, "--status-sync-interval=5s",
		fmt.Sprintf("--listen=127.0.0.1:%d", m.cluster.LocalPort(1)),
	}, common...)...)
	return nil
}

// Run runs OCM's agents of the managed cluster until ctx ends. The work agent
// starts when the registration agent has joined the hub.
func (m *Managed) Run(ctx context.Context, onLoop func(*process.LoopError)) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return process.Keep(ctx, m.registration, onLoop) })
	group.Go(func() error {
		if err := m.waitJoined(ctx); err != nil {
			return nil // ctx has ended; whoever waits for the cluster says so
		}
		return process.Keep(ctx, m.work, onLoop)
	})
	return group.Wait()
}

// waitJoined waits for the hub's kubeconfig, which the registration agent
// writes once the hub has accepted the cluster.
func (m *Managed) waitJoined(ctx context.Context) error {
	return wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(context.Context) (bool, error) {
		_, err := os.Stat(filepath.Join(m.hubDir, "kubeconfig"))
		return err == nil, nil
	})
}
