//go:build postgres

package hubofhubs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/internal/postgrestest/original"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// originalComponent is the test's COMPONENT: the hub has the roles of this project's program by its own name.
const originalComponent = "original-status-sync"

// TestOriginalManifest: the original's deployment manifest starts this program with the original's rights on the hub and in
// the database, which is not migrated, and all six kinds follow the original's transport bridge. The rights on the hub that
// are missing are named, and take effect when they are granted.
func TestOriginalManifest(t *testing.T) {
	w := emptyWorldOn(t, database)
	w.must(original.Create(t.Context(), w.server, w.owner))
	ids := w.oneOfOriginal()
	rules := w.shortRules(2)
	elsewhere := w.elsewhereSubscription("before")
	user, err := w.server.NewUser(t.Context(), w.owner, original.ProcessUser)
	w.must(err)
	pod := w.runOriginal(user + "&statement_cache_mode=describe") // as behind a pooler
	w.converge()
	w.bridgeFollowed(w.bridge(), ids)
	pod.logs(1, "Translated the database URL's parameters of pgx v4", "default_query_exec_mode=cache_describe")
	pod.logs(1, "Ignored flags of the original hub-of-hubs-status-sync", `flags=["--zap-devel"]`)
	pod.logs(2, "Watching the owners is forbidden", "apiGroups: [apps.open-cluster-management.io], resources: [subscriptions], verbs: [list, watch]")
	pod.logs(1, "Watch is forbidden", "resources: [addonsummaries]")
	pod.logs(1, "Events are forbidden", "apiGroups: [events.k8s.io], resources: [events], verbs: [create, patch]")
	for _, name := range rules {
		if notes := w.events(name); len(notes) > 0 {
			t.Errorf("an event without the right to record it: %v", notes)
		}
	}
	// As the original, it does not see whether the hub has the Subscription of a row.
	w.eventually("a report of a Subscription that is elsewhere", func() error {
		_, err := w.get(entryOf(status.KindSubscriptionReport).Object, w.namespace, elsewhere)
		return err
	})
	if w.may("list", "apps.open-cluster-management.io", "subscriptions") {
		t.Fatal("the ServiceAccount may list Subscriptions: the test shows nothing")
	}

	w.grant(rbacv1.PolicyRule{APIGroups: []string{"apps.open-cluster-management.io"}, Resources: []string{"subscriptions"}, Verbs: []string{"list", "watch"}})
	pod.logs(2, "Watching the owners\" kind=", "")
	elsewhere = w.elsewhereSubscription("after")
	w.row("subscription_reports", "hub2", "subscription", someID+"1", map[string]any{"reportType": "Application", "summary": map[string]any{"clusters": "7"}})
	w.converge()
	if _, err := w.get(entryOf(status.KindSubscriptionReport).Object, w.namespace, elsewhere); !apierrors.IsNotFound(err) {
		t.Errorf("the Subscriptions are watched, and a report of one that is elsewhere is created: %v", err)
	}
	pod.stop()
	pod.logs(0, "Server rejected event", "")
	pod.logs(0, "panic", "")
}

// shortRules creates PlacementRules whose status does not fit, which events tell.
func (w *world) shortRules(count int) (names []string) {
	w.Helper()
	for i := range count {
		name := fmt.Sprintf("short-%d", i)
		id := w.known(entryOf(status.KindPlacementRule).Object, "placementrules", name, map[string]any{}, status.KindPlacementRule)
		w.row("placementrules", "hub2", name, id, map[string]any{"status": map[string]any{
			"decisions": decisionsOfRule(many("a-cluster-with-quite-a-long-name-as-some-have-it", 12000)...)}})
		names = append(names, name)
	}
	return names
}

// elsewhereSubscription adds the row of a Subscription that the hub does not have, with a leaf hub's report.
func (w *world) elsewhereSubscription(name string) string {
	w.Helper()
	w.exec(`INSERT INTO spec.subscriptions (id, payload) VALUES (gen_random_uuid(), jsonb_build_object('metadata', jsonb_build_object('name', $1::text, 'namespace', $2::text)))`,
		name, w.namespace)
	w.row("subscription_reports", "hub1", name, someID+"8", map[string]any{"reportType": "Application", "summary": map[string]any{"clusters": "1"}})
	return name
}

// pod is the program as a container of the original's Deployment runs it.
type pod struct {
	*world
	command *exec.Cmd

	mu     sync.Mutex
	output bytes.Buffer
}

func (p *pod) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.output.Write(text)
}

// logs waits until the log has that many lines with both texts, and fails the test if it has more.
func (p *pod) logs(count int, text, and string) {
	p.Helper()
	p.eventually(fmt.Sprintf("the log has %q %d times", text, count), func() error {
		p.mu.Lock()
		defer p.mu.Unlock()
		found := 0
		for line := range strings.Lines(p.output.String()) {
			if strings.Contains(line, text) && strings.Contains(line, and) {
				found++
			}
		}
		if found > count {
			p.Fatalf("the log has %q %d times, not %d:\n%s", text, found, count, p.output.String())
		}
		if found < count {
			return errors.New(p.output.String())
		}
		return nil
	})
}

