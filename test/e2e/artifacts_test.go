//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

const (
	artifactsEnv = "ARTIFACTS"
	// artifactsDefault is the top of the repository, seen from this folder.
	artifactsDefault = "../../artifacts"
	// logTail is how many lines of an agent's log a failure prints.
	logTail = 20
)

// collectOnFailure is to be deferred, so that it sees the state at the moment
// of the failure, before anything is cleaned up.
func (e *environment) collectOnFailure(t *testing.T) {
	t.Helper()
	if !t.Failed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
	defer cancel()
	e.collect(ctx, t)
}

// collect writes objects, events and logs of all clusters into the scenario's
// folder, and prints what tells most.
func (e *environment) collect(ctx context.Context, t *testing.T) {
	t.Helper()
	dir := artifactsDir(t.Name())
	var errs []error
	collectAPI := func(name string, api apiServer, namespaces []string, cluster []schema.GroupVersionResource) {
		errs = append(errs, api.dump(ctx, filepath.Join(dir, name), namespaces, cluster))
	}
	hubNamespaces := append([]string{controllerNamespace}, e.teams...)
	for _, c := range e.clusters {
		hubNamespaces = append(hubNamespaces, c.name)
		collectAPI(c.name, c.apiServer, []string{c.installNamespace}, clusterResources)
		t.Log(e.digest(ctx, c))
	}
	collectAPI("hub", e.hub.apiServer, hubNamespaces, hubResources)
	if err := errors.Join(errs...); err != nil {
		t.Logf("some of the state could not be collected: %v", err)
	}
	t.Logf("objects, events and logs: %s", dir)
}

func artifactsDir(test string) string {
	root := os.Getenv(artifactsEnv)
	if root == "" {
		root = artifactsDefault
	}
	if absolute, err := filepath.Abs(root); err == nil {
		root = absolute
	}
	return filepath.Join(root, filepath.FromSlash(test))
}

var (
	namespacedResources = []schema.GroupVersionResource{
		{Version: "v1", Resource: "configmaps"},
		{Version: "v1", Resource: "events"},
		{Version: "v1", Resource: "pods"},
		{Version: "v1", Resource: "secrets"},
		{Version: "v1", Resource: "serviceaccounts"},
		{Group: "apps", Version: "v1", Resource: "deployments"},
		{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "roles"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "rolebindings"},
		// On a hub only; elsewhere the API server does not know them.
		addonV1alpha1,
		{Group: "work.open-cluster-management.io", Version: "v1", Resource: "manifestworks"},
		{Group: "apps", Version: "v1", Resource: "controllerrevisions"},
		{Group: "cluster.open-cluster-management.io", Version: "v1beta1", Resource: "placements"},
		{Group: "cluster.open-cluster-management.io", Version: "v1beta1", Resource: "placementdecisions"},
		{Group: "helloworld.open-cluster-management.io", Version: "v1alpha1", Resource: "configmapreplicasets"},
		{Group: "helloworld.open-cluster-management.io", Version: "v1alpha1", Resource: "configmapmirrors"},
	}
	clusterResources = []schema.GroupVersionResource{
		{Version: "v1", Resource: "nodes"},
		{Group: "work.open-cluster-management.io", Version: "v1", Resource: "appliedmanifestworks"},
	}
	hubResources = []schema.GroupVersionResource{
		{Group: "certificates.k8s.io", Version: "v1", Resource: "certificatesigningrequests"},
		{Group: "cluster.open-cluster-management.io", Version: "v1", Resource: "managedclusters"},
	}
)

// dump writes the namespaces' objects and logs, and the cluster-wide objects.
func (a apiServer) dump(ctx context.Context, dir string, namespaces []string, clusterWide []schema.GroupVersionResource) error {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	var errs []error
	for _, gvr := range clusterWide {
		errs = append(errs, a.dumpList(ctx, gvr, "", filepath.Join(dir, gvr.Resource+".yaml")))
	}
	for _, ns := range namespaces {
		sub := filepath.Join(dir, ns)
		if err := os.MkdirAll(sub, 0o750); err != nil {
			return err
		}
		for _, gvr := range namespacedResources {
			errs = append(errs, a.dumpList(ctx, gvr, ns, filepath.Join(sub, gvr.Resource+".yaml")))
		}
		errs = append(errs, a.dumpLogs(ctx, ns, sub))
	}
	return errors.Join(errs...)
}

