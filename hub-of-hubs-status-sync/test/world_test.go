//go:build postgres

package hubofhubs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/internal/postgrestest"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/postgres"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/syncer"
)

// world is a test's own namespace on the hub and its own database.
type world struct {
	*testing.T
	server    *postgrestest.Server
	client    client.Client
	namespace string
	// owner and reader are URLs of the database.
	owner, reader string
	store         *postgres.Store
	keys          []status.Key
}

func newWorld(t *testing.T) *world { return newWorldOn(t, database) }

// newServerWorld returns a world with a server of its own, for tests that stop it.
func newServerWorld(t *testing.T, options postgrestest.Options) *world {
	t.Helper()
	server, err := postgrestest.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	return newWorldOn(t, server)
}

func newWorldOn(t *testing.T, server *postgrestest.Server) *world {
	t.Helper()
	w := emptyWorldOn(t, server)
	w.migrate()
	return w
}

// emptyWorldOn has an empty database.
func emptyWorldOn(t *testing.T, server *postgrestest.Server) *world {
	t.Helper()
	w := &world{T: t, server: server, namespace: "test-" + rand.String(6)}
	var err error
	var drop func() error
	w.owner, drop, err = server.NewDatabase(t.Context())
	w.must(err)
	t.Cleanup(func() {
		if err := drop(); err != nil {
			t.Error(err)
		}
	})
	w.store, err = postgres.Open(t.Context(), postgres.Options{URL: w.owner})
	w.must(err)
	t.Cleanup(w.store.Close)
	w.client, err = client.New(hub, client.Options{})
	w.must(err)
	w.create(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, "", w.namespace, nil)
	t.Cleanup(w.dump)
	return w
}

// migrate makes the database one of this version.
func (w *world) migrate() {
	w.Helper()
	w.must(postgres.Migrate(w.Context(), w.owner))
	w.must(w.store.CheckReadable(w.Context()))
	var err error
	w.reader, err = w.server.NewUser(w.Context(), w.owner, "hub_of_hubs_status_reader")
	w.must(err)
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) exec(sql string, args ...any) {
	w.Helper()
	w.must(w.server.Exec(w.Context(), w.owner, sql, args...))
}

// answer is the one text that a query returns.
func (w *world) answer(sql string, args ...any) (string, error) {
	conn, err := pgx.Connect(w.Context(), w.owner)
	if err != nil {
		return "", err
	}
	defer conn.Close(context.WithoutCancel(w.Context()))
	var text string
	err = conn.QueryRow(w.Context(), sql, args...).Scan(&text)
	return text, err
}

// kubeconfig is a file for the hub, as a program's ServiceAccount.
func (w *world) kubeconfig(program, address string) string {
	w.Helper()
	return w.kubeconfigAs("system:serviceaccount:"+ownNamespace+":"+program, address)
}

func (w *world) adminKubeconfig() string { return w.kubeconfigAs("", address(hub)) }

// kubeconfigAs writes a kubeconfig that impersonates user, if it is not empty.
func (w *world) kubeconfigAs(user, address string) string {
	w.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["hub"] = &clientcmdapi.Cluster{Server: address, CertificateAuthorityData: hub.CAData}
	config.AuthInfos["program"] = &clientcmdapi.AuthInfo{
		ClientCertificateData: hub.CertData, ClientKeyData: hub.KeyData,
		Impersonate: user,
	}
	config.Contexts["hub"] = &clientcmdapi.Context{Cluster: "hub", AuthInfo: "program"}
	config.CurrentContext = "hub"
	file := filepath.Join(w.TempDir(), "kubeconfig")
	w.must(clientcmd.WriteToFile(*config, file))
	return file
}

func address(config *rest.Config) string {
	if strings.HasPrefix(config.Host, "http") {
		return config.Host
	}
	return "https://" + config.Host
}

// running is a program that runs in this process.
type running struct {
	cancel context.CancelFunc
	done   chan struct{}
	err    error
}

// stop ends the program and returns its error.
func (r *running) stop() error {
	r.cancel()
	<-r.done
	return r.err
}

// failed is the error of a program that ends by itself.
func (r *running) failed() error {
	<-r.done
	err := r.err
	r.err = nil // it is expected
	return err
}

// sync starts a status sync for the test's namespace.
func (w *world) sync(change ...func(*syncer.Options)) *running {
	w.Helper()
	return w.syncThrough(func(store syncer.Store) syncer.Store { return store }, change...)
}

