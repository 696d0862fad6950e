package node

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/helloworld-addon/sandbox/node/plan"
)

// askMetrics returns the answer to a request of the user.
func askMetrics(b *bench, m metricsAPI, user, path string) *httptest.ResponseRecorder {
	request := httptest.NewRequest(http.MethodGet, metricsPath+path, http.NoBody)
	request.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{{Subject: pkix.Name{CommonName: user}}}}
	answer := httptest.NewRecorder()
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.handler().ServeHTTP(answer, request)
	}()
	b.until("there is an answer", func() error {
		if b.clock.Waiters() > 1 { // the request and the worker
			b.clock.Step(metricsWindow)
		}
		select {
		case <-done:
			return nil
		default:
			return errors.New("not yet")
		}
	})
	return answer
}

func TestMetrics(t *testing.T) {
	pod := appPod()
	pod.Labels = map[string]string{"app": "a"}
	pod.Spec.InitContainers = []corev1.Container{{Name: "done", Image: "app"}}
	pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "c1", Image: "app"})
	b := newBench(t, pod)
	b.run()
	b.until("the init container runs", b.starts(1))
	b.runtime.last().exit <- plan.Exit{}
	b.until("all run", b.starts(3))
	b.until("all are published", func() error {
		if _, live := b.worker.running(); len(live) != 2 || b.clock.Waiters() != 1 {
			return errors.New("not yet")
		}
		return nil
	})
	p := &provider{shared: b.worker.shared, workers: map[types.UID]*worker{"u": b.worker}}
	m := metricsAPI{p, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker"}}}
	of := func(name string) map[string]string {
		return map[string]string{"name": name, "cpu": "500m", "memory": "1Mi"}
	}
	both := []map[string]string{of("c0"), of("c1")}
	for _, c := range []struct {
		path string
		code int
		want []map[string]string
		why  string
	}{
		{"/pods", 200, both, "all, without the init container that has ended"},
		{"/namespaces/ns/pods?labelSelector=app%3Da", 200, both, "selected"},
		{"/namespaces/ns/pods/p", 200, both, "by name"},
		{"/namespaces/other/pods", 200, nil, "of another namespace"},
		{"/pods?labelSelector=app%3Db", 200, nil, "by other labels"},
		{"/pods?labelSelector=(", 400, nil, "a bad selector"},
		{"/pods?fieldSelector=metadata.name%3Dq", 200, nil, "by another name"},
		{"/namespaces/ns/pods/q", 404, nil, "none of the name"},
		{"/nodes", 200, []map[string]string{{"cpu": "1", "memory": "2Mi"}}, "the sum"},
		{"/nodes/worker", 200, []map[string]string{{"cpu": "1", "memory": "2Mi"}}, "by name"},
		{"/nodes/other", 404, nil, "none of the name"},
	} {
		answer := askMetrics(b, m, FrontProxy, c.path)
		if diff := cmp.Diff(c.want, usagesIn(t, answer)); answer.Code != c.code || diff != "" {
			t.Errorf("%s: code %d, want %d: %s\n%s", c.path, answer.Code, c.code, c.why, diff)
		}
	}
	if answer := askMetrics(b, m, "system:admin", "/pods"); answer.Code != http.StatusForbidden {
		t.Errorf("another user gets code %d", answer.Code)
	}
	if answer := askMetrics(b, m, FrontProxy, ""); answer.Code != http.StatusOK || answer.Body.Len() < 100 {
		t.Errorf("discovery: %d, %s", answer.Code, answer.Body)
	}
}

// usagesIn returns the usages in a list or an object, by container or of a node.
func usagesIn(t *testing.T, answer *httptest.ResponseRecorder) []map[string]string {
	t.Helper()
	type usage struct {
		Name  string
		Usage map[string]string
	}
	type item struct {
		Usage      map[string]string
		Containers []usage
	}
	var got struct {
		item
		Items []item
	}
	if err := json.Unmarshal(answer.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	var out []map[string]string
	for _, i := range append(got.Items, got.item) {
		if i.Usage != nil {
			out = append(out, i.Usage)
		}
		for _, c := range i.Containers {
			c.Usage["name"] = c.Name
			out = append(out, c.Usage)
		}
	}
	return out
}
