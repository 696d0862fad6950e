package klusterlet

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	clusterscheme "open-cluster-management.io/api/client/cluster/clientset/versioned/scheme"
	claimlisters "open-cluster-management.io/api/client/cluster/listers/cluster/v1alpha1"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"
	"open-cluster-management.io/sdk-go/pkg/basecontroller/factory"

	"open-cluster-management.io/ocm/pkg/registration/register"
	"open-cluster-management.io/ocm/pkg/registration/spoke/addon"
	"open-cluster-management.io/ocm/pkg/registration/spoke/lease"
	"open-cluster-management.io/ocm/pkg/registration/spoke/managedcluster"
	"open-cluster-management.io/ocm/pkg/registration/spoke/registration"
)

const (
	// bootstrapPoll is the period with which the bootstrapping agent looks for its
	// certificate.
	bootstrapPoll = time.Second
	// statusPeriod is the period with which the agent checks the managed cluster's health.
	statusPeriod = time.Minute
	// maxClaims is the number of the cluster's own claims in its status.
	maxClaims = 20
)

// dumpSecret writes the Secret with the hub's kubeconfig to the directory, if there is one.
func (a *agents) dumpSecret(ctx context.Context) error {
	return registration.DumpSecret(ctx, a.managed.kube.CoreV1(), namespace, hubSecret, a.hubDir())
}

// bootstrap creates the ManagedCluster as the bootstrap user and waits until the hub has signed the
// agents' certificate. OCM's agent does not wait for the ManagedCluster: if a busy hub signs the
// certificate first, the agent gives up the creation and never tries again.
func (a *agents) bootstrap(ctx context.Context) error {
	hub, err := a.connect(a.bootstrapFile())
	if err != nil {
		return err
	}
	g := newGroup(ctx)
	secrets := a.secrets()
	create := registration.NewManagedClusterCreatingController(a.Name, nil, hub.cluster)
	request := a.renewal("BootstrapController@cluster:"+a.Name, secrets, register.GenerateBootstrapStatusUpdater())
	dump := a.dumping(secrets)
	g.start("watch of the CSRs", hub.csrs.RunWithContext)
	g.start("watch of the Secrets", secrets.RunWithContext)
	var created atomic.Bool
	g.start("creation of the ManagedCluster", func(ctx context.Context) {
		syncUntilDone(ctx, create)
		created.Store(true)
		<-ctx.Done()
	})
	g.run("request for the certificate", request)
	g.run("copy of the Secret", dump)
	err = wait.PollUntilContextCancel(g.ctx, bootstrapPoll, true, func(ctx context.Context) (bool, error) {
		valid, err := a.valid(ctx)
		return valid && created.Load(), err
	})
	if err != nil {
		g.fail(fmt.Errorf("wait for the certificate of the cluster: %w", err))
	}
	hub.connection.close()
	if ended := g.stop(); err != nil {
		return ended
	}
	return nil
}

// syncUntilDone calls the controller's sync function until it succeeds or ctx ends.
func syncUntilDone(ctx context.Context, controller factory.Controller) {
	_ = wait.PollUntilContextCancel(ctx, bootstrapPoll, true, func(ctx context.Context) (bool, error) {
		err := controller.Sync(ctx, controller.SyncContext(), factory.DefaultQueueKey)
		if err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "Failed to create the ManagedCluster")
		}
		return err == nil, nil
	}) // fails only when ctx ends
}

// secrets returns the informer of the Secrets in the agents' namespace.
func (a *agents) secrets() informerOf[corelisters.SecretLister] {
	return newInformer(a.managed.kube.CoreV1().Secrets(namespace), metav1.ListOptions{}, &corev1.Secret{}, resync,
		corelisters.NewSecretLister)
}

// renewal returns the controller that requests the agents' certificate and renews it.
func (a *agents) renewal(name string, secrets informerOf[corelisters.SecretLister], status register.StatusUpdateFunc) factory.Controller {
	return register.NewSecretController(a.secret, a.driver, status, a.managed.kube.CoreV1(), secrets.Informer(), name)
}

// dumping returns the controller that copies the Secret with the hub's kubeconfig to the
// directory.
func (a *agents) dumping(secrets informerOf[corelisters.SecretLister]) factory.Controller {
	return registration.NewHubKubeconfigSecretController(a.hubDir(), namespace, hubSecret, a.managed.kube.CoreV1(), secrets)
}

