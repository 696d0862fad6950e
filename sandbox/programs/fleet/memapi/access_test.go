package memapi

import (
	"net/http"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	testclock "k8s.io/utils/clock/testing"
	work "open-cluster-management.io/api/client/work/clientset/versioned"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

func TestTokenIsRequired(t *testing.T) {
	s := NewServer(Options{})
	s.Add(t.Context(), "fleet-0001")
	config := remote(t, s, "fleet-0001")
	for _, row := range []struct {
		name, token, path string
		want              int
	}{
		{"the token", testToken, "/clusters/fleet-0001/api/v1/namespaces", http.StatusOK},
		{"no token", "", "/clusters/fleet-0001/api/v1/namespaces", http.StatusUnauthorized},
		{"another token", testToken + "x", "/clusters/fleet-0001/api/v1/namespaces", http.StatusUnauthorized},
		{"no token for the workloads", "", "/fleet/workloads", http.StatusUnauthorized},
		{"no token for the watch", "", "/fleet/watch?resource=configmaps", http.StatusUnauthorized},
		{"the token, for a cluster that is not there", testToken, "/clusters/fleet-0002/api/v1/namespaces", http.StatusNotFound},
		{"the token, for a watch of nothing", testToken, "/fleet/watch", http.StatusBadRequest},
	} {
		c := rest.CopyConfig(config)
		c.BearerToken = row.token
		client, err := rest.HTTPClientFor(c)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Get(base(config) + row.path)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != row.want {
			t.Errorf("%s: %d, want %d", row.name, response.StatusCode, row.want)
		}
		if row.token == testToken && response.ProtoMajor != 2 {
			t.Errorf("%s: %s, want HTTP/2", row.name, response.Proto)
		}
	}
}

func TestPaths(t *testing.T) {
	const node, review = `{"metadata":{"name":"n"}}`, `{"spec":{}}`
	rows := []struct {
		name, method, path, body string
		want                     int
	}{
		{"an object", http.MethodGet, "/api/v1/namespaces/default/configmaps/kube-root-ca.crt", "", http.StatusOK},
		{"the objects of all namespaces", http.MethodGet, "/api/v1/configmaps", "", http.StatusOK},
		{"a namespace", http.MethodGet, "/api/v1/namespaces/default", "", http.StatusOK},
		{"the status of a namespace", http.MethodGet, "/api/v1/namespaces/default/status", "", http.StatusOK},
		{"an object in no namespace", http.MethodGet, "/api/v1/configmaps/kube-root-ca.crt", "", http.StatusNotFound},
		{"create in no namespace", http.MethodPost, "/api/v1/configmaps", node, http.StatusBadRequest},
		{"a cluster-scoped kind in a namespace", http.MethodPost, "/api/v1/namespaces/default/nodes", node, http.StatusNotFound},
		{"a cluster-scoped kind", http.MethodPost, "/api/v1/nodes", node, http.StatusCreated},
		{"a resource that is not there", http.MethodGet, "/api/v1/gadgets", "", http.StatusNotFound},
		{"a subresource that is not there", http.MethodGet, "/api/v1/namespaces/default/pods/p/log", "", http.StatusNotFound},
		{"another path", http.MethodGet, "/metrics", "", http.StatusNotFound},
		{"a method of one object for all", http.MethodPut, "/api/v1/nodes", node, http.StatusMethodNotAllowed},
		{"a method of all for one object", http.MethodPost, "/api/v1/nodes/n", node, http.StatusMethodNotAllowed},
		{"a review", http.MethodPost, "/apis/authorization.k8s.io/v1/subjectaccessreviews", review, http.StatusCreated},
		{"a list of reviews", http.MethodGet, "/apis/authorization.k8s.io/v1/subjectaccessreviews", "", http.StatusMethodNotAllowed},
		{"a watch of reviews", http.MethodGet, "/apis/authorization.k8s.io/v1/subjectaccessreviews?watch=true", "", http.StatusMethodNotAllowed},
		{"a body that is no object", http.MethodPost, "/api/v1/nodes", "[]", http.StatusBadRequest},
		{"a body of another kind", http.MethodPost, "/api/v1/nodes", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"n"}}`, http.StatusBadRequest},
	}
	clusters(t, Options{}, func(t *testing.T, c *cluster) {
		for _, row := range rows {
			status := 0
			client := c.kube.Discovery().RESTClient()
			client.Verb(row.method).RequestURI(row.path).Body([]byte(row.body)).Do(t.Context()).StatusCode(&status)
			if status != row.want {
				t.Errorf("%s: %d, want %d", row.name, status, row.want)
			}
		}
	})
}

func TestProtobuf(t *testing.T) {
	clusters(t, Options{}, func(t *testing.T, c *cluster) {
		ctx := t.Context()
		config := rest.CopyConfig(c.config)
		config.ContentType = runtime.ContentTypeProtobuf
		config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
		kube, err := kubernetes.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		m, err := kube.CoreV1().ConfigMaps("default").Create(ctx, configMap("a", map[string]string{"a": "1"}), metav1.CreateOptions{})
		if err != nil || m.Data["a"] != "1" {
			t.Fatalf("create: %v, %v", m, err)
		}
		m.Data["a"] = "2"
		if m, err = kube.CoreV1().ConfigMaps("default").Update(ctx, m, metav1.UpdateOptions{}); err != nil || m.Data["a"] != "2" {
			t.Errorf("update: %v, %v", m, err)
		}
		holder := "me"
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "l"}, Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, RenewTime: &metav1.MicroTime{Time: time.Unix(1_700_000_000, 1000)}}}
		l, err := kube.CoordinationV1().Leases("default").Create(ctx, lease, metav1.CreateOptions{})
		if err != nil || *l.Spec.HolderIdentity != holder || !l.Spec.RenewTime.Equal(lease.Spec.RenewTime) {
			t.Errorf("lease: %v, %v", l, err)
		}
		event := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: "e"}, Reason: "Tested"}
		if _, err := kube.CoreV1().Events("default").Create(ctx, event, metav1.CreateOptions{}); err != nil {
			t.Errorf("event: %v", err)
		}
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "get", Resource: "pods"}}}
		if r, err := kube.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{}); err != nil || !r.Status.Allowed {
			t.Errorf("review: %v, %v, want allowed", r, err)
		}
		err = kube.CoreV1().ConfigMaps("default").Delete(ctx, "a", *metav1.NewPreconditionDeleteOptions("other"))
		if !apierrors.IsConflict(err) {
			t.Errorf("delete of another UID: %v, want a conflict", err)
		}
		if err := kube.CoreV1().ConfigMaps("default").Delete(ctx, "a", *metav1.NewPreconditionDeleteOptions(string(m.UID))); err != nil {
			t.Errorf("delete: %v", err)
		}
	})
}

func TestClientsOfOCM(t *testing.T) {
	clusters(t, Options{}, func(t *testing.T, c *cluster) {
		ctx := t.Context()
		works, err := work.NewForConfig(c.config)
		if err != nil {
			t.Fatal(err)
		}
		w, err := works.WorkV1().AppliedManifestWorks().Create(ctx,
			&workv1.AppliedManifestWork{ObjectMeta: metav1.ObjectMeta{Name: "w"}, Spec: workv1.AppliedManifestWorkSpec{HubHash: "h"}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		w.Status.AppliedResources = []workv1.AppliedManifestResourceMeta{{Version: "v1"}}
		if w, err = works.WorkV1().AppliedManifestWorks().UpdateStatus(ctx, w, metav1.UpdateOptions{}); err != nil || len(w.Status.AppliedResources) != 1 {
			t.Errorf("status: %v, %v", w, err)
		}

		extensions, err := apiextensions.NewForConfig(c.config)
		if err != nil {
			t.Fatal(err)
		}
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(crd().Object, definition); err != nil {
			t.Fatal(err)
		}
		if _, err := extensions.ApiextensionsV1().CustomResourceDefinitions().Create(ctx, definition, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}

		client, err := rest.HTTPClientFor(c.config)
		if err != nil {
			t.Fatal(err)
		}
		mapper, err := apiutil.NewDynamicRESTMapper(c.config, client)
		if err != nil {
			t.Fatal(err)
		}
		for kind, want := range map[schema.GroupKind]string{
			{Kind: "ConfigMap"}:                    "configmaps",
			{Group: "apps", Kind: "Deployment"}:    "deployments",
			{Group: "example.com", Kind: "Gadget"}: "gadgets",
		} {
			if mapping, err := mapper.RESTMapping(kind); err != nil || mapping.Resource.Resource != want {
				t.Errorf("mapping of %s: %v, %v, want %s", kind, mapping, err, want)
			}
		}
	})
}

func TestEventsExpire(t *testing.T) {
	fake := asyncClock{testclock.NewFakeClock(time.Unix(1_700_000_000, 0))}
	clusters(t, Options{Clock: fake}, func(t *testing.T, c *cluster) {
		events := c.kube.CoreV1().Events("default")
		for _, name := range []string{"first", "second"} {
			if _, err := events.Create(t.Context(), &corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			fake.Step(eventLife + time.Second)
		}
		list, err := events.List(t.Context(), metav1.ListOptions{})
		if err != nil || len(list.Items) != 1 || list.Items[0].Name != "second" {
			t.Errorf("events: %v, %v, want only the second", list, err)
		}
	})
}
