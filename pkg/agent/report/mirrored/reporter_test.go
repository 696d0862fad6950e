package mirrored

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
)

// desk is a Reporter with a ConfigMapMirror on a hub and a state of the mirror.
type desk struct {
	t        *testing.T
	clock    *clocktesting.FakeClock
	start    time.Time
	reporter *Reporter
	// wait is the rest of a wait that has begun.
	wait time.Duration

	ready bool
	// state is the state of the only ConfigMap. counted is the total.
	state   v1alpha1.MirrorState
	counted int32
	// absent reports that there is no object on the hub. onHub is its status, nil for none.
	absent bool
	onHub  *v1alpha1.ConfigMapMirrorStatus
	err    error
	// reading is called in each read.
	reading      func()
	gets, writes []time.Duration
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	d := &desk{t: t, clock: clocktesting.NewFakeClock(start), start: start, ready: true, counted: 1, state: v1alpha1.MirrorSynced,
		reading: func() {}}
	d.session()
	return d
}

// session begins a new session with the hub.
func (d *desk) session() {
	d.reporter = New(Config{Cluster: "cluster1", Ready: func() bool { return d.ready }, Status: d.status, Client: d, Clock: d.clock})
	d.wait = 0
	d.reporter.Notify()
}

func (d *desk) status(before []v1alpha1.MirroredConfigMap, now time.Time) v1alpha1.ConfigMapMirrorStatus {
	entry := v1alpha1.MirroredConfigMap{Name: "a", State: d.state, Since: metav1.NewTime(now)}
	if len(before) > 0 && before[0].State == d.state {
		entry.Since = before[0].Since
	}
	return v1alpha1.ConfigMapMirrorStatus{Total: d.counted, ConfigMaps: []v1alpha1.MirroredConfigMap{entry}}
}

func (d *desk) answer() error {
	if d.absent {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "configmapmirrors"}, "helloworld")
	}
	return d.err
}

func (d *desk) Get(_ context.Context, name string, _ metav1.GetOptions) (*v1alpha1.ConfigMapMirror, error) {
	d.gets = append(d.gets, d.clock.Since(d.start))
	d.reading()
	if err := d.answer(); err != nil {
		return nil, err
	}
	return &v1alpha1.ConfigMapMirror{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: d.onHub.DeepCopy()}, nil
}

func (d *desk) Patch(_ context.Context, name string, patchType types.PatchType, body []byte, options metav1.PatchOptions, subresources ...string,
) (*v1alpha1.ConfigMapMirror, error) {
	d.writes = append(d.writes, d.clock.Since(d.start))
	if err := d.answer(); err != nil {
		return nil, err
	}
	var applied v1alpha1.ConfigMapMirror
	if err := json.Unmarshal(body, &applied); err != nil {
		d.t.Error(err)
	}
	got := []any{name, patchType, options.FieldManager, *options.Force, subresources, applied.Namespace, applied.Name, applied.Kind, applied.APIVersion}
	want := []any{"helloworld", types.ApplyPatchType, "helloworld-agent", true, []string{"status"}, "cluster1", "helloworld", "ConfigMapMirror",
		"helloworld.open-cluster-management.io/v1alpha1"}
	if diff := cmp.Diff(want, got); diff != "" {
		d.t.Errorf("the patch (-want +got):\n%s", diff)
	}
	d.onHub = applied.Status
	return &applied, nil
}

// pass does what Run does for a duration of the fake clock: it receives a notification, waits, and
// steps.
func (d *desk) pass(duration time.Duration) {
	d.t.Helper()
	for end := d.clock.Now().Add(duration); d.clock.Now().Before(end); {
		left := end.Sub(d.clock.Now())
		switch {
		case d.wait > left:
			d.wait -= left
			d.clock.SetTime(end)
		case d.wait > 0:
			d.clock.Step(d.wait)
			d.wait = d.reporter.step(d.t.Context())
		case len(d.reporter.changed) > 0:
			d.wait = settle
		default:
			d.clock.SetTime(end)
		}
	}
}

func (d *desk) requests() (gets, writes int) {
	gets, writes = len(d.gets), len(d.writes)
	d.gets, d.writes = nil, nil
	return gets, writes
}

func (d *desk) expect(what string, gets, writes int) {
	d.t.Helper()
	if g, w := d.requests(); g != gets || w != writes {
		d.t.Errorf("%s: %d reads and %d writes, want %d and %d", what, g, w, gets, writes)
	}
}

// change notifies of another state.
func (d *desk) change(state v1alpha1.MirrorState) {
	d.state = state
	d.reporter.Notify()
}

func TestWritesOnChangeOnly(t *testing.T) {
	d := newDesk(t)
	d.pass(2 * time.Second)
	d.expect("the first report", 1, 1)
	for range 20 {
		d.reporter.Notify()
		d.pass(2 * time.Second)
	}
	d.expect("nothing changed", 0, 0)
	d.change(v1alpha1.MirrorPending)
	d.pass(2 * time.Second)
	d.expect("another state", 0, 1)
}

func TestOneWriteASecond(t *testing.T) {
	d := newDesk(t)
	for range 200 {
		d.counted++
		d.reporter.Notify()
		d.pass(50 * time.Millisecond)
	}
	if _, writes := d.requests(); writes < 5 || writes > 10 {
		t.Errorf("%d writes in 10 s of changes", writes)
	}
	d.pass(2 * time.Second)
	if d.onHub.Total != d.counted {
		t.Errorf("the report counts %d, want %d", d.onHub.Total, d.counted)
	}
}

