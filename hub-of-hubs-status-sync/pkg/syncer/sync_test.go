package syncer

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/syncer/plan"
)

// live is an API server that has objects by name, with their uid.
type live map[string]types.UID

var errAway = errors.New("away")

func (l live) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	uid, found := l[key.Name]
	switch {
	case !found:
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	case uid == "away":
		return errAway
	}
	object := into.(*unstructured.Unstructured)
	object.SetName(key.Name)
	object.SetUID(uid)
	object.SetResourceVersion("9")
	return nil
}

func (l live) List(context.Context, client.ObjectList, ...client.ListOption) error { return errAway }

// TestObserve: what is read is the object that the watch knows, and not another one
// that has taken its name in the meantime: its rows would be another's.
func TestObserve(t *testing.T) {
	k := &kindSyncer{live: live{"there": "uid", "anew": "another", "gone-again": "another", "away": "away"},
		objects: newObjects(func(plan.Object, bool) {})}
	k.objects.learn("known", "3", "digest")
	for _, c := range []struct {
		name string
		all  []plan.Object
		want []string
		err  error
	}{
		{"as the watch has it", []plan.Object{{Name: "there", UID: "uid"}}, []string{"there uid 9"}, nil},
		{"known: no request", []plan.Object{{Name: "away", UID: "known", ResourceVersion: "3"}}, []string{"away known 3"}, nil},
		{"made anew under its name", []plan.Object{{Name: "anew", UID: "uid"}}, nil, nil},
		{"gone", []plan.Object{{Name: "nowhere", UID: "uid"}}, nil, nil},
		{"no answer is no absence", []plan.Object{{Name: "there", UID: "uid"}, {Name: "away", UID: "uid"}}, nil, errAway},
	} {
		t.Run(c.name, func(t *testing.T) {
			present, err := k.observe(t.Context(), c.all)
			if !errors.Is(err, c.err) {
				t.Errorf("error %v", err)
			}
			var got []string
			for _, p := range present {
				got = append(got, fmt.Sprintf("%s %s %s", p.Name, p.UID, p.ResourceVersion))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestReasons: how failures are counted, and which of them make a status smaller.
func TestReasons(t *testing.T) {
	resource := schema.GroupResource{Resource: "policies"}
	for _, c := range []struct {
		name   string
		err    error
		reason string
		large  bool
	}{
		{"another writer was faster", apierrors.NewConflict(resource, "p", errAway), reasonConflict, false},
		{"it went", apierrors.NewNotFound(resource, "p"), reasonConflict, false},
		{"it came", apierrors.NewAlreadyExists(resource, "p"), reasonConflict, false},
		{"forbidden", apierrors.NewForbidden(resource, "p", errAway), reasonAPI, false},
		{"refused by the API server", apierrors.NewRequestEntityTooLargeError("limit is 3145728"), reasonAPI, true},
		{"refused by etcd", apierrors.NewGenericServerResponse(http.StatusInternalServerError, "patch", resource, "p",
			"etcdserver: request is too large", 0, true), reasonAPI, true},
		{"a row", &failure{reasonRow, errAway}, reasonRow, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := errors.Join(fmt.Errorf("update: %w", c.err))
			if got := reasonOf(err); got != c.reason {
				t.Errorf("counted as %s, not %s", got, c.reason)
			}
			if plan.TooLarge(err) != c.large {
				t.Errorf("too large: %v", !c.large)
			}
		})
	}
}

// TestOwns: an object that another process created for the same owner is not
// foreign.
func TestOwns(t *testing.T) {
	owned := &kindSyncer{entry: status.Entry{Creates: true, Owner: schema.GroupVersionKind{Kind: "Placement"}}}
	owner := plan.Object{UID: "owner"}
	if !owned.owns(owner, plan.Object{Owner: "owner"}) || owned.owns(owner, plan.Object{Owner: "other"}) || owned.owns(owner, plan.Object{}) {
		t.Error("only the objects with the owner as controller are owned")
	}
	if unowned := (&kindSyncer{entry: status.Entry{Creates: true}}); !unowned.owns(plan.Object{}, plan.Object{}) {
		t.Error("an object of a kind without owners is foreign")
	}
}
