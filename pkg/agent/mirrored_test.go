package agent

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/internal/testing/fakeapi"
	"open-cluster-management.io/helloworld-addon/internal/testing/runtest"
	"open-cluster-management.io/helloworld-addon/manifests"
)

// newMirror is the object in which the agent reports, as the controller creates it.
func newMirror() *v1alpha1.ConfigMapMirror {
	return &v1alpha1.ConfigMapMirror{ObjectMeta: metav1.ObjectMeta{Name: "helloworld", Namespace: "cluster1"}}
}

// status is "synced of total: entries", empty where there is no object.
func (p *pair) status() string {
	mirror, ok := p.hub.Get("configmapmirrors", "cluster1", "helloworld").(*v1alpha1.ConfigMapMirror)
	if !ok {
		return ""
	}
	if mirror.Status == nil {
		return "no report"
	}
	status := fmt.Sprintf("%d of %d:", mirror.Status.Synced, mirror.Status.Total)
	for _, entry := range mirror.Status.ConfigMaps {
		status += strings.TrimSuffix(fmt.Sprintf(" %s %s %s", entry.Name, entry.State, entry.Revision), " ")
	}
	return status
}

// mirrored waits for a status.
func (p *pair) mirrored(want string) {
	p.t.Helper()
	runtest.Eventually(p.t, want, func() bool { return p.status() == want }, p.status)
}

func (p *pair) revision(name, revision string) {
	p.hub.Put("configmaps", &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "cluster1",
		Annotations: map[string]string{manifests.RevisionAnnotation: revision}}})
}

// TestRevisionIsReported: also one with the content of the former revision, which changes no copy.
func TestRevisionIsReported(t *testing.T) {
	p := newPair(t)
	p.hub.Put("managedclusteraddons", enabled())
	p.source("plain")
	p.revision("a", "r1")
	p.start()
	p.mirrored("2 of 2: a Synced r1")
	copied := p.managed.Get("configmaps", "default", "a")
	if _, ok := copied.GetAnnotations()[manifests.RevisionAnnotation]; ok {
		t.Error("the annotation of the revision is copied")
	}
	p.revision("a", "r2")
	p.mirrored("2 of 2: a Synced r2")
	if got := p.managed.Get("configmaps", "default", "a"); got.GetResourceVersion() != copied.GetResourceVersion() {
		t.Error("a revision with the same content writes the copy")
	}
}

// TestNoConfigMapsIsReported: a cluster without ConfigMaps can be told from one that does not report.
func TestNoConfigMapsIsReported(t *testing.T) {
	p := newPair(t)
	p.hub.Put("managedclusteraddons", enabled())
	p.start()
	p.mirrored("0 of 0:")
	p.source("a")
	p.mirrored("1 of 1:")
	p.hub.Remove("configmaps", "cluster1", "a")
	p.mirrored("0 of 0:")
}

// TestRestoredHub: the agent lists a hub anew that was restored from a backup, and reads what it reported.
func TestRestoredHub(t *testing.T) {
	p := newPair(t)
	p.hub.Put("managedclusteraddons", enabled())
	p.revision("a", "r1")
	p.start()
	p.mirrored("1 of 1: a Synced r1")
	former := newMirror()
	former.Status = &v1alpha1.ConfigMapMirrorStatus{Total: 7}
	p.hub.Put("configmapmirrors", former)
	p.hub.Forget()
	p.hub.EndWatches()
	p.mirrored("1 of 1: a Synced r1")
}

// TestReportComesBack: when another client deletes the object and the controller creates it again.
func TestReportComesBack(t *testing.T) {
	p := newPair(t)
	p.hub.Put("managedclusteraddons", enabled())
	p.revision("a", "r1")
	p.start()
	p.mirrored("1 of 1: a Synced r1")
	p.hub.Remove("configmapmirrors", "cluster1", "helloworld")
	p.hub.Put("configmapmirrors", newMirror())
	p.revision("b", "r1")
	p.mirrored("2 of 2: a Synced r1 b Synced r1")
}

// TestMirrorsWithoutReport: a hub without the object, its CRD or the agent's right has all the
// rest, and gets few requests.
func TestMirrorsWithoutReport(t *testing.T) {
	for name, prepare := range map[string]func(p *pair){
		"no object": func(p *pair) { p.hub.Remove("configmapmirrors", "cluster1", "helloworld") },
		"no right": func(p *pair) {
			p.hub.Before = func(r fakeapi.Request) *apierrors.StatusError {
				if strings.HasPrefix(r.Resource, "configmapmirrors") {
					return apierrors.NewForbidden(schema.GroupResource{Resource: r.Resource}, r.Name, nil)
				}
				return nil
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t)
			prepare(p)
			p.hub.Put("managedclusteraddons", enabled())
			p.source("a")
			p.start()
			runtest.Eventually(t, "copied", func() bool { return p.copied("a") })
			p.reports("True/Synced: 1 of 1 ConfigMaps synced")
			tried := 0
			runtest.Eventually(t, "tried", func() bool {
				for _, r := range p.hub.Requests() {
					if strings.HasPrefix(r.Resource, "configmapmirrors") {
						tried++
					}
				}
				return tried > 0
			})
			if code, body := runtest.Get(p.metrics, "/readyz"); code != http.StatusOK || tried > 2 {
				t.Errorf("ready: %d %s; tried %d times at once", code, body, tried)
			}
		})
	}
}
