package sandboxtest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"open-cluster-management.io/helloworld-addon/sandbox/images"
	"open-cluster-management.io/helloworld-addon/sandbox/podstate"
)

const (
	// maxPods, maxEvents and logLines are the numbers of pods, of warning events and of lines of all logs in a
	// report. containerLines is the number of lines of one log.
	maxPods        = 10
	maxEvents      = 20
	logLines       = 60
	containerLines = 20
)

// report is what explains why an add-on is not available on a cluster.
type report struct {
	addon, cluster string
	// unmanaged, notEnabled and noWorks mean that the hub has no ClusterManagementAddOn, no
	// ManagedClusterAddOn and no ManifestWork of the add-on.
	unmanaged, notEnabled, noWorks bool
	// placed means that OCM creates the ManagedClusterAddOns, for the clusters of placements.
	placed bool
	// notes tell what could not be read.
	notes  []string
	addOn  []condition
	works  []work
	pods   []pod
	events []event
}

// condition is a condition of an object.
type condition metav1.Condition

func (c condition) String() string {
	return fmt.Sprintf("%s=%s %s", c.Type, c.Status, because(c.Reason, c.Message))
}

// work is a ManifestWork of the add-on.
type work struct {
	namespace, name string
	conditions      []condition
	objects         []object
}

// object is an object of a ManifestWork on the managed cluster.
type object struct {
	kind, namespace, name string
	conditions            []condition
}

// pod is a pod of the add-on, or any other on the hub.
type pod struct {
	object                   *corev1.Pod
	cluster, namespace, name string
	// owned is true if a ManifestWork of the add-on has the pod's workload.
	owned, ready bool
	// crashing is true if a container has ended so often that it is not likely to run without a change.
	crashing bool
	// problem tells why the pod is not ready or that it has restarted. Otherwise it is empty.
	problem string
	// unknownImages are the images of its containers that the sandbox does not know.
	unknownImages []string
	logs          []logTail
}

// rank orders pods by what a reader wants to see first.
func (p *pod) rank() int {
	rank := 0
	if p.problem == "" {
		rank += 2
	}
	if !p.owned {
		rank++
	}
	return rank
}

// sortPods puts pods with a problem first, and of equal ones those of the add-on.
func sortPods(pods []pod) {
	slices.SortStableFunc(pods, func(a, b pod) int { return cmp.Compare(a.rank(), b.rank()) })
}

// logTail is the end of the log of a container, of its present or its previous run.
type logTail struct {
	container string
	previous  bool
	lines     string
}

// event is a warning event.
type event struct{ cluster, object, reason, message string }