// syncThrough starts a status sync that sees the database through something.
func (w *world) syncThrough(through func(syncer.Store) syncer.Store, change ...func(*syncer.Options)) *running {
	w.Helper()
	opts := syncer.NewOptions()
	opts.DatabaseURL = w.reader
	opts.WatchNamespaces = []string{w.namespace}
	opts.PodNamespace = ownNamespace
	opts.Kubeconfig = w.kubeconfig("hub-of-hubs-status-sync", address(hub))
	opts.Interval = "500ms"
	opts.LeaderElect = false
	opts.MetricsAddr, opts.ProbeAddr = "0", "0"
	for _, c := range change {
		c(opts)
	}
	w.must(opts.Validate())
	return w.start(func(ctx context.Context) error {
		return syncer.Run(ctx, opts, func(ctx context.Context, url, namespace string) (syncer.Store, error) {
			store, err := postgres.Open(ctx, postgres.Options{URL: url, Namespace: namespace})
			if err != nil {
				return nil, err
			}
			return through(store), nil
		})
	})
}

func (w *world) start(run func(context.Context) error) *running {
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.Context()))
	r := &running{cancel: cancel, done: make(chan struct{})}
	var once sync.Once
	go func() {
		defer close(r.done)
		r.err = run(ctx)
	}()
	w.Cleanup(func() {
		once.Do(func() {
			if err := r.stop(); err != nil {
				w.Error(err)
			}
		})
	})
	return r
}

// create creates an object on the hub, with a spec.
func (w *world) create(gvk schema.GroupVersionKind, namespace, name string, spec map[string]any) *unstructured.Unstructured {
	w.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{}}
	if spec != nil {
		object.Object["spec"] = spec
	}
	object.SetGroupVersionKind(gvk)
	object.SetNamespace(namespace)
	object.SetName(name)
	w.must(w.client.Create(w.Context(), object))
	return object
}

// known creates an object on the hub and its row in spec.*, and has the kinds'
// keys compared from now on.
func (w *world) known(gvk schema.GroupVersionKind, table, name string, spec map[string]any, kinds ...status.Kind) string {
	w.Helper()
	object := w.create(gvk, w.namespace, name, spec)
	w.specRow(table, object)
	for _, kind := range kinds {
		w.keys = append(w.keys, status.Key{Kind: kind, ID: string(object.GetUID())})
	}
	return string(object.GetUID())
}

func (w *world) specRow(table string, object *unstructured.Unstructured) {
	w.Helper()
	payload, err := json.Marshal(object.Object)
	w.must(err)
	w.exec("INSERT INTO spec."+table+" (id, payload) VALUES ($1, $2)", string(object.GetUID()), string(payload))
}

func entryOf(kind status.Kind) status.Entry {
	for _, entry := range status.Entries() {
		if entry.Kind == kind {
			return entry
		}
	}
	return status.Entry{}
}

func (w *world) policy(name string) string {
	w.Helper()
	return w.known(entryOf(status.KindPolicy).Object, "policies", name,
		map[string]any{"disabled": false, "policy-templates": []any{}}, status.KindPolicy)
}

// comply writes a row of status.compliance.
func (w *world) comply(id, leafHub, cluster, compliance string) {
	w.Helper()
	w.exec(`INSERT INTO status.compliance (id, cluster_name, leaf_hub_name, error, compliance) VALUES ($1, $2, $3, 'none', $4)
ON CONFLICT (leaf_hub_name, id, cluster_name) DO UPDATE SET compliance = excluded.compliance`, id, cluster, leafHub, compliance)
}

// row writes a row of one of the tables of whole objects. The payload's name is
// the object's on the leaf hub.
func (w *world) row(table, leafHub, name, id string, object map[string]any) {
	w.Helper()
	payload, err := json.Marshal(w.named(name, object))
	w.must(err)
	w.exec(fmt.Sprintf(`DELETE FROM status.%s WHERE leaf_hub_name = $1 AND payload -> 'metadata' ->> 'name' = $2`, table), leafHub, name)
	w.exec(fmt.Sprintf(`INSERT INTO status.%s (id, leaf_hub_name, payload) VALUES ($1, $2, $3)`, table), id, leafHub, string(payload))
}

// named sets the name and namespace of a payload.
func (w *world) named(name string, object map[string]any) map[string]any {
	metadata, _ := object["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
		object["metadata"] = metadata
	}
	metadata["name"], metadata["namespace"] = name, w.namespace
	return object
}

// eventually waits until check has no error.
func (w *world) eventually(what string, check func() error) {
	w.Helper()
	deadline := time.Now().Add(patience)
	var err error
	for time.Now().Before(deadline) {
		if err = check(); err == nil {
			return
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-w.Context().Done():
			w.Fatalf("%s: %v", what, errors.Join(err, w.Context().Err()))
		}
	}
	w.Fatalf("%s: %v", what, err)
}
