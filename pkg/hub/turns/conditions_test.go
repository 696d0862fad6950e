package turns

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	addonfake "open-cluster-management.io/api/client/addon/clientset/versioned/fake"
	addonlisters "open-cluster-management.io/api/client/addon/listers/addon/v1beta1"
)

// conditioned returns the add-on in version 10 with these conditions.
func conditioned(conditions ...metav1.Condition) *addonv1beta1.ManagedClusterAddOn {
	object := addOn("10")
	object.Status.Conditions = conditions
	return object
}

func condition(kind, status string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: metav1.ConditionStatus(status), Reason: "Test"}
}

// TestOnlyConditions applies the JSON patch for a merge patch to what another writer has
// made of the add-on.
func TestOnlyConditions(t *testing.T) {
	const head = `{"metadata":{"uid":"uid","resourceVersion":"10"},"status":{`
	const written = head + `"conditions":[{"type":"A","status":"True","reason":"Test","message":"","lastTransitionTime":null},` +
		`{"type":"B","status":"False","reason":"Test","message":"","lastTransitionTime":null},` +
		`{"type":"C","status":"True","reason":"Test","message":"","lastTransitionTime":null}]}}`
	before := conditioned(condition("A", "True"), condition("B", "True"))
	tests := []struct {
		name, reason string
		live         *addonv1beta1.ManagedClusterAddOn
		want         []string // nil: refused
	}{
		{"unchanged", "", before, []string{"A=True", "B=False", "C=True"}},
		{"another condition was changed", "it is another writer's", conditioned(condition("A", "False"), condition("B", "True")), []string{"A=False", "B=False", "C=True"}},
		{"a condition was added", "", conditioned(condition("A", "True"), condition("B", "True"), condition("D", "True")), []string{"A=True", "B=False", "D=True", "C=True"}},
		{"the same condition was changed", "the decision was based on another value", conditioned(condition("A", "True"), condition("B", "Unknown")), nil},
		{"the order was changed", "", conditioned(condition("B", "True"), condition("A", "True")), nil},
		{"another add-on", "", func() *addonv1beta1.ManagedClusterAddOn {
			other := before.DeepCopy()
			other.UID = "other"
			return other
		}(), nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			patch, ok := onlyConditions(before, types.MergePatchType, []byte(written), []string{"status"})
			if !ok {
				t.Fatal("there is no patch")
			}
			operations, err := jsonpatch.DecodePatch(patch)
			if err != nil {
				t.Fatal(err)
			}
			live, err := json.Marshal(test.live)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			if applied, err := operations.Apply(live); err == nil {
				var object addonv1beta1.ManagedClusterAddOn
				if err := json.Unmarshal(applied, &object); err != nil {
					t.Fatal(err)
				}
				for _, c := range object.Status.Conditions {
					got = append(got, c.Type+"="+string(c.Status))
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
	for name, other := range map[string]string{
		"another field":         head + `"namespace":"x","conditions":[]}}`,
		"a field beside them":   head + `"namespace":"x","conditions":[{"type":"A"},{"type":"B"}]}}`,
		"and the spec":          `{"metadata":{"uid":"uid","resourceVersion":"10"},"spec":{},"status":{"conditions":[{"type":"A"},{"type":"B"}]}}`,
		"no conditions":         head + `"namespace":"x"}}`,
		"of another version":    `{"metadata":{"uid":"uid","resourceVersion":"9"},"status":{"conditions":[{"type":"A"},{"type":"B"}]}}`,
		"without a version":     `{"metadata":{"uid":"uid"},"status":{"conditions":[{"type":"A"},{"type":"B"}]}}`,
		"and a label":           `{"metadata":{"uid":"uid","resourceVersion":"10","labels":{}},"status":{"conditions":[{"type":"A"},{"type":"B"}]}}`,
		"a condition less":      head + `"conditions":[{"type":"A"}]}}`,
		"in another order":      head + `"conditions":[{"type":"B"},{"type":"A"}]}}`,
		"all conditions less":   head + `"conditions":null}}`,
		"not an object, broken": `[`,
	} {
		if patch, ok := onlyConditions(before, types.MergePatchType, []byte(other), []string{"status"}); ok {
			t.Errorf("%s: patched by %s", name, patch)
		}
	}
	if _, ok := onlyConditions(before, types.MergePatchType, []byte(written), nil); ok {
		t.Error("a patch without subresource is one of the status")
	}
}

// TestPatchOfConditions: a patch of conditions is sent as JSON patch, and as it is when
// the API server refuses that.
func TestPatchOfConditions(t *testing.T) {
	for _, refused := range []bool{false, true} {
		indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
		if err := indexer.Add(conditioned(condition("A", "True"))); err != nil {
			t.Fatal(err)
		}
		turns := New(addonlisters.NewManagedClusterAddOnLister(indexer), clocktesting.NewFakeClock(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)))
		hub := addonfake.NewSimpleClientset(conditioned(condition("A", "True")))
		hub.PrependReactor("patch", "managedclusteraddons", func(action clienttesting.Action) (bool, runtime.Object, error) {
			isJSON := action.(clienttesting.PatchAction).GetPatchType() == types.JSONPatchType
			return refused && isJSON, nil, apierrors.NewInvalid(schema.GroupKind{}, "helloworld", nil)
		})
		set(t, turns, turns.Client(hub).AddonV1beta1().ManagedClusterAddOns("cluster1"), "B")
		var sent []types.PatchType
		for _, action := range hub.Actions() {
			sent = append(sent, action.(clienttesting.PatchAction).GetPatchType())
		}
		want := []types.PatchType{types.JSONPatchType}
		if refused {
			want = append(want, types.MergePatchType)
		}
		if diff := cmp.Diff(want, sent); diff != "" || !turns.Confirmed("cluster1", "uid") {
			t.Errorf("refused: %t; recorded: %t; sent (-want +got):\n%s", refused, turns.Confirmed("cluster1", "uid"), diff)
		}
	}
}
