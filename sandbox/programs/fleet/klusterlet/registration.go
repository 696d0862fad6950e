package klusterlet

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	clusterscheme "open-cluster-management.io/api/client/cluster/clientset/versioned/scheme"
	clusterinformers "open-cluster-management.io/api/client/cluster/informers/externalversions"

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
	// healthPeriod is the period of the health check that ends the agents when their
	// certificate has expired.
	healthPeriod = time.Minute
	// statusPeriod is the period with which the agent checks the managed cluster's health.
	statusPeriod = time.Minute
	// addonLeasePeriod is the period with which the agent reads the add-ons' leases.
	addonLeasePeriod = 30 * time.Second
	// maxClaims is the number of the cluster's own claims in its status.
	maxClaims = 20
)

// dumpSecret writes the Secret with the hub's kubeconfig to the directory, if there is one.
func (a *agents) dumpSecret(ctx context.Context) error {
	return registration.DumpSecret(ctx, a.managed.kube.CoreV1(), namespace, hubSecret, a.hubDir())
}

// bootstrap creates the ManagedCluster as the bootstrap user and waits until the hub has accepted
// it and signed the agents' certificate.
func (a *agents) bootstrap(ctx context.Context) error {
	hub, err := a.connect(a.bootstrapFile())
	if err != nil {
		return err
	}
	secrets := a.secrets()
	csrs, _ := a.driver.InformerHandler()
	create := registration.NewManagedClusterCreatingController(a.Name, nil, hub.ClusterClient)
	renew := a.renewal("BootstrapController@cluster:"+a.Name, secrets, register.GenerateBootstrapStatusUpdater())
	dump := a.dumping(secrets)

	g := newGroup(ctx)
	g.start("watch of the CSRs", func(ctx context.Context) { csrs.Run(ctx.Done()) })
	g.start("watch of the Secrets", func(ctx context.Context) { secrets.Core().V1().Secrets().Informer().Run(ctx.Done()) })
	g.start("creation of the ManagedCluster", func(ctx context.Context) { create.Run(ctx, 1) })
	g.start("bootstrap", func(ctx context.Context) { renew.Run(ctx, 1) })
	g.start("copy of the Secret", func(ctx context.Context) { dump.Run(ctx, 1) })
	err = wait.PollUntilContextCancel(g.ctx, bootstrapPoll, true, a.valid)
	if err != nil {
		g.fail(fmt.Errorf("wait for the certificate of the cluster: %w", err))
	}
	hub.connection.close()
	ended := g.stop()
	if err != nil {
		return ended
	}
	return nil
}

// renewal returns the controller that requests the agents' certificate and renews it.
func (a *agents) renewal(name string, secrets informers.SharedInformerFactory, status register.StatusUpdateFunc) factory.Controller {
	return register.NewSecretController(a.secret, a.driver, status, a.managed.kube.CoreV1(),
		secrets.Core().V1().Secrets().Informer(), name)
}

// dumping returns the controller that copies the Secret with the hub's kubeconfig to the
// directory.
func (a *agents) dumping(secrets informers.SharedInformerFactory) factory.Controller {
	return registration.NewHubKubeconfigSecretController(a.hubDir(), namespace, hubSecret,
		a.managed.kube.CoreV1(), secrets.Core().V1().Secrets())
}

// join runs the agents of a cluster that has its certificate, until ctx or one of their parts
// ends.
func (a *agents) join(ctx context.Context) error {
	hub, err := a.connect(a.secret.HubKubeconfigFile)
	if err != nil {
		return err
	}
	g := newGroup(ctx)
	err = a.startRegistration(g, hub)
	if err == nil {
		err = a.startWork(g, hub.connection)
	}
	if err != nil {
		g.fail(err)
	}
	g.start("health check", func(ctx context.Context) { a.checkHealth(ctx, g) })
	g.start("connection to the hub", hub.connection.watch)
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
	}, healthPeriod)
}

