//go:build e2e && long

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	workclient "open-cluster-management.io/api/client/work/clientset/versioned"
	workv1 "open-cluster-management.io/api/work/v1"
)

const (
	// Shell commands that stop and start the conversion webhook of the hub's
	// add-on API: how depends on what the hub is.
	stopWebhookEnv  = "STOP_CONVERSION_WEBHOOK"
	startWebhookEnv = "START_CONVERSION_WEBHOOK"

	// outage is how long the webhook is away: long enough for the API server to
	// give its cache up, and for all clients to back off as far as they do.
	outage = 4 * time.Minute

	outageConfigMap = "e2e-outage"
)

// While the conversion webhook of the add-on API is away, the controller can read
// and write no ManagedClusterAddOn, and what it knows of them gets old. That
// does no harm: the agents stay, ConfigMaps are still copied, the controller keeps
// running. An add-on that was deleted meanwhile goes when the webhook is back,
// and its work is not created again; a change after that arrives.
func TestConversionWebhookAway(t *testing.T) {
	env := outageEnvironment(t)
	defer env.collectOnFailure(t)
	stays, goes := env.first(), env.second()
	before, placed := env.footprint(t, stays), env.placement(t, stays)
	created := env.watchWorks(t, goes)

	env.sitThroughOutage(t, stays, goes, placed)
	start := time.Now()
	eventually(t, "nothing left of the deleted add-on", env.disabled(goes))
	timings.record(goes.name+": webhook back → nothing left of the add-on deleted meanwhile", time.Since(start))
	env.controllerReconciles(t, stays)
	timings.record(stays.name+": webhook back → the controller works", time.Since(start))
	env.settle(t, stays)
	if uids := created(); len(uids) != 1 {
		t.Errorf("%s had %d works: one was created for an add-on that is gone: %q", goes.name, len(uids), uids)
	}
	must(t, "the agent, its work and the controller", env.placedAs(t.Context(), stays, placed))
	if diff := cmp.Diff(before, env.footprint(t, stays)); diff != "" {
		t.Errorf("what the controller answers for changed (-before +after):\n%s", diff)
	}

	source := env.updateSource(t, stays, outageConfigMap, func(cm *corev1.ConfigMap) { cm.Data["a"] = "after" })
	eventually(t, "a change after the outage", stays.hasCopy(source))
	reach(t, env.startEnabling(t, goes, "after the outage", env.enableV1beta1))
	must(t, "the agent, its work and the controller", env.placedAs(t.Context(), stays, placed))
}

// outageEnvironment is one on which the add-on is enabled.
func outageEnvironment(t *testing.T) *environment {
	t.Helper()
	env, err := loadEnvironment(os.Getenv, 2)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{stopWebhookEnv, startWebhookEnv} {
		if os.Getenv(name) == "" {
			t.Fatalf("%s is not set: give a shell command, or run the suite by `make test-long`", name)
		}
	}
	env.requireReady(t)
	env.removeLeftovers(t)
	for _, c := range env.clusters {
		cleanup(t, "disable the add-on on "+c.name, func(ctx context.Context) error { return env.restore(ctx, c) })
	}
	env.enableAll(t)
	goes := env.second()
	env.deleteSource(t, goes, firstConfigMap)
	eventually(t, "the copy gone", goes.hasNoCopy(firstConfigMap))
	must(t, "delete used certificate requests", env.deleteUsedRequests(t.Context(), goes))
	return env
}

// sitThroughOutage takes the webhook away and brings it back. Meanwhile the
// add-on on one cluster is deleted, and nothing happens to the other.
func (e *environment) sitThroughOutage(t *testing.T, stays, goes *cluster, placed string) {
	t.Helper()
	must(t, "stop the conversion webhook", runSwitch(t.Context(), stopWebhookEnv))
	cleanup(t, "start the conversion webhook", func(ctx context.Context) error { return runSwitch(ctx, startWebhookEnv) })
	start := time.Now()
	e.touch(t, stays)
	eventually(t, "the add-on API's current version fails", e.conversionFails)
	e.release(t, goes)
	source := e.createSource(t, stays, configMap(outageConfigMap, map[string]string{"a": "during"}))
	eventually(t, "a copy during the outage", stays.hasCopy(source))
	consistently(t, outage-time.Since(start), "the agent, its work and the controller", func(ctx context.Context) error {
		return e.placedAs(ctx, stays, placed)
	})
	must(t, "the API's current version still fails", e.conversionFails(t.Context()))
	must(t, "start the conversion webhook", runSwitch(t.Context(), startWebhookEnv))
}

// touch changes the add-on by the stored version of its API, which needs no
// conversion. The API server goes on answering from its cache until something
// changes.
func (e *environment) touch(t *testing.T, c *cluster) {
	t.Helper()
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, suiteLabel, time.Now().Format(time.RFC3339Nano))
	_, err := e.hub.dynamic.Resource(addonV1alpha1).Namespace(c.name).Patch(t.Context(), addonName,
		types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	must(t, "annotate the ManagedClusterAddOn", err)
}

