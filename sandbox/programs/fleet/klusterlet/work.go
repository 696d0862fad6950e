package klusterlet

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	workclient "open-cluster-management.io/api/client/work/clientset/versioned"
	worklisters "open-cluster-management.io/api/client/work/listers/work/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/sdk-go/pkg/basecontroller/factory"

	"open-cluster-management.io/ocm/pkg/work/helper"
	"open-cluster-management.io/ocm/pkg/work/spoke/auth"
	"open-cluster-management.io/ocm/pkg/work/spoke/controllers/finalizercontroller"
	"open-cluster-management.io/ocm/pkg/work/spoke/controllers/manifestcontroller"
	"open-cluster-management.io/ocm/pkg/work/spoke/controllers/statuscontroller"
	"open-cluster-management.io/ocm/pkg/work/spoke/objectreader"
)

// OCM's defaults of the work agent.
const (
	// workResync and appliedResync are the periods with which the agent handles all
	// ManifestWorks and all AppliedManifestWorks again.
	workResync    = 24 * time.Hour
	appliedResync = 21 * time.Hour
	// evictionGrace is the time for which the agent keeps the objects from a former hub.
	evictionGrace = time.Hour
	// qps and burst limit the agent's requests to the hub.
	qps   = 50
	burst = 100
	// maxFeedback is the length of a value in the feedback.
	maxFeedback = 1024
)

// startWork starts the controllers of the work agent.
func (a *agents) startWork(g *group, connection *connection) error {
	config := rest.CopyConfig(connection.config)
	config.QPS, config.Burst = qps, burst
	client, err := workclient.NewForConfigAndClient(config, connection.client)
	if err != nil {
		return fmt.Errorf("create the work agent's client of the hub: %w", err)
	}
	hubWorks := client.WorkV1().ManifestWorks(a.Name)
	works := newInformer(hubWorks, metav1.ListOptions{}, &workv1.ManifestWork{}, workResync, worklisters.NewManifestWorkLister)
	lister := works.lister.ManifestWorks(a.Name)
	managed := a.managed
	appliedClient := managed.work.WorkV1().AppliedManifestWorks()
	applied := newInformer(appliedClient, metav1.ListOptions{}, &workv1.AppliedManifestWork{}, appliedResync,
		worklisters.NewAppliedManifestWorkLister)

	hubHash := helper.HubHash(config.Host)
	mapper, err := a.shared.mapper(managed)
	if err != nil {
		return err
	}
	validator := auth.NewFactory(managed.config, managed.kube, works, a.Name, mapper).NewExecutorValidator(g.ctx, false)
	reader, err := objectreader.NewOptions().NewObjectReader(managed.dynamic, works)
	if err != nil {
		return fmt.Errorf("create the reader of applied objects: %w", err)
	}

	for name, controller := range map[string]factory.Controller{
		"ManifestWorks": manifestcontroller.NewManifestWorkController(managed.dynamic, managed.kube, managed.apiExtensions,
			hubWorks, works, lister, appliedClient, applied, reader, hubHash, a.agentID(), mapper, validator),
		"finalizers of ManifestWorks": finalizercontroller.NewAddFinalizerController(hubWorks, works, lister),
		"deletion of AppliedManifestWorks": finalizercontroller.NewAppliedManifestWorkFinalizeController(managed.dynamic,
			appliedClient, applied, reader, a.agentID()),
		"deletion of ManifestWorks": finalizercontroller.NewManifestWorkFinalizeController(hubWorks, works, lister,
			appliedClient, applied, hubHash),
		"eviction of AppliedManifestWorks": finalizercontroller.NewUnManagedAppliedWorkController(works, lister,
			appliedClient, applied, evictionGrace, hubHash, a.agentID()),
		"status of ManifestWorks": statuscontroller.NewAvailableStatusController(hubWorks, works, lister,
			a.shared.conditions, reader, maxFeedback, a.StatusSync),
	} {
		g.run(name, controller)
	}
	g.start("watch of the ManifestWorks", works.RunWithContext)
	g.start("watch of the AppliedManifestWorks", applied.RunWithContext)
	return nil
}
