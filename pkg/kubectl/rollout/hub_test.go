package rollout

import (
	"bytes"
	"context"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/utils/clock"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/internal/testing/fakeapi"
	"open-cluster-management.io/helloworld-addon/manifests"
	hubplan "open-cluster-management.io/helloworld-addon/pkg/hub/replicaset/plan"
	"open-cluster-management.io/helloworld-addon/pkg/hub/replicaset/render"
	"open-cluster-management.io/helloworld-addon/pkg/kubectl/rollout/plan"
)

var updateGolden = flag.Bool("update", false, "write the golden files of testdata")

var start = time.Date(2026, 11, 23, 22, 0, 0, 0, time.UTC)

// golden compares a text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *updateGolden {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// hub is a hub with the ConfigMapReplicaSet team-a/settings.
type hub struct {
	*fakeapi.Server
	t      *testing.T
	number int64
	// lookAgain is how long nothing may change before the program reads again.
	lookAgain time.Duration
}

// newHub starts a hub. Its set has the source settings and a value.
func newHub(t *testing.T) *hub {
	t.Helper()
	h := &hub{Server: fakeapi.New(), t: t, lookAgain: 100 * time.Millisecond}
	h.Start()
	t.Cleanup(h.Close)
	h.source("settings", map[string]string{"level": "info", "region": "$(REGION)"})
	eu := "eu"
	set := &v1alpha1.ConfigMapReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "settings", Generation: 1}}
	set.Spec.ConfigMaps = []v1alpha1.ConfigMapReference{{Name: "settings"}}
	set.Spec.Values = []v1alpha1.Value{{Name: "REGION", Label: "region", Default: &eu}}
	h.Put(resource, set)
	return h
}

// source creates or changes a source, as its team does.
func (h *hub) source(name string, data map[string]string) {
	if h.Get("configmaps", "team-a", name) == nil {
		h.Put("configmaps", &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: name, Labels: map[string]string{"team": "a"}}, Data: data})
		return
	}
	h.Change("configmaps", "team-a", name, func(o fakeapi.Object) { o.(*corev1.ConfigMap).Data = data })
}

func (h *hub) data(name string) map[string]string {
	h.t.Helper()
	source, ok := h.Get("configmaps", "team-a", name).(*corev1.ConfigMap)
	if !ok {
		h.t.Fatalf("ConfigMap %s does not exist", name)
	}
	return source.Data
}

// set returns the set.
func (h *hub) set() *v1alpha1.ConfigMapReplicaSet {
	h.t.Helper()
	set, ok := h.Get(resource, "team-a", "settings").(*v1alpha1.ConfigMapReplicaSet)
	if !ok {
		h.t.Fatal("the set does not exist")
	}
	return set
}

// spec changes the spec of the set, as its team does.
func (h *hub) spec(change func(*v1alpha1.ConfigMapReplicaSetSpec)) {
	h.Change(resource, "team-a", "settings", func(o fakeapi.Object) {
		set := o.(*v1alpha1.ConfigMapReplicaSet)
		change(&set.Spec)
		set.Generation++
	})
}

// revision returns what the sources make now.
func (h *hub) revision() (render.Revision, plan.Present) {
	set, sources := h.set(), plan.Sources{}
	var contents []render.Content
	for _, ref := range set.Spec.ConfigMaps {
		if source, ok := h.Get("configmaps", "team-a", ref.Name).(*corev1.ConfigMap); ok {
			sources[ref.Name] = source
			contents = append(contents, render.ContentOf(source))
		}
	}
	return render.NewRevision(contents, set.Spec.Values), plan.NewPresent(set, sources)
}

// store stores the revision that the sources make, as the controller does: a former one gets the highest number.
func (h *hub) store() string {
	h.t.Helper()
	revision, _ := h.revision()
	data, hash, err := revision.Encode()
	if err != nil {
		h.t.Fatal(err)
	}
	set, name := h.set(), "settings-"+hash
	h.number++
	if h.Get("controllerrevisions", "team-a", name) != nil {
		h.Change("controllerrevisions", "team-a", name, func(o fakeapi.Object) { o.(*appsv1.ControllerRevision).Revision = h.number })
		return hash
	}
	h.Put("controllerrevisions", &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: name, CreationTimestamp: metav1.NewTime(start.Add(time.Duration(h.number) * time.Minute)),
			Labels:          map[string]string{manifests.ReplicaSetUIDLabel: string(set.UID), manifests.RevisionAnnotation: hash},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(set, v1alpha1.GroupVersion.WithKind("ConfigMapReplicaSet"))}},
		Data: data, Revision: h.number,
	})
	return hash
}

