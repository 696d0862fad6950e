package rollout

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/internal/testing/fakeapi"
	hubplan "open-cluster-management.io/helloworld-addon/pkg/hub/replicaset/plan"
)

// stages is an output that makes the next step of a story with each line that it gets.
type stages struct {
	text  bytes.Buffer
	steps []func()
}

func (s *stages) Write(p []byte) (int, error) {
	s.text.Write(p)
	for range strings.Count(string(p), "\n") {
		if len(s.steps) > 0 {
			s.steps[0]()
			s.steps = s.steps[1:]
		}
	}
	return len(p), nil
}

// progress reports so many clusters as updated and synced, in a canary group and two others.
func (h *hub) progress(hash string, updated, synced int32) {
	h.report(metav1.ConditionFalse, hubplan.ReasonProgressing, fmt.Sprintf("%d of 40 clusters have revision %s synced", synced, hash),
		func(s *v1alpha1.ConfigMapReplicaSetStatus) {
			s.UpdatedRevision, s.Summary = hash, v1alpha1.Summary{Total: 40, Updated: updated, Synced: synced}
			s.Placements = []v1alpha1.PlacementStatus{{Name: "fleet", Groups: []v1alpha1.GroupStatus{
				{Index: 0, Name: "canary", Summary: v1alpha1.Summary{Updated: min(updated, 2)}},
				{Index: 1, Summary: v1alpha1.Summary{Updated: max(0, updated-2)}}, {Index: 2}}}}
		})
}

// TestStatus: a line for each change, from a change that the controller has not seen to its end.
func TestStatus(t *testing.T) {
	h := newHub(t)
	h.rollOut()
	h.source("settings", map[string]string{"level": "debug", "region": "$(REGION)"})
	hash := ""
	out := &stages{steps: []func(){
		func() { hash = h.store(); h.progress(hash, 2, 0) },
		func() { h.progress(hash, 2, 2) },
		func() { h.EndWatches(); h.Forget(); h.progress(hash, 40, 2) },
		func() { h.spec(func(s *v1alpha1.ConfigMapReplicaSetSpec) { s.Paused = true }) },
		func() { h.progress(hash, 40, 12) },
		func() {
			h.report(metav1.ConditionTrue, hubplan.ReasonRolledOut, "40 of 40 clusters have revision "+hash+" synced",
				func(s *v1alpha1.ConfigMapReplicaSetStatus) { s.Summary.Synced = 40 })
		},
	}}
	stderr, err := h.runTo(out, "status", "settings")
	if err != nil || stderr != "" {
		t.Errorf("stderr %q, error %v", stderr, err)
	}
	golden(t, "status.txt", out.text.String())
	if writes := h.writes(); writes != nil {
		t.Errorf("it writes: %v", writes)
	}
}

