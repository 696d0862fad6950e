package memapi

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

func TestCreateRules(t *testing.T) {
	clusters(t, Options{}, func(t *testing.T, c *cluster) {
		ctx := t.Context()
		generated, err := c.kube.CoreV1().ConfigMaps("default").Create(ctx,
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "a-"}}, metav1.CreateOptions{})
		if err != nil || len(generated.Name) != len("a-")+5 {
			t.Errorf("generateName: name %q, %v, want 5 characters behind a-", generated.Name, err)
		}
		_, err = c.kube.CoreV1().ConfigMaps("nowhere").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
		if !apierrors.IsNotFound(err) {
			t.Errorf("create in a namespace that does not exist: %v, want not found", err)
		}
		_, err = c.kube.CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{}, metav1.CreateOptions{})
		if !apierrors.IsInvalid(err) {
			t.Errorf("create without a name: %v, want invalid", err)
		}
		dry, err := c.kube.CoreV1().ConfigMaps("default").Create(ctx, configMap("dry", nil), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil || dry.UID == "" {
			t.Errorf("dry run: UID %q, %v", dry.UID, err)
		}
		if _, err := c.kube.CoreV1().ConfigMaps("default").Get(ctx, "dry", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("get after a dry run: %v, want not found", err)
		}
		secret, err := c.kube.CoreV1().Secrets("default").Create(ctx,
			&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}, StringData: map[string]string{"k": "v"}}, metav1.CreateOptions{})
		if err != nil || string(secret.Data["k"]) != "v" || secret.StringData != nil {
			t.Errorf("stringData: %v, %v, want data", secret, err)
		}
		namespace, err := c.kube.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "new"}}, metav1.CreateOptions{})
		if err != nil || namespace.Status.Phase != corev1.NamespaceActive || namespace.Labels["kubernetes.io/metadata.name"] != "new" {
			t.Errorf("namespace: %+v, %v", namespace, err)
		}
		if _, err := c.kube.CoreV1().ServiceAccounts("new").Get(ctx, "default", metav1.GetOptions{}); err != nil {
			t.Errorf("the default ServiceAccount of a namespace: %v", err)
		}
		if _, err := c.kube.CoreV1().ConfigMaps("new").Get(ctx, "kube-root-ca.crt", metav1.GetOptions{}); err != nil {
			t.Errorf("the root CA of a namespace: %v", err)
		}
	})
}

func deployment(name, image string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: image}}},
			},
		},
	}
}

func job(name, image string) *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyOnFailure,
			Containers:    []corev1.Container{{Name: "main", Image: image}}}}},
	}
}

