//go:build kind

package pods

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// outage is how long the database is away at least: a pod is not ready after three probes, 10 s apart.
const outage = 30 * time.Second

// podsRestart deletes both programs' pods while nothing changes: those that follow read everything, and write nothing.
func podsRestart(t *testing.T, w *world) {
	before := w.state(t)
	for _, h := range w.hubs() {
		old := podOf(t, h)
		start := time.Now()
		kubectl(t, h, "delete", "pod", "-n", ownNamespace, old.Name)
		rolledOut(t, h)
		eventually(t, "a new pod leads", leads(h, func(pod string) bool { return pod == podOf(t, h).Name }))
		eventually(t, h.program+" has looked at everything", func(ctx context.Context) error { return w.lookedAtAll(ctx, h) })
		t.Logf("%8s  %s: pod deleted, and another one has looked at everything", time.Since(start).Round(time.Millisecond), h.program)
	}
	if diff := cmp.Diff(before, w.state(t)); diff != "" {
		t.Errorf("objects of the global hub, or rows, were written though nothing changed (-before +after):\n%s", diff)
	}
	for _, metric := range []struct {
		h    *hub
		name string
	}{{w.global, "hub_of_hubs_status_sync_objects_written_total"}, {w.leaf, "hub_of_hubs_status_report_rows_total"}} {
		values, err := w.values(t.Context(), metric.h, metric.name)
		must(t, "read the metrics", err)
		for label, value := range values {
			if value != 0 {
				t.Errorf("%s{%s} is %v", metric.name, label, value)
			}
		}
	}
	w.flip(t, "the new pods go on")
}

// lookedAtAll is nil when a program that has just started has read what there is.
func (w *world) lookedAtAll(ctx context.Context, h *hub) error {
	if h == w.leaf {
		batches, err := w.values(ctx, h, "hub_of_hubs_status_report_batches_total")
		if err != nil {
			return err
		}
		pending, err := w.values(ctx, h, "hub_of_hubs_status_report_pending_objects")
		if err == nil && (batches[""] == 0 || pending[""] != 0) {
			err = fmt.Errorf("%v batches, and %v objects to go", batches, pending)
		}
		return err
	}
	read, err := w.values(ctx, h, "hub_of_hubs_status_sync_rows_read_total")
	if err != nil {
		return err
	}
	for _, gvk := range written {
		if read[gvk.Kind] == 0 {
			err = errors.Join(err, fmt.Errorf("no row of a %s was read", gvk.Kind))
		}
	}
	return err
}

// leads checks which pod holds the lock of a hub's program.
func leads(h *hub, is func(pod string) bool) func(context.Context) error {
	return func(ctx context.Context) error {
		pod, err := leader(ctx, h)
		if err == nil && !is(pod) {
			err = fmt.Errorf("the lock is held by %q", pod)
		}
		return err
	}
}

// leader is the pod that holds the lock, or nothing.
func leader(ctx context.Context, h *hub) (string, error) {
	lease, err := h.kube.CoordinationV1().Leases(ownNamespace).Get(ctx, h.program+"-lock", metav1.GetOptions{})
	if err != nil || lease.Spec.HolderIdentity == nil {
		return "", err
	}
	pod, _, _ := strings.Cut(*lease.Spec.HolderIdentity, "_") // and an id of the process
	return pod, nil
}

// standbyTakesOver deletes the leader of two: a change that comes then is written by the other one.
func standbyTakesOver(t *testing.T, w *world) {
	for _, h := range w.hubs() {
		kubectl(t, h, "scale", "deployment/"+h.program, "-n", ownNamespace, "--replicas=2")
	}
	for _, h := range w.hubs() {
		rolledOut(t, h)
		old, standby := w.leaderAndStandby(t, h)
		// So that the pod in the old one's place cannot be faster.
		node := kubectl(t, h, "get", "node", "-o", "name")
		t.Cleanup(func() { _, _ = h.run(context.WithoutCancel(t.Context()), "", "uncordon", strings.TrimSpace(node)) })
		kubectl(t, h, "cordon", strings.TrimSpace(node))
		start := time.Now()
		kubectl(t, h, "delete", "pod", "-n", ownNamespace, old, "--wait=false")
		w.say(t)
		seen(t, start, h.program+": the leader is deleted, the standby leads", leads(h, func(pod string) bool { return pod == standby }))
		seen(t, start, "and what the leaf hub said is on the global hub", w.said)
		kubectl(t, h, "uncordon", strings.TrimSpace(node))
	}
	for _, h := range w.hubs() {
		kubectl(t, h, "scale", "deployment/"+h.program, "-n", ownNamespace, "--replicas=1")
		rolledOut(t, h)
	}
	w.flip(t, "the one that is left goes on")
}