// TestStatusEnds: when it does not end with success.
func TestStatusEnds(t *testing.T) {
	var forbidden atomic.Bool
	for _, test := range []struct {
		name, reason string
		first, then  func(h *hub)
		args         []string
		want         string
	}{
		{"stopped", "a person has to do something", func(h *hub) { h.rollOut() },
			func(h *hub) {
				hash := h.store()
				h.report(metav1.ConditionFalse, hubplan.ReasonStopped, "the rollout to Placement fleet stopped: 1 failed",
					func(s *v1alpha1.ConfigMapReplicaSetStatus) { s.UpdatedRevision = hash })
			}, nil, `configmapreplicaset "settings" is not rolled out: Stopped: the rollout to Placement fleet stopped: 1 failed`},
		{"source gone", "the controller reports it", func(h *hub) { h.rollOut() },
			func(h *hub) {
				h.Remove("configmaps", "team-a", "settings")
				h.report(metav1.ConditionFalse, hubplan.ReasonSourcesInvalid, "ConfigMap team-a/settings does not exist", nil)
			}, nil, "SourcesInvalid: ConfigMap team-a/settings does not exist"},
		{"deleted", "there is nothing to wait for", func(*hub) {}, func(h *hub) { h.Remove(resource, "team-a", "settings") }, nil,
			`configmapreplicaset "settings" was deleted`},
		{"deleted and created", "it is another one", func(*hub) {}, func(h *hub) {
			again := h.set()
			h.Remove(resource, "team-a", "settings")
			h.Put(resource, again)
		}, nil, `configmapreplicaset "settings" was deleted`},
		{"no right any more", "a retry does not change that", func(h *hub) {
			h.Before = func(r fakeapi.Request) *apierrors.StatusError {
				if !forbidden.Load() {
					return nil
				}
				return apierrors.NewForbidden(v1alpha1.GroupVersion.WithResource(resource).GroupResource(), r.Name, nil)
			}
		}, func(h *hub) {
			forbidden.Store(true)
			h.report(metav1.ConditionFalse, hubplan.ReasonProgressing, "", nil)
		}, nil, "get ConfigMapReplicaSet team-a/settings: configmapreplicasets.helloworld.open-cluster-management.io \"settings\" is forbidden"},
		{"timeout", "the user does not wait for ever", func(*hub) {}, func(*hub) {}, []string{"--timeout=300ms"},
			`timed out after 300ms waiting for the rollout of configmapreplicaset "settings"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := newHub(t)
			test.first(h)
			h.source("settings", map[string]string{"level": "debug"})
			out := &stages{steps: []func(){func() { test.then(h) }}}
			_, err := h.runTo(out, append([]string{"status", "settings"}, test.args...)...)
			expect(t, err, test.want)
		})
	}
}

// TestStatusGoesOn: requests and watches that fail do not end it.
func TestStatusGoesOn(t *testing.T) {
	h := newHub(t)
	var mu sync.Mutex
	failing := 0
	h.Before = func(fakeapi.Request) *apierrors.StatusError {
		mu.Lock()
		defer mu.Unlock()
		if failing == 0 {
			return nil
		}
		failing--
		return apierrors.NewInternalError(fmt.Errorf("etcd is away"))
	}
	out := &stages{steps: []func(){func() {
		h.rollOut()
		mu.Lock()
		defer mu.Unlock()
		failing = 2
	}}}
	stderr, err := h.runTo(out, "status", "settings")
	if err != nil || strings.Count(stderr, "etcd is away; trying again\n") != 1 || !strings.Contains(out.text.String(), "successfully rolled out") {
		t.Errorf("stdout %q, stderr %q, error %v", out.text.String(), stderr, err)
	}
}

// TestStatusWithoutEvent: a source that is changed and changed back makes no event of the set.
func TestStatusWithoutEvent(t *testing.T) {
	h := newHub(t)
	h.rollOut()
	before := h.data("settings")
	h.source("settings", map[string]string{"level": "debug"})
	out := &stages{steps: []func(){func() { h.source("settings", before) }}}
	_, err := h.runTo(out, "status", "settings")
	if err != nil || !strings.Contains(out.text.String(), "successfully rolled out") {
		t.Errorf("stdout %q, error %v", out.text.String(), err)
	}
}

func TestStatusOnce(t *testing.T) {
	h := newHub(t)
	h.rollOut()
	stdout, _, err := h.run("status", "settings", "--watch=false")
	if err != nil || !strings.Contains(stdout, "successfully rolled out") {
		t.Errorf("rolled out: stdout %q, error %v", stdout, err)
	}
	h.source("settings", map[string]string{"level": "debug"})
	stdout, _, err = h.run("status", "settings", "-w=false")
	if err != nil || strings.Count(stdout, "\n") != 1 || !strings.HasPrefix(stdout, "Waiting for rollout") {
		t.Errorf("a source was changed: stdout %q, error %v", stdout, err)
	}
	_, present := h.revision()
	h.report(metav1.ConditionFalse, hubplan.ReasonStopped, "1 failed", func(s *v1alpha1.ConfigMapReplicaSetStatus) { s.UpdatedRevision = present.Revision })
	_, _, err = h.run("status", "settings", "-w=false")
	expect(t, err, "is not rolled out: Stopped: 1 failed")
}

// TestStatusWarns: what needs a person though the rollout is done is on the standard error.
func TestStatusWarns(t *testing.T) {
	h := newHub(t)
	h.rollOut()
	h.Change(resource, "team-a", "settings", func(o fakeapi.Object) {
		conditions := o.(*v1alpha1.ConfigMapReplicaSet).Status.Conditions
		conditions[0].Status, conditions[0].Reason, conditions[0].Message = metav1.ConditionTrue, hubplan.ReasonRemovalsHeld, "holding"
	})
	stdout, stderr, err := h.run("status", "settings")
	if err != nil || stderr != "warning: RemovalsHeld: holding\n" || !strings.Contains(stdout, "successfully rolled out") {
		t.Errorf("stdout %q, stderr %q, error %v", stdout, stderr, err)
	}
}

// TestStatusIsPrompt: an event wakes it long before it would look again.
func TestStatusIsPrompt(t *testing.T) {
	h := newHub(t)
	began := time.Time{}
	out := &stages{steps: []func(){func() { began = time.Now(); time.AfterFunc(300*time.Millisecond, func() { h.rollOut() }) }}}
	h.lookAgain = time.Minute
	_, err := h.runTo(out, "status", "settings")
	if took := time.Since(began); err != nil || took > h.lookAgain/2 {
		t.Errorf("it ended after %s, error %v", took, err)
	}
}