// report writes the status of the set, as the controller does.
func (h *hub) report(status metav1.ConditionStatus, reason, message string, change func(*v1alpha1.ConfigMapReplicaSetStatus)) {
	h.Change(resource, "team-a", "settings", func(o fakeapi.Object) {
		set := o.(*v1alpha1.ConfigMapReplicaSet)
		s := &set.Status
		s.ObservedGeneration = set.Generation
		if change != nil {
			change(s)
		}
		degraded := metav1.Condition{Type: v1alpha1.ConditionDegraded, Status: metav1.ConditionFalse, Reason: hubplan.ReasonAsExpected,
			Message: "nothing needs attention", ObservedGeneration: set.Generation}
		if slices.Contains([]string{hubplan.ReasonStopped, hubplan.ReasonSourcesInvalid}, reason) {
			degraded.Status, degraded.Reason, degraded.Message = metav1.ConditionTrue, reason, message
		}
		meta.SetStatusCondition(&s.Conditions, degraded)
		meta.SetStatusCondition(&s.Conditions, metav1.Condition{Type: v1alpha1.ConditionRolledOut, Status: status, Reason: reason, Message: message,
			ObservedGeneration: set.Generation})
	})
}

// rollOut stores the revision that the sources make, and reports it on every cluster.
func (h *hub) rollOut() string {
	hash := h.store()
	h.report(metav1.ConditionTrue, hubplan.ReasonRolledOut, "3 of 3 clusters have revision "+hash+" synced", func(s *v1alpha1.ConfigMapReplicaSetStatus) {
		s.UpdatedRevision, s.CurrentRevision = hash, hash
		s.Summary = v1alpha1.Summary{Total: 3, Updated: 3, Synced: 3}
	})
	return hash
}

// kubeconfig returns the path of a kubeconfig of the hub with the namespace team-a.
func (h *hub) kubeconfig() string {
	h.t.Helper()
	path := filepath.Join(h.t.TempDir(), "kubeconfig")
	text := `{apiVersion: v1, kind: Config, current-context: hub, contexts: [{name: hub, context: {cluster: hub, namespace: team-a}}],
		clusters: [{name: hub, cluster: {server: "` + h.Config().Host + `"}}]}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
	return path
}

// run runs "kubectl helloworld rollout" with these arguments.
func (h *hub) run(args ...string) (stdout, stderr string, err error) {
	h.t.Helper()
	var out bytes.Buffer
	stderr, err = h.runTo(&out, args...)
	return out.String(), stderr, err
}

// runTo runs it with another standard output.
func (h *hub) runTo(out io.Writer, args ...string) (stderr string, err error) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), 5*time.Minute)
	defer cancel()
	config := genericclioptions.NewConfigFlags(false)
	path := h.kubeconfig()
	config.KubeConfig = &path
	command := newCommand(options{config: config, clock: clock.RealClock{}, lookAgain: h.lookAgain})
	config.AddFlags(command.PersistentFlags())
	command.SilenceUsage, command.SilenceErrors = true, true
	var errs bytes.Buffer
	command.SetArgs(append([]string{}, args...)) // nil would be the test's own
	command.SetOut(out)
	command.SetErr(&errs)
	err = command.ExecuteContext(ctx)
	if ctx.Err() != nil {
		h.t.Fatalf("%v does not end", args)
	}
	return errs.String(), err
}

// writes returns the requests that write, so far. None of them may delete.
func (h *hub) writes() (writes []string) {
	h.t.Helper()
	for _, request := range h.Requests() {
		switch request.Verb {
		case "delete":
			h.t.Errorf("nothing may be deleted: %s", request)
		case "create", "update", "patch":
			writes = append(writes, strings.TrimSuffix(request.Verb+" "+request.Resource+" "+request.Name, " "))
		}
	}
	return writes
}

// expect compares an error with a part of its message; an empty one is no error.
func expect(t *testing.T, err error, want string) {
	t.Helper()
	if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		t.Errorf("error %v, want %q", err, want)
	}
}
