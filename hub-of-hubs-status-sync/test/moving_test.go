//go:build postgres

package hubofhubs

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/internal/postgrestest/original"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/syncer"
)

const (
	movingPage    = "../docs/moving-from-the-original.md"
	originalImage = "quay.io/open-cluster-management-hub-of-hubs/hub-of-hubs-status-sync:v0.2.0"
)

// TestMovingPage runs the commands of the page: a user of the original moves, and goes back, and moves again.
func TestMovingPage(t *testing.T) {
	w := emptyWorldOn(t, database)
	w.must(original.Create(t.Context(), w.server, w.owner))
	ids := w.oneOfOriginal()
	user, err := w.server.NewUser(t.Context(), w.owner, original.ProcessUser)
	w.must(err)
	t.Cleanup(func() { // the user belongs to the server, and other tests use it without the role
		w.must(w.server.Exec(context.WithoutCancel(t.Context()), w.owner, "REVOKE hub_of_hubs_status_reader FROM "+original.ProcessUser))
	})
	page := w.moving()
	asOriginalUser := func(o *syncer.Options) { o.DatabaseURL = user }

	page.run("Replace the image")
	page.deployed("quay.io/me/hub-of-hubs-status-sync:v1")
	sync := w.sync(asOriginalUser)
	w.converge()
	page.run("Migrate the database")
	w.follows(1)
	bridge := w.bridge()
	w.must(bridge.Send(t.Context(), original.Policies{LeafHub: "hub1", UpdatePolicies: []original.Cluster{{Policy: ids["policy"], Compliance: "compliant"}}}))
	w.field(status.KindPolicy, w.namespace, "policy", "Compliant", "status", "compliant")

	w.must(sync.stop())
	w.annotate(entryOf(status.KindPlacement).Object, "placement", "cluster.open-cluster-management.io/experimental-scheduling-disable", "true")
	w.createForTest(&unstructured.Unstructured{Object: map[string]any{"apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "PlacementDecision",
		"metadata": map[string]any{"name": "of-ocm-decision-1", "namespace": w.namespace,
			"labels": map[string]any{"cluster.open-cluster-management.io/placement": "of-ocm"}}}})
	decision := func(name string) error {
		_, err := w.get(entryOf(status.KindPlacementDecision).Object, w.namespace, name)
		return err
	}
	page.run("Back to the original")
	w.must(decision("placement-decision-1"))
	page.runBlock("Back to the original", 1)
	if err := decision("placement-decision-1"); !apierrors.IsNotFound(err) {
		t.Errorf("our PlacementDecision stayed: %v", err)
	}
	w.must(decision("of-ocm-decision-1"))
	page.runBlock("Back to the original", 2)
	page.deployed(originalImage)
	left, err := w.answer(`SELECT coalesce(string_agg(what, ', ' ORDER BY what), '') FROM (
SELECT tgname AS what FROM pg_trigger WHERE NOT tgisinternal AND tgname NOT IN ('set_timestamp', 'move_to_history')
UNION ALL SELECT indexname FROM pg_indexes WHERE indexdef LIKE '%hub_of_hubs%'
UNION ALL SELECT nspname FROM pg_namespace WHERE nspname = 'hub_of_hubs'
UNION ALL SELECT relname FROM pg_class WHERE relname LIKE 'managedclusteraddons%') rest`)
	if err != nil || left != "" {
		t.Errorf("what the page removes left %q, %v", left, err)
	}
	// The original's programs write as before, and this one scans as before.
	w.must(bridge.Send(t.Context(), original.Policies{LeafHub: "hub1", UpdatePolicies: []original.Cluster{{Policy: ids["policy"], Compliance: "non_compliant"}}}))
	w.must(bridge.Beat(t.Context(), "hub1"))
	w.policy("another")
	w.sync(asOriginalUser)
	w.follows(0)
	w.field(status.KindPolicy, w.namespace, "policy", "NonCompliant", "status", "compliant")
	page.run("Migrate the database")
	w.follows(1)
}

// follows waits until the sync follows the log (1) or scans (0), and the objects are right.
func (w *world) follows(want float64) {
	w.Helper()
	w.eventually(fmt.Sprintf("the gauge change_log is %v", want), func() error {
		if got := w.metric("change_log", nil); got != want {
			return fmt.Errorf("it is %v", got)
		}
		return nil
	})
	w.converge()
}

// annotate adds an annotation to an object.
func (w *world) annotate(gvk schema.GroupVersionKind, name, key, value string) {
	w.Helper()
	object, err := w.get(gvk, w.namespace, name)
	w.must(err)
	changed := object.DeepCopy()
	changed.SetAnnotations(map[string]string{key: value})
	w.must(w.client.Patch(w.Context(), changed, client.MergeFrom(object)))
}

