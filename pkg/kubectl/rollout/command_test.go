package rollout

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/internal/testing/fakeapi"
)

func TestSetName(t *testing.T) {
	for _, test := range []struct {
		arg, reason, want string
	}{
		{"settings", "a name", "settings"},
		{"cmrs/settings", "the short name", "settings"},
		{"configmapreplicaset/settings", "the kind", "settings"},
		{"ConfigMapReplicaSet/settings", "kubectl ignores case", "settings"},
		{"configmapreplicasets/settings", "the plural", "settings"},
		{"configmapreplicaset.helloworld.open-cluster-management.io/settings", "with the group, as printed", "settings"},
		{"configmapreplicasets.v1alpha1.helloworld.open-cluster-management.io/settings", "with version and group", "settings"},
		{"deployment/settings", "another kind", ""},
		{"cmrs.apps/settings", "another group", ""},
		{"cmrs/", "no name", ""},
		{"cmrs/a/b", "no name has a slash", ""},
	} {
		got, err := setName(test.arg)
		if got != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%s: %s: got %q, error %v", test.arg, test.reason, got, err)
		}
	}
}

// TestUsage: a wrong command line sends no request.
func TestUsage(t *testing.T) {
	h := newHub(t)
	for _, test := range []struct {
		reason, want string
		args         []string
	}{
		{"nothing is done for a command that does not exist", `unknown command "restart" for "rollout"`, []string{"restart", "settings"}},
		{"a set is named", "want one NAME of a ConfigMapReplicaSet, got 0", []string{"status"}},
		{"one set is named", "want one NAME of a ConfigMapReplicaSet, got 2: a b", []string{"pause", "a", "b"}},
		{"of this kind", `"deployment/a" does not name a ConfigMapReplicaSet`, []string{"pause", "deployment/a"}},
		{"no negative time", "--timeout=-1s: want no negative duration", []string{"status", "a", "--timeout=-1s"}},
		{"a format that is known", "--output=wide: want json or yaml", []string{"history", "a", "-o", "wide"}},
		{"a dry run that is known", "--dry-run=maybe: want none, client or server", []string{"undo", "a", "--dry-run=maybe"}},
	} {
		if _, _, err := h.run(test.args...); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %q", test.reason, err, test.want)
		}
	}
	if requests := h.Requests(); requests != nil {
		t.Errorf("requests: %v", requests)
	}
	if stdout, _, err := h.run(); err != nil || stdout == "" {
		t.Errorf("without a command it helps: %q, error %v", stdout, err)
	}
}

func TestPauseAndResume(t *testing.T) {
	h := newHub(t)
	for _, step := range []struct {
		args            []string
		stdout, problem string
		paused          bool
		writes          []string
	}{
		{[]string{"resume", "settings"}, "", `configmapreplicasets.helloworld.open-cluster-management.io "settings" is not paused`, false, nil},
		{[]string{"pause", "cmrs/settings"}, "configmapreplicaset.helloworld.open-cluster-management.io/settings paused\n", "", true, []string{"patch configmapreplicasets settings"}},
		{[]string{"pause", "settings"}, "", `configmapreplicasets.helloworld.open-cluster-management.io "settings" is already paused`, true, nil},
		{[]string{"resume", "settings"}, "configmapreplicaset.helloworld.open-cluster-management.io/settings resumed\n", "", false, []string{"patch configmapreplicasets settings"}},
		{[]string{"pause", "others"}, "", `get ConfigMapReplicaSet team-a/others: configmapreplicasets "others" not found`, false, nil},
		{[]string{"pause", "settings", "-n", "team-b"}, "", `get ConfigMapReplicaSet team-b/settings:`, false, nil},
	} {
		stdout, _, err := h.run(step.args...)
		expect(t, err, step.problem)
		if diff := cmp.Diff(step.writes, h.writes()); diff != "" || stdout != step.stdout || h.set().Spec.Paused != step.paused {
			t.Errorf("%v: stdout %q, paused %t, writes (-want +got):\n%s", step.args, stdout, h.set().Spec.Paused, diff)
		}
	}
}

// TestPauseOfAnother: the set that was looked at is paused, and no other one of its name.
func TestPauseOfAnother(t *testing.T) {
	h := newHub(t)
	read := 0
	h.After = func(r fakeapi.Request) *apiError {
		if r.Verb == "get" && read == 0 {
			read++
			again := h.set()
			h.Remove(resource, "team-a", "settings")
			h.Put(resource, again)
		}
		return nil
	}
	_, _, err := h.run("pause", "settings")
	expect(t, err, "patch ConfigMapReplicaSet team-a/settings: ")
	if h.set().Spec.Paused {
		t.Error("another set was paused")
	}
}

// TestNotServed: a hub without ConfigMapReplicaSets differs from a set that does not exist.
func TestNotServed(t *testing.T) {
	h := &hub{Server: fakeapi.New(), t: t}
	h.NotServed = v1alpha1.GroupVersion.Group
	h.Start()
	t.Cleanup(h.Close)
	for _, command := range []string{"status", "history", "pause", "resume", "undo"} {
		_, _, err := h.run(command, "settings")
		expect(t, err, "this hub does not serve ConfigMapReplicaSets: their controller is optional, see docs/install.md#distribution")
	}
}
