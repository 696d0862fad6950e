package syncer

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestDeletedAndCreatedBetweenLists: a watch that breaks sees of an object that was
// deleted and made anew only that it is another one. Nothing of the first is left.
func TestDeletedAndCreatedBetweenLists(t *testing.T) {
	var told []string
	o := newObjects(func(one object, cameOrWent bool) {
		if cameOrWent {
			told = append(told, string(one.UID))
		}
	})
	one := func(uid types.UID) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "x", UID: uid, ResourceVersion: string(uid)}}
	}
	o.handler().OnAdd(one("1"), true)
	o.learn("1", "1", "digest")
	o.handler().OnUpdate(one("1"), one("2"))
	if _, found := o.get("1"); found || len(o.byUID) != 1 || len(o.known) != 0 {
		t.Errorf("the first one is left: %v, known %v", o.byUID, o.known)
	}
	if now, found := o.named("ns", "x"); !found || now.UID != "2" {
		t.Errorf("the name is that of %v", now)
	}
	slices.Sort(told)
	if diff := cmp.Diff([]string{"1", "1", "2"}, told); diff != "" {
		t.Errorf("came or went (-want +got):\n%s", diff)
	}
}
