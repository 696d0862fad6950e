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
)

// report is what explains why an add-on is not available on a cluster.
type report struct {
	addon, cluster string
	// notes are facts that need no further words.
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

// pod is a pod of the add-on.
type pod struct {
	cluster, namespace, name string
	// problem tells why the pod is not ready; it is empty for one that is.
	problem string
	logs    []logTail
}

// logTail is the end of the log of a container.
type logTail struct{ container, lines string }

// event is a warning event.
type event struct{ cluster, object, reason, message string }

// String returns the report's text, a line or a few for each finding.
func (r report) String() string {
	var b strings.Builder
	for _, note := range r.notes {
		fmt.Fprintf(&b, "%s\n", note)
	}
	writeConditions(&b, fmt.Sprintf("ManagedClusterAddOn %s/%s:", r.cluster, r.addon), r.addOn)
	for _, w := range r.works {
		writeConditions(&b, fmt.Sprintf("ManifestWork %s/%s:", w.namespace, w.name), w.conditions)
		for _, o := range w.objects {
			for _, c := range o.conditions {
				if c.Status != metav1.ConditionTrue && c.Type != "StatusFeedbackSynced" {
					fmt.Fprintf(&b, "  %s %s: %s\n", o.kind, join(o.namespace, o.name), c)
				}
			}
		}
	}
	for _, p := range r.pods {
		fmt.Fprintf(&b, "pod %s on %s: %s\n", join(p.namespace, p.name), p.cluster, cmp.Or(p.problem, "ready"))
		for _, tail := range p.logs {
			fmt.Fprintf(&b, "  the end of the log of its container %s:\n", tail.container)
			for line := range strings.Lines(tail.lines) {
				fmt.Fprintf(&b, "    %s\n", strings.TrimRight(line, "\r\n"))
			}
		}
	}
	for _, e := range r.events {
		fmt.Fprintf(&b, "warning on %s: %s: %s: %s\n", e.cluster, e.object, e.reason, e.message)
	}
	return b.String()
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

// podProblem returns why a pod is not ready. It is empty for one that is, or that has completed.
func podProblem(p *corev1.Pod) string {
	if p.Status.Phase == corev1.PodSucceeded {
		return ""
	}
	var problems []string
	ready := false
	for _, c := range p.Status.Conditions {
		ready = ready || c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			problems = append(problems, "not scheduled: "+because(c.Reason, c.Message))
		}
	}
	if ready {
		return ""
	}
	if p.Status.Reason != "" {
		problems = append(problems, because(p.Status.Reason, p.Status.Message))
	}
	for _, c := range append(slices.Clone(p.Status.InitContainerStatuses), p.Status.ContainerStatuses...) {
		if problem := containerProblem(c); problem != "" {
			problems = append(problems, fmt.Sprintf("container %s: %s", c.Name, problem))
		}
	}
	return strings.Join(append([]string{string(p.Status.Phase)}, problems...), "; ")
}

func containerProblem(c corev1.ContainerStatus) string {
	switch {
	case c.State.Waiting != nil:
		problem := "waiting: " + because(c.State.Waiting.Reason, c.State.Waiting.Message)
		if last := c.LastTerminationState.Terminated; last != nil {
			problem += fmt.Sprintf(" (last exit code %d, %d restarts)", last.ExitCode, c.RestartCount)
		}
		return problem
	case c.State.Terminated != nil && c.State.Terminated.ExitCode != 0:
		return fmt.Sprintf("exit code %d: %s", c.State.Terminated.ExitCode, because(c.State.Terminated.Reason, c.State.Terminated.Message))
	case c.State.Running != nil && !c.Ready:
		return fmt.Sprintf("running but not ready, %d restarts", c.RestartCount)
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