// movingRun runs the commands of the page's sections in one directory.
type movingRun struct {
	*world
	text, dir  string
	kubeconfig string
}

// moving makes a user's machine with the program, and a hub with the original's Deployment and the operator's Secret.
func (w *world) moving() *movingRun {
	w.Helper()
	text, err := os.ReadFile(movingPage)
	w.must(err)
	m := &movingRun{world: w, text: string(text), dir: w.TempDir(), kubeconfig: w.adminKubeconfig()}
	build := exec.CommandContext(w.Context(), "go", "build", "-trimpath", "-o", filepath.Join(m.dir, "bin", "hub-of-hubs-status-sync"), "../cmd/hub-of-hubs-status-sync")
	if out, err := build.CombinedOutput(); err != nil {
		w.Fatalf("build the program: %v\n%s", err, out)
	}
	namespace := &unstructured.Unstructured{}
	namespace.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"})
	namespace.SetName("hoh-postgres")
	if err := w.client.Create(w.Context(), namespace); !apierrors.IsAlreadyExists(err) {
		w.must(err)
	}
	for _, object := range []map[string]any{
		{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "hoh-pguser-postgres", "namespace": "hoh-postgres"},
			"stringData": ownerSecret(w)},
		{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "hub-of-hubs-status-sync", "namespace": ownNamespace},
			"spec": map[string]any{"replicas": 1, "selector": map[string]any{"matchLabels": map[string]any{"name": "hub-of-hubs-status-sync"}},
				"template": map[string]any{"metadata": map[string]any{"labels": map[string]any{"name": "hub-of-hubs-status-sync"}},
					"spec": map[string]any{"containers": []any{map[string]any{"name": "hub-of-hubs-status-sync", "image": originalImage,
						"args": []any{"--zap-devel=true"}, "imagePullPolicy": "Always"}}}}}},
	} {
		w.createForTest(&unstructured.Unstructured{Object: object})
	}
	return m
}

// ownerSecret is the content of the owner's Secret, as the PostgreSQL operator writes it for a user without databases.
func ownerSecret(w *world) map[string]any {
	w.Helper()
	owner, err := url.Parse(w.owner)
	w.must(err)
	password, _ := owner.User.Password()
	return map[string]any{"user": owner.User.Username(), "password": password, "host": owner.Hostname(), "port": owner.Port()}
}

// run runs the first commands of the section with this title.
func (m *movingRun) run(section string) {
	m.Helper()
	m.runBlock(section, 0)
}

// runBlock runs one of the blocks of commands of the section with this title, with the test's names of the database and of the
// operator's user.
func (m *movingRun) runBlock(section string, number int) {
	m.Helper()
	parts := regexp.MustCompile("\n## (?:[0-9]\\. )?"+section+"\n").Split(m.text, 2)
	text, _, _ := strings.Cut(parts[len(parts)-1], "\n## ")
	blocks := regexp.MustCompile("(?s)```\n(.*?)```").FindAllStringSubmatch(text, -1)
	if len(parts) < 2 || len(blocks) <= number {
		m.Fatalf("%s has not %d blocks of commands in section %q", movingPage, number+1, section)
	}
	owner, err := url.Parse(m.owner)
	m.must(err)
	commands := strings.NewReplacer("}}/hoh'", "}}"+owner.Path+"'", `"hoh-process-user"`, original.ProcessUser).Replace(blocks[number][1])
	command := exec.CommandContext(m.Context(), "bash", "-euo", "pipefail", "-c", commands)
	command.Dir = m.dir
	command.Env = append(os.Environ(), "KUBECONFIG="+m.kubeconfig, "DATABASE_URL="+m.owner, "REGISTRY=quay.io/me", "IMAGE_TAG=v1",
		"PATH="+os.Getenv("SANDBOX_PROGRAMS")+":"+os.Getenv("PATH"))
	if out, err := command.CombinedOutput(); err != nil {
		m.Fatalf("the commands of %q: %v\n%s", section, err, out)
	}
}

// deployed fails the test unless one replica of the image is wanted.
func (m *movingRun) deployed(image string) {
	m.Helper()
	deployment, err := m.get(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, ownNamespace, "hub-of-hubs-status-sync")
	m.must(err)
	containers, _, err := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
	m.must(err)
	replicas, _, err := unstructured.NestedInt64(deployment.Object, "spec", "replicas")
	m.must(err)
	if got := containers[0].(map[string]any)["image"]; got != image || replicas != 1 {
		m.Errorf("the Deployment has image %v and %d replicas, want %s and 1", got, replicas, image)
	}
}
