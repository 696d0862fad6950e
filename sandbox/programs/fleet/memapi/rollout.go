package memapi

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
)

// state is a state of a Deployment's rollout, with a status of its own. A controller that
// reports a Deployment's status, for example OCM's work agent, reports each of them.
// https://github.com/kubernetes/kubernetes/tree/v1.34.4/pkg/controller/deployment
type state string

const (
	// stopping: the old ReplicaSet is scaled down, and its pods still run.
	stopping state = "stopping"
	stopped  state = "stopped"
	// created: the new ReplicaSet has no pods yet.
	created  state = "created"
	starting state = "starting"
	ready    state = "ready"
)

// stateDelay is the time between two states, about as long as between two writes of
// Kubernetes' controller.
const stateDelay = 100 * time.Millisecond

// rollout returns the states that lead to a new template. Replaced reports whether it
// replaces a running pod, stuck whether its own pod never becomes ready.
func rollout(strategy appsv1.DeploymentStrategyType, replaced, stuck bool) []state {
	states := []state{created, starting}
	if replaced && strategy == appsv1.RecreateDeploymentStrategyType {
		states = []state{stopping, stopped, created, starting}
	}
	if !stuck {
		states = append(states, ready)
	}
	return states
}

// advance begins the next state of a rollout.
func (a *API) advance(key workloadKey, w *workload, d *appsv1.Deployment) {
	w.state, w.next, w.due = w.next[0], w.next[1:], false
	switch {
	case w.state == stopped:
		a.stopPod(key, w)
	case w.state == starting && !w.stuck:
		a.stopPod(key, w)
		suffix := utilrand.SafeEncodeString(fmt.Sprint(hash([]byte(w.template))))
		a.startPod(key, w, fmt.Sprintf("%s-%s-%s", d.Name, suffix, utilrand.String(5)), &d.Spec.Template)
	case w.state == ready:
		w.ready = true
	}
	if len(w.next) == 0 {
		return
	}
	delay := stateDelay
	if w.next[0] == ready {
		delay = a.server.options.ReadyAfter
	}
	a.after(key, w, delay, func() { w.due = true })
}