// release deletes the add-on at once, with what would hold it: so it is gone
// before the controller can know that it was to go.
func (e *environment) release(t *testing.T, c *cluster) {
	t.Helper()
	addOns := e.hub.dynamic.Resource(addonV1alpha1).Namespace(c.name)
	must(t, "delete the ManagedClusterAddOn", addOns.Delete(t.Context(), addonName, metav1.DeleteOptions{}))
	_, err := addOns.Patch(t.Context(), addonName, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	must(t, "remove the finalizers", ignoreNotFound(err))
	eventually(t, "the ManagedClusterAddOn gone", func(ctx context.Context) error {
		_, err := addOns.Get(ctx, addonName, metav1.GetOptions{})
		return gone("ManagedClusterAddOn", err)
	})
}

// conversionFails checks that the API's current version cannot be read.
func (e *environment) conversionFails(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if _, err := e.hub.addon.AddonV1beta1().ManagedClusterAddOns(metav1.NamespaceAll).List(ctx, metav1.ListOptions{}); err == nil {
		return errors.New("it can still be read: the conversion webhook answers")
	}
	return nil
}

// placement is what must not be replaced: the cluster's works, the agent's pods,
// and the controller's pods with their restarts.
func (e *environment) placement(t *testing.T, c *cluster) string {
	t.Helper()
	placed, err := e.placementOf(t.Context(), c)
	must(t, "look at the agent, its work and the controller", err)
	return placed
}

func (e *environment) placedAs(ctx context.Context, c *cluster, before string) error {
	now, err := e.placementOf(ctx, c)
	if err != nil {
		return err
	}
	if diff := cmp.Diff(before, now); diff != "" {
		return fmt.Errorf("they were replaced (-before +now):\n%s", diff)
	}
	return nil
}

func (e *environment) placementOf(ctx context.Context, c *cluster) (string, error) {
	works, err := e.deployWorks(ctx, c)
	if err != nil {
		return "", err
	}
	agents, err := c.agentPods(ctx)
	if err != nil {
		return "", err
	}
	d, err := e.hub.kube.AppsV1().Deployments(controllerNamespace).Get(ctx, controllerDeployment, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	controllers, err := livePods(ctx, e.hub.apiServer, d)
	if err != nil {
		return "", err
	}
	var lines []string
	for i := range works {
		lines = append(lines, fmt.Sprintf("work %s %s", works[i].Name, works[i].UID))
	}
	for _, pods := range [][]corev1.Pod{agents, controllers} {
		for i := range pods {
			line := fmt.Sprintf("pod %s %s", pods[i].Name, pods[i].UID)
			for _, status := range pods[i].Status.ContainerStatuses {
				line += fmt.Sprintf(" %d restarts", status.RestartCount)
			}
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n"), nil
}

// watchWorks returns a function that says which works the cluster has had since,
// also those that were there for a moment only.
func (e *environment) watchWorks(t *testing.T, c *cluster) func() []types.UID {
	t.Helper()
	config := rest.CopyConfig(e.hub.config)
	config.Timeout = 0
	client, err := workclient.NewForConfig(config)
	must(t, "create a client for a watch", err)
	seconds := int64(time.Hour / time.Second)
	watcher, err := client.WorkV1().ManifestWorks(c.name).Watch(t.Context(), metav1.ListOptions{TimeoutSeconds: &seconds})
	must(t, "watch the works", err)

	var mu sync.Mutex
	var uids []types.UID
	var broken error
	stopped := false
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for event := range watcher.ResultChan() {
			mu.Lock()
			work, ok := event.Object.(*workv1.ManifestWork)
			switch {
			case stopped: // stopping a watch may make an error of its own
			case !ok || event.Type == watch.Error:
				broken = fmt.Errorf("the watch broke: %v", event.Object)
			case strings.HasPrefix(work.Name, deployWorkPrefix) && !slices.Contains(uids, work.UID):
				uids = append(uids, work.UID)
			}
			mu.Unlock()
		}
		mu.Lock()
		defer mu.Unlock()
		if !stopped && broken == nil {
			broken = errors.New("the watch ended early")
		}
	}()
	stop := func() {
		mu.Lock()
		stopped = true
		mu.Unlock()
		watcher.Stop()
		<-ended
	}
	t.Cleanup(stop)
	return func() []types.UID {
		stop()
		must(t, "watch the works", broken)
		return uids
	}
}

func runSwitch(ctx context.Context, env string) error {
	command := os.Getenv(env)
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if output, err := exec.CommandContext(ctx, "sh", "-c", command).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", command, err, output)
	}
	return nil
}
