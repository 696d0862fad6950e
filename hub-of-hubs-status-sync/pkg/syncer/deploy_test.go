package syncer

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

const deployDir = "../../deploy/sync"

// TestTemplateIsTheSame: what envsubst makes of the template is what kustomize
// makes of the files beside it, but for the image and the namespace, which each
// user gives in their own way.
func TestTemplateIsTheSame(t *testing.T) {
	template := read(t, "../operator.yaml.template")
	filled := os.Expand(template, func(name string) string {
		value, found := map[string]string{"COMPONENT": Program, "REGISTRY": "quay.io/open-cluster-management", "IMAGE_TAG": "v0.1.0"}[name]
		if !found {
			t.Errorf("the template has a variable %s that users do not know", name)
		}
		return value
	})
	var kustomization struct{ Resources []string }
	parse(t, read(t, "kustomization.yaml"), &kustomization)
	var files []string
	for _, name := range kustomization.Resources {
		files = append(files, read(t, name))
	}
	if diff := cmp.Diff(documents(t, strings.Join(files, "---\n")), documents(t, filled)); diff != "" {
		t.Errorf("the template is not the files' equal (-files +template):\n%s", diff)
	}
}

// documents are those of a file, without their namespaces.
func documents(t *testing.T, text string) []map[string]any {
	t.Helper()
	var all []map[string]any
	for _, part := range strings.Split(text, "---\n") {
		var document map[string]any
		parse(t, part, &document)
		if len(document) == 0 {
			continue
		}
		delete(document["metadata"].(map[string]any), "namespace")
		all = append(all, document)
	}
	return all
}

// TestRoleIsLeast: the role has what the entries need and nothing else, so that
// a new entry without its right, or a right without its entry, is noticed.
func TestRoleIsLeast(t *testing.T) {
	want := map[string][]string{
		"authentication.k8s.io/tokenreviews":            {"create"},
		"authorization.k8s.io/subjectaccessreviews":     {"create"},
		"events.k8s.io/events":                          {"create", "patch"},
		"apps.open-cluster-management.io/subscriptions": {"list", "watch"},
	}
	owners := map[string]string{"Placement": "placements", "Subscription": "subscriptions"}
	for _, entry := range status.Entries() {
		name := entry.Object.Group + "/" + entry.Resource
		verbs := []string{"get", "list", "watch"}
		if entry.Creates {
			verbs = append(verbs, "create")
		}
		if entry.Creates && !entry.Owner.Empty() {
			verbs = append(verbs, "patch", "delete")
			want[entry.Owner.Group+"/"+owners[entry.Owner.Kind]+"/finalizers"] = []string{"update"}
		}
		if entry.Subresource {
			want[name+"/status"] = []string{"patch"}
		}
		if entry.Creates && entry.Owner.Empty() {
			verbs[0], want[name+"/status"] = "get helloworld", []string{"patch helloworld"}
		}
		slices.Sort(verbs)
		want[name] = verbs
	}
	if diff := cmp.Diff(want, rightsOf(t, "ClusterRole")); diff != "" {
		t.Errorf("rights (-needed +given):\n%s", diff)
	}
	if diff := cmp.Diff(map[string][]string{
		"coordination.k8s.io/leases": {"create", "get hub-of-hubs-status-sync-lock", "update hub-of-hubs-status-sync-lock"},
		"apps/deployments":           {"list"},
		"/events":                    {"create", "patch"},
	}, rightsOf(t, "Role")); diff != "" {
		t.Errorf("rights in its own namespace (-needed +given):\n%s", diff)
	}
}

// rightsOf returns the verbs of the role of a kind, by group and resource. A verb is followed by the names
// that it is limited to.
func rightsOf(t *testing.T, kind string) map[string][]string {
	t.Helper()
	rights := map[string][]string{}
	for _, document := range strings.Split(read(t, "rbac.yaml"), "---\n") {
		var role rbacv1.ClusterRole // a Role has the same rules
		if parse(t, document, &role); role.Kind != kind {
			continue
		}
		for _, rule := range role.Rules {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					right := group + "/" + resource
					for _, verb := range rule.Verbs {
						rights[right] = append(rights[right], strings.Join(append([]string{verb}, rule.ResourceNames...), " "))
					}
					slices.Sort(rights[right])
				}
			}
		}
	}
	return rights
}

// TestPodIsRestricted: the fields that the Pod Security level restricted asks
// for.
func TestPodIsRestricted(t *testing.T) {
	for _, file := range []string{"deployment.yaml", "../report/deployment.yaml"} {
		var deployment appsv1.Deployment
		parse(t, read(t, file), &deployment)
		pod := deployment.Spec.Template.Spec
		for _, container := range pod.Containers {
			secured := container.SecurityContext
			if !ptr.Deref(pod.SecurityContext.RunAsNonRoot, false) || pod.SecurityContext.SeccompProfile.Type != "RuntimeDefault" ||
				ptr.Deref(secured.AllowPrivilegeEscalation, true) || !ptr.Deref(secured.ReadOnlyRootFilesystem, false) ||
				len(secured.Capabilities.Drop) != 1 || secured.Capabilities.Drop[0] != "ALL" {
				t.Errorf("%s: container %s does not pass the level restricted", file, container.Name)
			}
			if container.LivenessProbe == nil || container.ReadinessProbe == nil {
				t.Errorf("%s: container %s has no probes", file, container.Name)
			}
		}
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(deployDir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func parse(t *testing.T, text string, into any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), into); err != nil {
		t.Fatal(err)
	}
}