// String returns the report's text, a line or a few for each finding: first what is missing, then the pods
// that are not ready or have restarted.
func (r *report) String() string {
	var b strings.Builder
	for _, line := range slices.Concat(r.missing(), r.notes) {
		fmt.Fprintln(&b, line)
	}
	pods := first(r.pods, maxPods)
	healthy := slices.IndexFunc(pods, func(p pod) bool { return p.problem == "" })
	if healthy < 0 {
		healthy = len(pods)
	}
	budget := writePods(&b, pods[:healthy], logLines)
	if len(r.addOn) > 0 {
		writeConditions(&b, fmt.Sprintf("ManagedClusterAddOn %s/%s:", r.cluster, r.addon), r.addOn)
	}
	for _, w := range r.works {
		w.write(&b)
	}
	writePods(&b, pods[healthy:], budget)
	for _, e := range first(r.events, maxEvents) {
		fmt.Fprintf(&b, "warning on %s: %s: %s: %s\n", e.cluster, e.object, e.reason, e.message)
	}
	if pods, events := len(r.pods)-maxPods, len(r.events)-maxEvents; pods > 0 || events > 0 {
		fmt.Fprintf(&b, "not shown: pods: %d, warnings: %d\n", max(0, pods), max(0, events))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// first returns the first n elements, or all if there are fewer.
func first[T any](list []T, n int) []T { return list[:min(len(list), n)] }

// missing returns what the add-on lacks, and what to do about it.
func (r *report) missing() []string {
	var lines []string
	if r.unmanaged {
		lines = append(lines, fmt.Sprintf("the hub has no ClusterManagementAddOn %s: apply it, or correct the add-on's name", r.addon))
	}
	if r.notEnabled {
		advice := "call Enable"
		if r.placed {
			advice = "does a placement of the ClusterManagementAddOn select the cluster?"
		}
		lines = append(lines, fmt.Sprintf("the hub has no ManagedClusterAddOn %s/%s: %s", r.cluster, r.addon, advice))
	}
	for _, p := range r.pods {
		for _, image := range p.unknownImages {
			line := fmt.Sprintf("the image %q %s: add the option Image(%q, GoMain(PACKAGE)), or Dir or Archive instead of GoMain",
				image, images.Unknown, image)
			// without a ManifestWork those on the hub count, because the manager may be among them
			if (p.owned || r.noWorks) && !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
		}
	}
	if r.noWorks && len(lines) == 0 {
		lines = append(lines, "the hub has no ManifestWork of the add-on: does its manager run, and does it support this cluster?")
	}
	return lines
}

// agentNamespaces are namespaces of the hub whose pods create no objects of add-ons. If the hub manages
// itself, the second one, which is OCM's default, has agents.
var agentNamespaces = []string{metav1.NamespaceSystem, "open-cluster-management-agent-addon"}

// hopeless reports whether the add-on cannot become available unless the test does more: all of its pods are
// stuck; or it has none, no pod on the hub is starting, and the hub lacks its objects or all pods there are
// stuck, its manager among them.
func (r *report) hopeless() bool {
	if len(r.notes) > 0 {
		return false // something could not be read
	}
	var own, onHub []pod
	for _, p := range r.pods {
		if p.owned {
			own = append(own, p)
		} else if !slices.Contains(agentNamespaces, p.namespace) {
			onHub = append(onHub, p)
		}
	}
	if len(own) > 0 {
		return !slices.ContainsFunc(own, func(p pod) bool { return !p.stuck() })
	}
	starting := slices.ContainsFunc(onHub, func(p pod) bool { return !p.ready && !p.stuck() })
	ready := slices.ContainsFunc(onHub, func(p pod) bool { return p.ready })
	lacks := r.unmanaged || r.notEnabled && !r.placed
	return !starting && (lacks || r.noWorks && !ready && len(onHub) > 0)
}

// stuck reports whether the pod does not become ready without a change.
func (p *pod) stuck() bool { return p.crashing || len(p.unknownImages) > 0 }

// writePods writes the pods with the ends of their containers' logs, at most budget lines of all logs. It
// returns the rest of the budget.
func writePods(b *strings.Builder, pods []pod, budget int) int {
	for _, p := range pods {
		fmt.Fprintf(b, "pod %s on %s: %s\n", join(p.namespace, p.name), p.cluster, cmp.Or(p.problem, "ready"))
		for _, tail := range p.logs {
			lines := podstate.Excerpt(tail.lines, min(containerLines, budget))
			if len(lines) == 0 {
				continue
			}
			budget -= len(lines)
			run := ""
			if tail.previous {
				run = " before its last restart"
			}
			fmt.Fprintf(b, "  the end of the log of its container %s%s:\n    %s\n", tail.container, run, strings.Join(lines, "\n    "))
		}
	}
	return budget
}

// write writes the conditions of the work, and those of its objects that are not True.
func (w work) write(b *strings.Builder) {
	writeConditions(b, fmt.Sprintf("ManifestWork %s/%s:", w.namespace, w.name), w.conditions)
	for _, o := range w.objects {
		for _, c := range o.conditions {
			if c.Status != metav1.ConditionTrue && c.Type != "StatusFeedbackSynced" {
				fmt.Fprintf(b, "  %s %s: %s\n", o.kind, join(o.namespace, o.name), c)
			}
		}
	}
}

func writeConditions(b *strings.Builder, title string, conditions []condition) {
	fmt.Fprintln(b, title)
	if len(conditions) == 0 {
		fmt.Fprintln(b, "  no conditions")
	}
	for _, c := range conditions {
		fmt.Fprintf(b, "  %s\n", c)
	}
}

func join(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// because returns a reason and a message, which may be empty, on one line.
func because(reason, message string) string {
	if message == "" {
		return reason
	}
	return reason + ": " + oneLine(message)
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// conditionsOf returns the conditions in a field of an object.
func conditionsOf(content map[string]any, fields ...string) []condition {
	list, _, _ := unstructured.NestedSlice(content, fields...)
	var conditions []condition
	for _, item := range list {
		var c metav1.Condition
		fields, ok := item.(map[string]any)
		if ok && runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &c) == nil {
			conditions = append(conditions, condition(c))
		}
	}
	return conditions
}

// workOf returns what a ManifestWork tells.
func workOf(content *unstructured.Unstructured) work {
	w := work{namespace: content.GetNamespace(), name: content.GetName(), conditions: conditionsOf(content.Object, "status", "conditions")}
	manifests, _, _ := unstructured.NestedSlice(content.Object, "status", "resourceStatus", "manifests")
	for _, item := range manifests {
		fields, ok := item.(map[string]any)
		if !ok {
			continue
		}
		o := object{conditions: conditionsOf(fields, "conditions")}
		for name, field := range map[string]*string{"kind": &o.kind, "namespace": &o.namespace, "name": &o.name} {
			*field, _, _ = unstructured.NestedString(fields, "resourceMeta", name)
		}
		w.objects = append(w.objects, o)
	}
	return w
}

// workloads are the kinds whose pods have names that begin with the object's.
var workloads = []string{"Deployment", "DaemonSet", "StatefulSet", "ReplicaSet", "Job", "CronJob", "Pod"}

// owns reports whether the pod is one of a workload in the ManifestWork. It goes by the name, so it also
// takes the pods of foo-bar for those of foo.
func (w work) owns(p *corev1.Pod) bool {
	return slices.ContainsFunc(w.objects, func(o object) bool {
		return slices.Contains(workloads, o.kind) && o.namespace == p.Namespace && strings.HasPrefix(p.Name, o.name)
	})
}

// manyRestarts is the number of restarts after which a container is taken to end always. By the node's back-off that is
// half a minute after its first end, for example for a CRD or a Secret that it waits for.
const manyRestarts = 3

// podOf returns what a pod of the cluster tells.
func podOf(cluster string, p *corev1.Pod) pod {
	result := pod{object: p, cluster: cluster, namespace: p.Namespace, name: p.Name, ready: podstate.Ready(p), problem: podProblem(p)}
	named := map[string]string{}
	for _, c := range append(slices.Clone(p.Spec.InitContainers), p.Spec.Containers...) {
		named[c.Name] = c.Image
	}
	for _, c := range podstate.Statuses(p) {
		if c.State.Waiting != nil && strings.Contains(c.State.Waiting.Message, images.Unknown) {
			result.unknownImages = append(result.unknownImages, named[c.Name])
		}
		result.crashing = result.crashing || c.State.Waiting != nil && c.LastTerminationState.Terminated != nil && c.RestartCount >= manyRestarts
	}
	return result
}

// podProblem returns why a pod is not ready, or that it has restarted. It is empty for one that has completed.
func podProblem(p *corev1.Pod) string {
	if p.Status.Phase == corev1.PodSucceeded {
		return ""
	}
	if podstate.Ready(p) {
		return restarted(p)
	}
	var problems []string
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			problems = append(problems, "not scheduled: "+because(c.Reason, c.Message))
		}
	}
	if p.Status.Reason != "" {
		problems = append(problems, because(p.Status.Reason, p.Status.Message))
	}
	for _, c := range podstate.Statuses(p) {
		if problem := containerProblem(c); problem != "" {
			problems = append(problems, fmt.Sprintf("container %s: %s", c.Name, problem))
		}
	}
	return strings.Join(append([]string{string(p.Status.Phase)}, problems...), "; ")
}

// restarted returns which containers of a ready pod have restarted. It is empty if none has.
func restarted(p *corev1.Pod) string {
	var all []string
	for _, c := range podstate.Statuses(p) {
		if last := c.LastTerminationState.Terminated; c.RestartCount > 0 && last != nil {
			all = append(all, fmt.Sprintf("container %s: %s, last exit code %d", c.Name, restarts(c), last.ExitCode))
		}
	}
	if len(all) == 0 {
		return ""
	}
	return "ready; " + strings.Join(all, "; ")
}

// restarts returns how often a container has restarted, for example 2 restarts.
func restarts(c corev1.ContainerStatus) string {
	if c.RestartCount == 1 {
		return "1 restart"
	}
	return fmt.Sprintf("%d restarts", c.RestartCount)
}

func containerProblem(c corev1.ContainerStatus) string {
	switch {
	case c.State.Waiting != nil:
		problem := "waiting: " + because(c.State.Waiting.Reason, c.State.Waiting.Message)
		if last := c.LastTerminationState.Terminated; last != nil {
			problem += fmt.Sprintf(" (last exit code %d, %s)", last.ExitCode, restarts(c))
		}
		return problem
	case c.State.Terminated != nil && c.State.Terminated.ExitCode != 0:
		return fmt.Sprintf("exit code %d: %s", c.State.Terminated.ExitCode, because(c.State.Terminated.Reason, c.State.Terminated.Message))
	case c.State.Running != nil && !c.Ready:
		return "running but not ready, " + restarts(c)
	}
	return ""
}

// eventOf returns what an event tells.
func eventOf(cluster string, e *corev1.Event) event {
	message := oneLine(e.Message)
	if e.Count > 1 {
		message += fmt.Sprintf(" (%d times)", e.Count)
	}
	return event{
		cluster: cluster, object: e.InvolvedObject.Kind + " " + join(e.InvolvedObject.Namespace, e.InvolvedObject.Name),
		reason: e.Reason, message: message,
	}
}