// leaderAndStandby are the names of the program's two pods.
func (w *world) leaderAndStandby(t *testing.T, h *hub) (leading, standby string) {
	t.Helper()
	leading, err := leader(t.Context(), h)
	must(t, "find the leader", err)
	both, err := pods(t.Context(), h)
	must(t, "find the pods", err)
	for i := range both {
		if both[i].Name != leading {
			standby = both[i].Name
		}
	}
	if len(both) != 2 || both[0].Name != leading && both[1].Name != leading {
		t.Fatalf("%s: the leader is %q, of %d pods", h.program, leading, len(both))
	}
	return leading, standby
}

// databaseAway kills the database. The pods say that they are not ready, stay, and write nothing; when it is back, they
// go on with what is then.
func databaseAway(t *testing.T, w *world) {
	before, objects := map[*hub]*corev1.Pod{}, w.objects(t)
	for _, h := range w.hubs() {
		before[h] = podOf(t, h)
	}
	start := time.Now()
	must(t, "kill the database", w.database.Kill())
	w.say(t)
	w.say(t)
	w.say(t) // only the last counts
	foreign := w.leaf.create(t, configMaps, "default", "hub-of-hubs-away", map[string]any{"data": map[string]any{"owner": "local"}})
	t.Cleanup(func() { w.leaf.discard(t, foreign) })
	source := w.leaf.create(t, configMaps, w.cluster, "hub-of-hubs-away", map[string]any{"data": map[string]any{"owner": "the hub"}})
	t.Cleanup(func() { w.leaf.discard(t, source) })
	for _, h := range w.hubs() {
		seen(t, start, h.program+" is not ready", readiness(h, false))
	}
	eventually(t, "the outage is over", func(context.Context) error {
		if left := outage - time.Since(start); left > 0 {
			return fmt.Errorf("%s to go", left)
		}
		return nil
	})
	if diff := cmp.Diff(objects, w.objects(t)); diff != "" {
		t.Errorf("something was written while the database was away (-before +after):\n%s", diff)
	}
	must(t, "start the database", w.database.Resume(t.Context()))
	start = time.Now()
	seen(t, start, "the database is back: the policy is what the leaf hub said last", w.said)
	seen(t, start, "and the conflict is there", w.global.field(addOnSummaries, "", "helloworld", 1, "status", "conflicts"))
	for _, h := range w.hubs() {
		seen(t, start, h.program+" is ready again", readiness(h, true))
		if after := podOf(t, h); after.UID != before[h].UID || restarts(after) != restarts(before[h]) {
			t.Errorf("%s was restarted: %s with %d restarts before, %s with %d now", h.program,
				before[h].Name, restarts(before[h]), after.Name, restarts(after))
		}
	}
	w.leaf.discard(t, foreign)
	start = time.Now()
	seen(t, start, "the conflict ends", w.global.field(addOnSummaries, "", "helloworld", 0, "status", "conflicts"))
}

// readiness checks what the kubelet says of the program's one pod.
func readiness(h *hub, want bool) func(context.Context) error {
	return func(ctx context.Context) error {
		all, err := pods(ctx, h)
		if err == nil && (len(all) != 1 || ready(&all[0]) != want) {
			err = fmt.Errorf("%d pods, ready: %v", len(all), slices.ContainsFunc(all, func(pod corev1.Pod) bool { return ready(&pod) }))
		}
		return err
	}
}