// TestNewSessionKeepsTheTime: the former session's report says since when.
func TestNewSessionKeepsTheTime(t *testing.T) {
	d := newDesk(t)
	d.pass(2 * time.Second)
	since := d.onHub.ConfigMaps[0].Since
	d.requests()
	d.session()
	d.pass(2 * time.Second)
	d.expect("the same report", 1, 0)
	d.counted++
	d.reporter.Notify()
	d.pass(2 * time.Second)
	d.expect("another report", 0, 1)
	if got := d.onHub.ConfigMaps[0].Since; !got.Equal(&since) {
		t.Errorf("since %s, want %s", got, since)
	}
}

// TestNothingToMirror: zeros are a report, and are written once.
func TestNothingToMirror(t *testing.T) {
	d := newDesk(t)
	d.reporter.config.Status = func([]v1alpha1.MirroredConfigMap, time.Time) v1alpha1.ConfigMapMirrorStatus {
		return v1alpha1.ConfigMapMirrorStatus{}
	}
	d.pass(2 * time.Second)
	d.expect("the first report", 1, 1)
	d.session()
	d.reporter.config.Status = func([]v1alpha1.MirroredConfigMap, time.Time) v1alpha1.ConfigMapMirrorStatus {
		return v1alpha1.ConfigMapMirrorStatus{}
	}
	d.pass(2 * time.Second)
	d.expect("a session that has the same report", 1, 0)
}

// TestDeletedReportComesBack: with its content and its times, by the next change.
func TestDeletedReportComesBack(t *testing.T) {
	for name, delete := range map[string]func(d *desk){
		"created again at once": func(d *desk) {
			d.onHub = nil
			d.counted++
			d.reporter.Notify()
		},
		"gone for a time": func(d *desk) {
			d.absent, d.onHub = true, nil
			d.change(v1alpha1.MirrorPending)
			d.pass(time.Minute)
			d.change(v1alpha1.MirrorSynced)
			d.absent = false
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.pass(time.Minute)
			want := d.onHub.DeepCopy()
			delete(d)
			d.pass(time.Minute)
			want.Total = d.counted
			if diff := cmp.Diff(want, d.onHub); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestRestoredReport: the hub has a former report after a restore. The session lists the hub anew.
func TestRestoredReport(t *testing.T) {
	d := newDesk(t)
	d.pass(time.Minute)
	want := d.onHub.DeepCopy()
	d.requests()
	d.reporter.Reread()
	d.pass(time.Minute)
	d.expect("the report is as it was", 1, 0)
	d.onHub.ConfigMaps[0].State = v1alpha1.MirrorPending
	d.reporter.Reread()
	d.pass(time.Minute)
	d.expect("a former report", 1, 1)
	if diff := cmp.Diff(want, d.onHub); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestSaysNothingUntilReady: neither before both sides are listed nor while the mirror is stopped.
func TestSaysNothingUntilReady(t *testing.T) {
	d := newDesk(t)
	d.ready = false
	d.pass(time.Hour)
	d.expect("not ready", 0, 0)
	d.ready = true
	d.reading = func() { d.ready = false }
	d.reporter.Notify()
	d.pass(time.Minute)
	d.expect("stopped while it reads", 1, 0)
}

func TestBacksOff(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "configmapmirrors"}, "helloworld", errors.New("an old controller"))
	for name, test := range map[string]struct {
		absent        bool
		err           error
		least, most   int
		atMostRecover time.Duration
	}{
		"no object":   {true, nil, 15, 22, 5 * time.Minute},
		"no right":    {false, forbidden, 15, 22, 5 * time.Minute},
		"no answer":   {false, errors.New("connection refused"), 60, 70, time.Minute},
		"no more CRD": {false, &apierrors.StatusError{ErrStatus: metav1.Status{Code: 404, Reason: metav1.StatusReasonNotFound}}, 15, 22, 5 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.absent, d.err = test.absent, test.err
			for range 3600 {
				d.reporter.Notify()
				d.pass(time.Second)
			}
			if gets, writes := d.requests(); gets < test.least || gets > test.most || writes != 0 {
				t.Errorf("%d reads and %d writes within an hour, want %d to %d reads", gets, writes, test.least, test.most)
			}
			d.absent, d.err = false, nil
			d.pass(test.atMostRecover + time.Second)
			d.expect("it is there", 1, 1)
		})
	}
}

// TestRuns: with real time, Run reports and ends.
func TestRuns(t *testing.T) {
	d := newDesk(t)
	d.reporter.config.Clock = clock.RealClock{}
	written := make(chan struct{})
	d.reporter.config.Client = closing{d, written}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { d.reporter.Run(ctx); close(ended) }()
	select {
	case <-written:
	case <-time.After(10 * time.Second):
		t.Error("no report")
	}
	cancel()
	<-ended
}

// closing closes written with the first patch.
type closing struct {
	*desk
	written chan struct{}
}

func (c closing) Patch(ctx context.Context, name string, patchType types.PatchType, body []byte, options metav1.PatchOptions, subresources ...string,
) (*v1alpha1.ConfigMapMirror, error) {
	defer close(c.written)
	return c.desk.Patch(ctx, name, patchType, body, options, subresources...)
}