// stop ends the program as the kubelet does.
func (p *pod) stop() {
	p.Helper()
	p.must(p.command.Process.Signal(syscall.SIGTERM))
	if err := p.command.Wait(); err != nil {
		p.Errorf("the program ended: %v", err)
	}
}

// runOriginal applies the original's manifest, and runs the program by its Deployment, with the credentials of its
// ServiceAccount.
func (w *world) runOriginal(databaseURL string) *pod {
	w.Helper()
	deployment := w.applyOriginal()
	container := deployment.Spec.Template.Spec.Containers[0]
	program := filepath.Join(w.TempDir(), "hub-of-hubs-status-sync")
	build := exec.CommandContext(w.Context(), "go", "build", "-C", "..", "-trimpath", "-o", program, "./cmd/hub-of-hubs-status-sync")
	if output, err := build.CombinedOutput(); err != nil {
		w.Fatalf("build the program: %v\n%s", err, output)
	}
	// The ports of the original may be in use on the machine of the test.
	args := append(container.Args, "--metrics-bind-address="+free(w.T), "--health-probe-bind-address=0")
	p := &pod{world: w, command: exec.CommandContext(context.WithoutCancel(w.Context()), program, args...)}
	p.command.Env = []string{"KUBECONFIG=" + w.tokenKubeconfig(deployment.Spec.Template.Spec.ServiceAccountName)}
	for _, variable := range container.Env {
		value := variable.Value
		switch from := variable.ValueFrom; {
		case from == nil:
		case from.SecretKeyRef != nil:
			value = databaseURL
		case from.FieldRef.FieldPath == "metadata.namespace":
			value = ownNamespace
		default:
			value = "a-pod"
		}
		p.command.Env = append(p.command.Env, variable.Name+"="+value)
	}
	p.command.Stdout, p.command.Stderr = p, p
	p.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	w.must(p.command.Start())
	w.Cleanup(func() {
		if p.command.ProcessState == nil {
			_ = p.command.Process.Kill()
			_ = p.command.Wait()
		}
		if w.Failed() {
			fmt.Fprintf(os.Stderr, "the program:\n%s\n", p.output.String())
		}
	})
	return p
}

// applyOriginal applies the original's manifest, and returns its Deployment.
func (w *world) applyOriginal() (deployment appsv1.Deployment) {
	w.Helper()
	template, err := os.ReadFile("testdata/original.yaml.template")
	w.must(err)
	manifest := os.Expand(string(template), func(name string) string {
		return map[string]string{"COMPONENT": originalComponent, "REGISTRY": "quay.io/me", "IMAGE_TAG": "v1"}[name]
	})
	for _, document := range strings.Split(manifest, "---\n") {
		object := &unstructured.Unstructured{}
		w.must(yaml.Unmarshal([]byte(document), &object.Object))
		object.SetNamespace(ownNamespace) // kubectl apply -n open-cluster-management
		w.createForTest(object)
		if object.GetKind() == "Deployment" {
			w.must(runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &deployment))
		}
	}
	return deployment
}

// createForTest creates an object and deletes it when the test ends.
func (w *world) createForTest(object client.Object) {
	w.Helper()
	w.must(w.client.Create(w.Context(), object))
	w.Cleanup(func() {
		if err := w.client.Delete(context.WithoutCancel(w.Context()), object); err != nil {
			w.Error(err)
		}
	})
}

// tokenKubeconfig writes a kubeconfig with a token of a ServiceAccount.
func (w *world) tokenKubeconfig(serviceAccount string) string {
	w.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ownNamespace, Name: serviceAccount}}
	request := &authenticationv1.TokenRequest{}
	w.must(w.client.SubResource("token").Create(w.Context(), account, request))
	config := clientcmdapi.NewConfig()
	config.Clusters["hub"] = &clientcmdapi.Cluster{Server: address(hub), CertificateAuthorityData: hub.CAData}
	config.AuthInfos["pod"] = &clientcmdapi.AuthInfo{Token: request.Status.Token}
	config.Contexts["hub"] = &clientcmdapi.Context{Cluster: "hub", AuthInfo: "pod"}
	config.CurrentContext = "hub"
	file := filepath.Join(w.TempDir(), "kubeconfig")
	w.must(clientcmd.WriteToFile(*config, file))
	return file
}

// may reports whether the original's ServiceAccount has a right in all namespaces.
func (w *world) may(verb, group, resource string) bool {
	w.Helper()
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User:               "system:serviceaccount:" + ownNamespace + ":" + originalComponent,
		Groups:             []string{"system:serviceaccounts", "system:serviceaccounts:" + ownNamespace, "system:authenticated"},
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: verb, Group: group, Resource: resource},
	}}
	w.must(w.client.Create(w.Context(), review))
	return review.Status.Allowed
}

// grant grants a right to the original's ServiceAccount in all namespaces.
func (w *world) grant(rule rbacv1.PolicyRule) {
	w.Helper()
	name := metav1.ObjectMeta{Name: originalComponent + "-granted"}
	w.createForTest(&rbacv1.ClusterRole{ObjectMeta: name, Rules: []rbacv1.PolicyRule{rule}})
	w.createForTest(&rbacv1.ClusterRoleBinding{ObjectMeta: name,
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name.Name},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: ownNamespace, Name: originalComponent}}})
}
