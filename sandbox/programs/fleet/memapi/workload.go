package memapi

import (
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/utils/clock"
)

// The back-off of a Job whose pods fail: the Job controller's.
const (
	jobBackoff    = 10 * time.Second
	jobBackoffMax = 6 * time.Minute
	// jobBackoffLimit is the default of a Job's backoffLimit.
	jobBackoffLimit = 6
)

// workloadKey names the Deployment or Job of a workload.
type workloadKey struct {
	kind string
	name name
}

// workload is what runs of one Deployment or Job: at most one pod, which has no object.
type workload struct {
	uid      types.UID // of the Deployment or Job
	template string    // that the pod has, or shall have
	ready    bool      // the pod became ready
	stuck    bool      // the template's image is broken
	state    state     // of a Deployment's rollout
	next     []state   // the states that follow
	due      bool      // the next one begins
	failed   int32     // pods of a Job that failed
	started  metav1.Time
	pod      *pod // nil: none runs
	timer    clock.Timer
}

// reaction is how long the behaviours take to see a change. Without it a client that
// creates a Deployment and then changes it would have a conflict with the first status.
const reaction = 10 * time.Millisecond

// syncSoon syncs a workload after a change. The caller holds a.mu.
func (a *API) syncSoon(k *kind, n name) {
	key := workloadKey{k.name, n}
	if a.changes[key] {
		return
	}
	a.changes[key] = true
	a.server.clock.AfterFunc(reaction, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.changes, key)
		a.syncWorkload(k, n)
	})
}

// syncWorkload makes what runs, and the status, follow a Deployment or Job. The caller
// holds a.mu. It is called after each of its changes, also those of its own.
func (a *API) syncWorkload(k *kind, n name) {
	if a.ctx.Err() != nil {
		return
	}
	key := workloadKey{k.name, n}
	e := a.table(k.GroupResource()).objects[n]
	w := a.workloads[key]
	if w != nil && (e == nil || e.uid != w.uid) {
		a.stopPod(key, w)
		w.stopTimer()
		delete(a.workloads, key)
		w = nil
	}
	if e == nil {
		return
	}
	if w == nil {
		w = &workload{uid: e.uid}
		a.workloads[key] = w
	}
	var status any
	var err error
	if k.GroupVersionResource == deployments {
		status, err = a.syncDeployment(key, w, e)
	} else {
		status, err = a.syncJob(key, w, e)
	}
	if err == nil && status != nil {
		var fields map[string]any
		if fields, err = runtime.DefaultUnstructuredConverter.ToUnstructured(status); err == nil {
			a.setStatus(k.GroupVersionResource, n, fields)
		}
	}
	if err != nil {
		a.log.Error(err, "Failed to run workload", "kind", k.name, "object", n.String())
	}
}

// syncDeployment starts and stops the pod of a Deployment and returns the status.
func (a *API) syncDeployment(key workloadKey, w *workload, e *entry) (any, error) {
	var d appsv1.Deployment
	if err := json.Unmarshal(e.data, &d); err != nil {
		return nil, fmt.Errorf("decode deployment: %w", err)
	}
	template, err := json.Marshal(&d.Spec.Template)
	if err != nil {
		return nil, fmt.Errorf("encode pod template: %w", err)
	}
	replicas := int32(1)
	if d.Spec.Replicas != nil {
		replicas = *d.Spec.Replicas
	}
	switch {
	case replicas == 0:
		a.stopPod(key, w)
		w.stopTimer()
		w.template, w.ready, w.stuck, w.next, w.due = "", false, false, nil, false
	case w.template != string(template):
		w.stopTimer()
		w.template, w.ready, w.stuck = string(template), false, a.broken(&d.Spec.Template)
		w.next = rollout(d.Spec.Strategy.Type, w.pod != nil, w.stuck)
		a.advance(key, w, &d)
	case w.due:
		a.advance(key, w, &d)
	}
	return deploymentStatus(&d, replicas, w, metav1.NewTime(a.server.clock.Now())), nil
}

// broken reports whether an image of the pod is the one that never works.
func (a *API) broken(template *corev1.PodTemplateSpec) bool {
	part := a.server.options.BrokenImage
	for _, c := range template.Spec.Containers {
		if part != "" && strings.Contains(c.Image, part) {
			return true
		}
	}
	return false
}

// syncJob starts the pod of a Job, and stops it when the Job has finished or is
// suspended. It returns the status.
func (a *API) syncJob(key workloadKey, w *workload, e *entry) (any, error) {
	var j batchv1.Job
	if err := json.Unmarshal(e.data, &j); err != nil {
		return nil, fmt.Errorf("decode job: %w", err)
	}
	if finished(&j) || j.Spec.Suspend != nil && *j.Spec.Suspend {
		a.stopPod(key, w)
		w.stopTimer()
		return nil, nil
	}
	if w.pod == nil && w.timer == nil && !w.ready {
		a.startPod(key, w, fmt.Sprintf("%s-%s", j.Name, utilrand.String(5)), &j.Spec.Template)
		if w.started.IsZero() {
			w.started = metav1.NewTime(a.server.clock.Now())
		}
		a.after(key, w, a.server.options.ReadyAfter, func() { a.unclaimed(w) })
	}
	return jobStatus(&j, w, metav1.NewTime(a.server.clock.Now())), nil
}

// unclaimed completes a Job whose image no client has claimed.
func (a *API) unclaimed(w *workload) {
	if w.pod != nil && !a.server.streams.claims(w.pod.container.Image) {
		w.ready = true
	}
}

// done ends the pod of a Job. It reports whether there is such a pod.
func (a *API) done(pod types.UID, failure string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for key, w := range a.workloads {
		if key.kind != builtins[jobs].name || w.pod == nil || w.pod.uid != pod {
			continue
		}
		a.stopPod(key, w)
		w.stopTimer()
		if failure == "" {
			w.ready = true
		} else {
			w.failed++
			delay := min(jobBackoff<<min(w.failed-1, 6), jobBackoffMax)
			a.after(key, w, delay, func() {})
		}
		a.syncWorkload(builtins[jobs], key.name)
		return true
	}
	return false
}

// after calls then and syncs the workload when a time has passed.
func (a *API) after(key workloadKey, w *workload, delay time.Duration, then func()) {
	var timer clock.Timer
	timer = a.server.clock.AfterFunc(delay, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.workloads[key] != w || w.timer != timer {
			return
		}
		w.timer = nil
		then()
		k := builtins[deployments]
		if key.kind != k.name {
			k = builtins[jobs]
		}
		a.syncWorkload(k, key.name)
	})
	w.timer = timer
}

func (w *workload) stopTimer() {
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
}

func (a *API) startPod(key workloadKey, w *workload, pod string, template *corev1.PodTemplateSpec) {
	w.pod = newPod(a.name, key.name.Namespace, pod, uuid.NewUUID(), template)
	a.server.streams.workload("START", a.workloadEvent(key, w))
}

func (a *API) stopPod(key workloadKey, w *workload) {
	if w.pod == nil {
		return
	}
	a.server.streams.workload("STOP", a.workloadEvent(key, w))
	w.pod = nil
}

// stopWorkloads stops all when the cluster ends.
func (a *API) stopWorkloads() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for key, w := range a.workloads {
		a.stopPod(key, w)
		w.stopTimer()
		delete(a.workloads, key)
	}
}