// startRegistration starts the controllers of the registration agent.
func (a *agents) startRegistration(g *group, hub *hub) error {
	recorder, err := startEvents(g, hub)
	if err != nil {
		return err
	}
	secrets := a.secrets()
	csrs, _ := a.driver.InformerHandler()
	nodes := informers.NewSharedInformerFactory(a.managed.kube, resync)
	claims := clusterinformers.NewSharedInformerFactory(a.managed.cluster, resync)
	hubHash := fmt.Sprintf("%x", sha256.Sum256([]byte(hub.connection.config.Host)))
	namespaces := informers.NewSharedInformerFactoryWithOptions(a.managed.kube, resync,
		informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			o.LabelSelector = managedcluster.GetHubClusterSetLabel(hubHash) + "=true"
		}))

	renew := a.renewal("RegisterController@cluster:"+a.Name, secrets,
		register.GenerateStatusUpdater(hub.ClusterClient, hub.ClusterInformer.Lister(), a.Name))
	controllers := map[string]factory.Controller{
		"copy of the Secret":    a.dumping(secrets),
		"certificate":           renew,
		"lease of the cluster":  lease.NewManagedClusterLeaseController(a.Name, hub.LeaseClient, hub.ClusterInformer),
		"leases of the add-ons": a.addonLeases(hub),
		"status of the cluster": managedcluster.NewManagedClusterStatusController(a.Name, hubHash, hub.ClusterClient,
			a.managed.kube, hub.ClusterInformer, namespaces.Core().V1().Namespaces(), a.managed.kube.Discovery(),
			claims.Cluster().V1alpha1().ClusterClaims(), a.shared.properties, nodes.Core().V1().Nodes(),
			maxClaims, nil, statusPeriod, recorder),
	}
	addons := addon.NewAddOnRegistrationController(a.Name, a.agentID(), a.bootstrapFile(), hub.AddonClient,
		a.managed.kube, a.managed.kube, a.driver, a.auth, hub.AddonInformer)

	for name, informer := range map[string]cache.SharedIndexInformer{
		"CSRs": csrs, "ManagedCluster": hub.ClusterInformer.Informer(), "ManagedClusterAddOns": hub.AddonInformer.Informer(),
		"Secrets": secrets.Core().V1().Secrets().Informer(), "Nodes": nodes.Core().V1().Nodes().Informer(),
		"namespaces": namespaces.Core().V1().Namespaces().Informer(), "claims": claims.Cluster().V1alpha1().ClusterClaims().Informer(),
	} {
		g.start("watch of the "+name, func(ctx context.Context) { informer.Run(ctx.Done()) })
	}
	for name, controller := range controllers {
		g.start(name, func(ctx context.Context) { controller.Run(ctx, 1) })
	}
	g.start("registration of the add-ons", func(ctx context.Context) {
		// The controllers that it starts wait for the CSRs, and nobody waits for them.
		if cache.WaitForCacheSync(ctx.Done(), csrs.HasSynced) {
			addons.Run(ctx, 1)
		}
	})
	return nil
}

// startEvents starts a recorder that writes events to the hub.
func startEvents(g *group, hub *hub) (events.EventRecorder, error) {
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: hub.EventsClient})
	if err := broadcaster.StartRecordingToSinkWithContext(g.ctx); err != nil {
		return nil, fmt.Errorf("record events: %w", err)
	}
	g.start("events", func(ctx context.Context) {
		<-ctx.Done()
		broadcaster.Shutdown()
	})
	return broadcaster.NewRecorder(clusterscheme.Scheme, "klusterlet-agent"), nil
}

func (a *agents) addonLeases(hub *hub) factory.Controller {
	leases := a.managed.kube.CoordinationV1()
	return addon.NewManagedClusterAddOnLeaseController(a.Name, hub.AddonClient, hub.AddonInformer, leases, leases, addonLeasePeriod)
}