// join runs the agents of a cluster that has its certificate, until ctx or one of their parts
// ends. It calls joined when the hub lets them read the ManagedCluster.
func (a *agents) join(ctx context.Context, joined func()) error {
	hub, err := a.connect(a.secret.HubKubeconfigFile)
	if err != nil {
		return err
	}
	g := newGroup(ctx)
	g.start("connection to the hub", func(ctx context.Context) {
		if cache.WaitForCacheSync(ctx.Done(), hub.clusters.HasSynced) {
			joined()
		}
		hub.connection.watch(ctx)
	})
	g.start("health check", func(ctx context.Context) { a.checkHealth(ctx, g) })
	if err := a.startRegistration(g, hub); err != nil {
		g.fail(err)
	}
	if err := a.startWork(g, hub.connection); err != nil {
		g.fail(err)
	}
	<-g.ctx.Done()
	hub.connection.close()
	return g.stop()
}

// checkHealth fails the group when the certificate has expired.
func (a *agents) checkHealth(ctx context.Context, g *group) {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		switch valid, err := a.valid(ctx); {
		case err != nil:
			g.fail(fmt.Errorf("check the certificate for the hub: %w", err))
		case !valid:
			g.fail(errExpired)
		}
	}, a.shared.healthPeriod)
}

// startRegistration starts the controllers of the registration agent.
func (a *agents) startRegistration(g *group, hub *hub) error {
	secrets := a.secrets()
	status, err := a.clusterStatus(g, hub)
	if err != nil {
		return err
	}
	renew := a.renewal("RegisterController@cluster:"+a.Name, secrets,
		register.GenerateStatusUpdater(hub.cluster, hub.clusters.lister, a.Name))
	dump := a.dumping(secrets)
	alive := lease.NewManagedClusterLeaseController(a.Name, hub.coordination.Leases(a.Name), hub.clusters)
	leases := a.managed.kube.CoordinationV1()
	addonLeases := addon.NewManagedClusterAddOnLeaseController(a.Name, hub.addon, hub.addons, leases, leases, a.shared.addonLeasePeriod)
	addons := addon.NewAddOnRegistrationController(a.Name, a.agentID(), a.bootstrapFile(), hub.addon,
		a.managed.kube, a.managed.kube, a.driver, a.auth, hub.addons)

	g.start("watch of the CSRs", hub.csrs.RunWithContext)
	g.start("watch of the ManagedCluster", hub.clusters.RunWithContext)
	g.start("watch of the ManagedClusterAddOns", hub.addons.RunWithContext)
	g.start("watch of the Secrets", secrets.RunWithContext)
	g.run("certificate", renew)
	g.run("copy of the Secret", dump)
	g.run("lease of the cluster", alive)
	g.run("status of the cluster", status)
	g.run("leases of the add-ons", addonLeases)
	g.start("registration of the add-ons", func(ctx context.Context) {
		// The controllers that it starts wait for the CSRs. If one of them gave up, the
		// group would not end.
		if cache.WaitForCacheSync(ctx.Done(), hub.csrs.HasSynced) {
			addons.Run(ctx, 1)
		}
	})
	return nil
}

// clusterStatus returns the controller of the ManagedCluster's status, and starts what it reads.
func (a *agents) clusterStatus(g *group, hub *hub) (factory.Controller, error) {
	recorder, err := startEvents(g, hub)
	if err != nil {
		return nil, err
	}
	hubHash := fmt.Sprintf("%x", sha256.Sum256([]byte(hub.connection.config.Host)))
	core := a.managed.kube.CoreV1()
	nodes := newInformer(core.Nodes(), metav1.ListOptions{}, &corev1.Node{}, resync, corelisters.NewNodeLister)
	namespaces := newInformer(core.Namespaces(), metav1.ListOptions{LabelSelector: managedcluster.GetHubClusterSetLabel(hubHash) + "=true"},
		&corev1.Namespace{}, resync, corelisters.NewNamespaceLister)
	claims := newInformer(a.managed.cluster.ClusterV1alpha1().ClusterClaims(), metav1.ListOptions{},
		&clusterv1alpha1.ClusterClaim{}, resync, claimlisters.NewClusterClaimLister)
	controller := managedcluster.NewManagedClusterStatusController(a.Name, hubHash, hub.cluster, a.managed.kube, hub.clusters,
		namespaces, a.managed.kube.Discovery(), claims, a.shared.properties, nodes, maxClaims, nil, statusPeriod, recorder)
	g.start("watch of the nodes", nodes.RunWithContext)
	g.start("watch of the namespaces", namespaces.RunWithContext)
	g.start("watch of the claims", claims.RunWithContext)
	return controller, nil
}

// startEvents starts a recorder that writes events to the hub.
func startEvents(g *group, hub *hub) (events.EventRecorder, error) {
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: hub.events})
	if err := broadcaster.StartRecordingToSinkWithContext(g.ctx); err != nil {
		return nil, fmt.Errorf("record events: %w", err)
	}
	g.start("events", func(ctx context.Context) {
		<-ctx.Done()
		broadcaster.Shutdown()
	})
	return broadcaster.NewRecorder(clusterscheme.Scheme, "klusterlet-agent"), nil
}