func (a apiServer) dumpList(ctx context.Context, gvr schema.GroupVersionResource, namespace, path string) error {
	list, err := a.dynamic.Resource(gvr).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return ignoreNotFound(err)
	}
	var out strings.Builder
	for i := range list.Items {
		withhold(&list.Items[i])
		text, err := yaml.Marshal(list.Items[i].Object)
		if err != nil {
			return err
		}
		fmt.Fprintf(&out, "---\n%s", text)
	}
	if out.Len() == 0 {
		return nil
	}
	return os.WriteFile(path, []byte(out.String()), 0o600)
}

// withhold replaces what is secret by its length.
func withhold(object *unstructured.Unstructured) {
	if object.GetKind() != "Secret" {
		return
	}
	data, _, _ := unstructured.NestedStringMap(object.Object, "data")
	for key, value := range data {
		data[key] = fmt.Sprintf("(%d bytes in base64)", len(value))
	}
	object.Object["data"] = data
	object.SetManagedFields(nil)
}

// dumpLogs writes the logs of the add-on's pods, of the container before a
// restart too.
func (a apiServer) dumpLogs(ctx context.Context, namespace, dir string) error {
	pods, err := a.kube.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	var errs []error
	for i := range pods.Items {
		pod := &pods.Items[i]
		if !strings.HasPrefix(pod.Name, addonName) {
			continue
		}
		text, err := a.log(ctx, pod, &corev1.PodLogOptions{})
		errs = append(errs, err, os.WriteFile(filepath.Join(dir, pod.Name+".log"), text, 0o600))
		if previous, err := a.log(ctx, pod, &corev1.PodLogOptions{Previous: true}); err == nil {
			errs = append(errs, os.WriteFile(filepath.Join(dir, pod.Name+".previous.log"), previous, 0o600))
		}
	}
	return errors.Join(errs...)
}

func (a apiServer) log(ctx context.Context, pod *corev1.Pod, options *corev1.PodLogOptions) ([]byte, error) {
	stream, err := a.kube.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, options).Stream(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = stream.Close() }()
	return io.ReadAll(stream)
}

// digest is the short story of one cluster: the add-on's conditions, the
// agent's pods, and the end of their logs.
func (e *environment) digest(ctx context.Context, c *cluster) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s:\n", c.name)
	addOn, err := e.hub.addon.AddonV1beta1().ManagedClusterAddOns(c.name).Get(ctx, addonName, metav1.GetOptions{})
	if err != nil {
		fmt.Fprintf(&out, "  ManagedClusterAddOn: %v\n", err)
	} else {
		for _, cond := range addOn.Status.Conditions {
			fmt.Fprintf(&out, "  condition %s=%s/%s: %s\n", cond.Type, cond.Status, cond.Reason, cond.Message)
		}
	}
	pods, err := c.agentPods(ctx)
	if err != nil {
		fmt.Fprintf(&out, "  the agent's pods: %v\n", err)
	}
	for i := range pods {
		fmt.Fprintf(&out, "  pod %s: %s\n", pods[i].Name, podLine(&pods[i]))
		tail := int64(logTail)
		text, err := c.log(ctx, &pods[i], &corev1.PodLogOptions{TailLines: &tail})
		if err != nil {
			fmt.Fprintf(&out, "    log: %v\n", err)
		}
		for line := range strings.Lines(string(text)) {
			fmt.Fprintf(&out, "    %s\n", strings.TrimRight(line, "\n"))
		}
	}
	return out.String()
}

func podLine(pod *corev1.Pod) string {
	parts := []string{string(pod.Status.Phase)}
	for _, s := range pod.Status.ContainerStatuses {
		parts = append(parts, fmt.Sprintf("%s ready=%t restarts=%d", s.Name, s.Ready, s.RestartCount))
		if s.State.Waiting != nil {
			parts = append(parts, s.State.Waiting.Reason+": "+s.State.Waiting.Message)
		}
		if s.State.Terminated != nil {
			parts = append(parts, fmt.Sprintf("exit %d: %s", s.State.Terminated.ExitCode, s.State.Terminated.Message))
		}
	}
	return strings.Join(parts, ", ")
}
