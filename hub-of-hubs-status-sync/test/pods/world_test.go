//go:build kind

package pods

import (
	"context"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/internal/postgrestest"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/test/definitions"
)

const (
	// namespace has the tests' objects, on both hubs.
	namespace = "hub-of-hubs-e2e"
	// leafName is what the global hub calls the leaf hub.
	leafName = "leaf1"
	// authorityInPod is where the pods have the database's authority.
	authorityInPod = "/etc/database-ca/ca.crt"
)

// world is what all scenarios share.
type world struct {
	*environment
	database *postgrestest.Server
	// owner is the URL of the tables' owner, for this machine.
	owner string
	// urls are those that the pods are given, by hub.
	urls map[*hub]string
	logs *logs
	// policy is the policy whose compliance travels; it is there from its own
	// scenario on.
	policy *policy
}

func newWorld(t *testing.T, env *environment) *world {
	t.Helper()
	w := &world{environment: env, urls: map[*hub]string{}}
	for _, h := range w.hubs() {
		must(t, "remove what is left of a former run", w.remove(t.Context(), h))
	}
	w.startDatabase(t)
	w.logs = followLogs(t, w.hubs())
	w.installKinds(t)
	w.installAddOn(t)
	return w
}

// startDatabase makes the tables by the command that users have for it, and the users as the documentation says.
func (w *world) startDatabase(t *testing.T) {
	t.Helper()
	server, err := postgrestest.Start(t.Context(), postgrestest.Options{Address: w.address, TLS: true, Settings: map[string]string{
		// It is killed, and has to have what it said it had.
		"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"}})
	must(t, "start PostgreSQL", err)
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	w.database = server
	w.owner, _, err = server.NewDatabase(t.Context())
	must(t, "create the database", err)
	start := time.Now()
	_, err = command(t.Context(), "", []string{"DATABASE_URL=" + w.owner}, filepath.Join("hub-of-hubs-status-sync", "bin", syncProgram), "migrate")
	must(t, "migrate", err)
	t.Logf("%8s  the tables, by %s migrate", time.Since(start).Round(time.Millisecond), syncProgram)
	for h, role := range map[*hub]string{w.global: "hub_of_hubs_status_reader", w.leaf: "hub_of_hubs_status_writer"} {
		user, err := server.NewUser(t.Context(), w.owner, role)
		must(t, "create a user", err)
		w.urls[h] = change(t, user, func(_ *url.URL, query url.Values) {
			query.Set("sslrootcert", authorityInPod)
			query.Set("pool_max_conns", "10")
		})
	}
}

// change changes a URL.
func change(t *testing.T, text string, how func(u *url.URL, query url.Values)) string {
	t.Helper()
	parsed, err := url.Parse(text)
	must(t, "read a URL", err)
	query := parsed.Query()
	how(parsed, query)
	parsed.RawQuery = query.Encode()
	return parsed.String()
}

// installKinds applies the kinds that Open Cluster Management does not bring itself.
func (w *world) installKinds(t *testing.T) {
	t.Helper()
	files, err := definitions.Files(t.Context(), top)
	must(t, "find the kinds", err)
	args := []string{"apply", "--server-side", "--force-conflicts"}
	for _, file := range files {
		if base := filepath.Base(file); strings.HasPrefix(base, "policy.") || strings.HasPrefix(base, "apps.") {
			args = append(args, "-f", file)
		}
	}
	for _, h := range w.hubs() {
		kubectl(t, h, args...)
		kubectl(t, h, append([]string{"wait", "--for=condition=Established", "--timeout=60s"}, args[3:]...)...)
		kubectl(t, h, "create", "namespace", namespace)
		kubectlFrom(t, h, grant, "apply", "-f", "-")
	}
}

// installAddOn installs this project's add-on on the leaf hub, and enables it on its managed cluster.
func (w *world) installAddOn(t *testing.T) {
	t.Helper()
	_, err := command(t.Context(), "", []string{"KUBECONFIG=" + w.leaf.kubeconfig}, filepath.Join("deploy", "apply"), w.kubectl, w.image)
	must(t, "install the add-on", err)
	kubectlFrom(t, w.leaf, `apiVersion: addon.open-cluster-management.io/v1alpha1
kind: ManagedClusterAddOn
metadata: {name: helloworld, namespace: `+w.environment.cluster+`}
spec: {installNamespace: default}
`, "apply", "-f", "-")
}

// remove removes what the tests leave on a hub, but not the kinds and the add-on.
func (w *world) remove(ctx context.Context, h *hub) error {
	for _, args := range [][]string{
		{"delete", "-k", "hub-of-hubs-status-sync/deploy/" + strings.TrimPrefix(h.program, "hub-of-hubs-status-")},
		{"delete", "namespace", namespace},
		{"delete", "clusterrole,clusterrolebinding", readerOfMetrics},
		{"delete", "-n", ownNamespace, "lease", h.program + "-lock"},
		{"delete", "-n", ownNamespace, "secret", databaseSecret, authoritySecret},
	} {
		if _, err := h.run(ctx, "", append(args, "--ignore-not-found", "--wait")...); err != nil {
			return err
		}
	}
	return nil
}
