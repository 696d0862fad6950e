package control

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/helloworld-addon/sandbox/podstate"
)

// crashLoopBackOff is kubelet's reason for a container that has ended again and again.
const crashLoopBackOff = "CrashLoopBackOff"

// logLines is the number of lines of a log in an error.
const logLines = 20

// ending is the end of a container of a new pod, which should run.
type ending struct {
	namespace, pod, container string
	exitCode                  int32
	reason                    string
	// restarted is true if the container runs again, so the log of the end is that of the run before.
	restarted bool
}

func (e ending) String() string {
	return fmt.Sprintf("pod %s/%s: container %s ended with exit code %d (%s)", e.namespace, e.pod, e.container, e.exitCode, e.reason)
}

// earlyRestarts is the number of restarts of a container from which CrashLoopBackOff counts before the pods were ready: an
// agent or an init container may exit a few times until what it needs is there. The third restart is after 30 s.
const earlyRestarts = 3

// endings returns the containers of new pods that do not stay running. ready are the pods when all were ready, nil while not
// all have been ready. A container counts
//   - if it is in CrashLoopBackOff, without ready only from earlyRestarts,
//   - if it has ended with an error since ready,
//   - if it was restarted since ready.
func endings(ready, now []corev1.Pod) []ending {
	type key struct {
		pod       types.UID
		container string
	}
	restarts := map[key]int32{}
	for _, pod := range ready {
		for _, c := range podstate.Statuses(&pod) {
			restarts[key{pod.UID, c.Name}] = c.RestartCount
		}
	}
	var found []ending
	for _, pod := range now {
		for _, c := range podstate.Statuses(&pod) {
			before, known := restarts[key{pod.UID, c.Name}]
			loops := c.State.Waiting != nil && c.State.Waiting.Reason == crashLoopBackOff && (known || c.RestartCount >= earlyRestarts)
			failed := c.State.Terminated != nil && c.State.Terminated.ExitCode != 0
			if !loops && !(known && (failed || c.RestartCount > before)) {
				continue
			}
			e := ending{namespace: pod.Namespace, pod: pod.Name, container: c.Name, restarted: c.State.Running != nil}
			end := c.State.Terminated
			if end == nil {
				end = c.LastTerminationState.Terminated
			}
			if end != nil {
				e.exitCode, e.reason = end.ExitCode, end.Reason
			}
			found = append(found, e)
		}
	}
	return found
}

// explain returns an error about the ended containers, with an excerpt of the log of the first one of each name: those of
// replicas are alike.
func (r *reload) explain(ctx context.Context, ended []ending) error {
	var text strings.Builder
	_, _ = fmt.Fprint(&text, "the new pods do not stay ready")
	logged := map[string]bool{}
	for _, e := range ended {
		_, _ = fmt.Fprintf(&text, "\n%s", e)
		if !logged[e.container] {
			logged[e.container] = true
			_, _ = fmt.Fprint(&text, indented(r.logOf(ctx, e)))
		}
	}
	return errors.New(text.String())
}

// logOf returns the end of the log of the run that ended, or of the other one of the last two if that is empty: the container
// may have been restarted meanwhile.
func (r *reload) logOf(ctx context.Context, e ending) string {
	pods := r.client.CoreV1().Pods(e.namespace)
	return cmp.Or(podstate.Tail(ctx, pods, e.pod, e.container, e.restarted), podstate.Tail(ctx, pods, e.pod, e.container, !e.restarted))
}

// indented returns the part of a message that has an excerpt of a log, a line for each of its lines.
func indented(log string) string {
	if log == "" {
		return ", and its log is empty"
	}
	return "; from its log:\n    " + strings.Join(podstate.Excerpt(log, logLines), "\n    ")
}