func TestGenerationAndStatus(t *testing.T) {
	// Nothing of the simulator writes the status of a ReplicaSet.
	clusters(t, Options{}, func(t *testing.T, c *cluster) {
		ctx, sets := t.Context(), c.kube.AppsV1().ReplicaSets("default")
		set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "r"}, Status: appsv1.ReplicaSetStatus{Replicas: 9}}
		r, err := sets.Create(ctx, set, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if r.Generation != 1 || r.Status.Replicas != 0 {
			t.Errorf("after create: generation %d, %d replicas, want 1 and no status", r.Generation, r.Status.Replicas)
		}
		r.Status.Replicas, r.Spec.MinReadySeconds = 2, 7
		if r, err = sets.UpdateStatus(ctx, r, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		if r.Generation != 1 || r.Status.Replicas != 2 || r.Spec.MinReadySeconds != 0 {
			t.Errorf("after an update of the status: %d, %+v, %+v, want only the status changed", r.Generation, r.Status, r.Spec)
		}
		r.Status.Replicas, r.Spec.MinReadySeconds = 3, 7
		if r, err = sets.Update(ctx, r, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		if r.Generation != 2 || r.Status.Replicas != 2 || r.Spec.MinReadySeconds != 7 {
			t.Errorf("after an update: %d, %+v, %+v, want generation 2 and the old status", r.Generation, r.Status, r.Spec)
		}
		r.Labels = map[string]string{"a": "b"}
		if r, err = sets.Update(ctx, r, metav1.UpdateOptions{}); err != nil || r.Generation != 2 {
			t.Errorf("after an update of labels: generation %d, %v, want 2", r.Generation, err)
		}
		r, err = sets.Patch(ctx, "r", types.MergePatchType, []byte(`{"spec":{"minReadySeconds":8},"status":{"replicas":4}}`), metav1.PatchOptions{}, "status")
		if err != nil || r.Status.Replicas != 4 || r.Spec.MinReadySeconds != 7 {
			t.Errorf("after a patch of the status: %+v, %+v, %v, want only the status changed", r.Status, r.Spec, err)
		}
		m, err := c.kube.CoreV1().ConfigMaps("default").Create(ctx, configMap("m", nil), metav1.CreateOptions{})
		if err != nil || m.Generation != 0 {
			t.Errorf("a ConfigMap: generation %d, %v, want none", m.Generation, err)
		}
		if _, err := c.kube.CoreV1().ConfigMaps("default").Patch(ctx, "m", types.MergePatchType, []byte(`{}`), metav1.PatchOptions{}, "status"); !apierrors.IsNotFound(err) {
			t.Errorf("the status of a ConfigMap: %v, want not found", err)
		}
	})
}

func TestPatch(t *testing.T) {
	rows := []struct {
		name, patch string
		kind        types.PatchType
		want        string // the keys and values of the data
		check       func(error) bool
	}{
		{name: "a JSON patch changes and removes", kind: types.JSONPatchType,
			patch: `[{"op":"replace","path":"/data/a","value":"2"},{"op":"remove","path":"/data/b"}]`, want: "a=2"},
		{name: "a JSON patch with a test that fails changes nothing", kind: types.JSONPatchType,
			patch: `[{"op":"test","path":"/data/a","value":"9"},{"op":"remove","path":"/data/b"}]`, check: apierrors.IsInvalid, want: "a=1 b=1"},
		{name: "a merge patch changes and removes", kind: types.MergePatchType, patch: `{"data":{"a":"2","b":null}}`, want: "a=2"},
		{name: "a strategic merge patch changes and removes", kind: types.StrategicMergePatchType, patch: `{"data":{"a":"2","b":null}}`, want: "a=2"},
		{name: "a patch of an old version is a conflict", kind: types.MergePatchType,
			patch: `{"metadata":{"resourceVersion":"1"},"data":{"a":"2"}}`, check: apierrors.IsConflict, want: "a=1 b=1"},
		{name: "a patch of another UID is a conflict", kind: types.MergePatchType,
			patch: `{"metadata":{"uid":"other"},"data":{"a":"2"}}`, check: apierrors.IsConflict, want: "a=1 b=1"},
		{name: "another media type is refused", kind: "application/other", patch: `{}`, check: apierrors.IsUnsupportedMediaType, want: "a=1 b=1"},
		{name: "metadata that is none is refused", kind: types.MergePatchType, patch: `{"metadata":{"labels":"a"}}`, check: apierrors.IsBadRequest, want: "a=1 b=1"},
	}
	clusters(t, Options{}, func(t *testing.T, c *cluster) {
		ctx, maps := t.Context(), c.kube.CoreV1().ConfigMaps("default")
		for _, row := range rows {
			if _, err := maps.Create(ctx, configMap("p", map[string]string{"a": "1", "b": "1"}), metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			_, err := maps.Patch(ctx, "p", row.kind, []byte(row.patch), metav1.PatchOptions{})
			if (err != nil) != (row.check != nil) || err != nil && !row.check(err) {
				t.Errorf("%s: error %v", row.name, err)
			}
			got, err := maps.Get(ctx, "p", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if text := dataText(got); text != row.want {
				t.Errorf("%s: %s, want %s", row.name, text, row.want)
			}
			if err := maps.Delete(ctx, "p", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func dataText(m *corev1.ConfigMap) string {
	text := ""
	for _, key := range []string{"a", "b", "c"} {
		if value, ok := m.Data[key]; ok {
			text += " " + key + "=" + value
		}
	}
	return text[min(1, len(text)):]
}

func TestStrategicMergePatch(t *testing.T) {
	clusters(t, Options{}, func(t *testing.T, c *cluster) {
		ctx, sets := t.Context(), c.kube.AppsV1().Deployments("default")
		if _, err := sets.Create(ctx, deployment("d", "image:1"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		patch := `{"spec":{"template":{"spec":{"containers":[{"name":"second","image":"image:2"}]}}}}`
		d, err := sets.Patch(ctx, "d", types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{})
		if err != nil || len(d.Spec.Template.Spec.Containers) != 2 {
			t.Errorf("a container added by its name: %+v, %v, want 2", d.Spec.Template.Spec.Containers, err)
		}
		works := c.dynamic.Resource(schema.GroupVersionResource{Group: "work.open-cluster-management.io", Version: "v1", Resource: "appliedmanifestworks"})
		if _, err := works.Create(ctx, object("work.open-cluster-management.io/v1", "AppliedManifestWork", "w", nil), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := works.Patch(ctx, "w", types.StrategicMergePatchType, []byte(`{}`), metav1.PatchOptions{}); !apierrors.IsUnsupportedMediaType(err) {
			t.Errorf("a strategic merge patch of a custom resource: %v, want unsupported media type", err)
		}
	})
}

func TestImmutable(t *testing.T) {
	clusters(t, Options{}, func(t *testing.T, c *cluster) {
		ctx := t.Context()
		j, err := c.kube.BatchV1().Jobs("default").Create(ctx, job("j", "image:1"), metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		patch := `{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"image:2"}]}}}}`
		if _, err := c.kube.BatchV1().Jobs("default").Patch(ctx, j.Name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}); !apierrors.IsInvalid(err) {
			t.Errorf("another template of a Job: %v, want invalid", err)
		}
		frozen := configMap("frozen", map[string]string{"a": "1"})
		immutable := true
		frozen.Immutable = &immutable
		if _, err := c.kube.CoreV1().ConfigMaps("default").Create(ctx, frozen, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := c.kube.CoreV1().ConfigMaps("default").Patch(ctx, "frozen", types.MergePatchType, []byte(`{"data":{"a":"2"}}`), metav1.PatchOptions{}); !apierrors.IsInvalid(err) {
			t.Errorf("other data of an immutable ConfigMap: %v, want invalid", err)
		}
	})
}
