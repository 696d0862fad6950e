package agent

import (
	"context"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"

	"open-cluster-management.io/helloworld-addon/internal/testing/fakeapi"
	"open-cluster-management.io/helloworld-addon/internal/testing/fakepki"
	"open-cluster-management.io/helloworld-addon/internal/testing/runtest"
)

// many is the number of agents in one process.
const many = 50

// crowd is a hub, and one API server for the managed clusters of many agents.
type crowd struct {
	t            *testing.T
	ca           *fakepki.Authority
	hub, managed *fakeapi.Server
	// connections is the number of open connections to managed.
	connections atomic.Int32
}

func newCrowd(t *testing.T) *crowd {
	t.Helper()
	c := &crowd{t: t, ca: fakepki.New(t), managed: fakeapi.New()}
	c.hub = runtest.NewHub(t, c.ca, nil)
	c.managed.HTTP().EnableHTTP2 = true
	c.managed.HTTP().Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			c.connections.Add(1)
		case http.StateClosed:
			c.connections.Add(-1)
		}
	}
	c.managed.HTTP().StartTLS()
	t.Cleanup(c.managed.Close)
	return c
}

// config is how clients reach the managed clusters.
func (c *crowd) config() *rest.Config {
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.managed.HTTP().Certificate().Raw})
	return &rest.Config{Host: c.managed.HTTP().URL, TLSClientConfig: rest.TLSClientConfig{CAData: authority}}
}

// names returns the names of the i-th cluster and of its install namespace.
func names(i int) (cluster, namespace string) {
	return fmt.Sprintf("cluster%d", i+1), fmt.Sprintf("addon%d", i+1)
}

// start starts the agent of the i-th cluster, with a ConfigMap to copy.
func (c *crowd) start(i int) (stop func()) {
	c.t.Helper()
	cluster, namespace := names(i)
	c.hub.Put("managedclusteraddons", &addonv1alpha1.ManagedClusterAddOn{ObjectMeta: metav1.ObjectMeta{Name: "helloworld", Namespace: cluster}})
	c.hub.Put("configmaps", &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: cluster}})
	data := map[string][]byte{"kubeconfig": []byte(c.ca.Kubeconfig(c.hub.HTTP().URL)), "cluster-name": []byte(cluster)}
	user := strings.Replace(fakepki.User, "cluster1", cluster, 1)
	data["tls.crt"], data["tls.key"] = c.ca.Issue(user, time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	c.managed.Put("secrets", &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "helloworld-hub-kubeconfig", Namespace: namespace}, Data: data})
	options := parse(c.t, "--cluster-name="+cluster, "--namespace="+namespace,
		"--health-bind-address=0", "--metrics-bind-address=0")
	options.Managed = c.config()
	return runtest.Start(c.t, func(ctx context.Context) error {
		return Run(klog.NewContext(ctx, klog.Background().V(1)), options)
	})
}

// TestManyInOneProcess: the agents of many clusters run in one process without ports
// of their own, share one connection to one API server, and leave nothing behind. With
// connections of their own, those of 5,000 would take 5,000 file descriptors on either
// side.
func TestManyInOneProcess(t *testing.T) {
	c := newCrowd(t)
	goroutines, files := runtime.NumGoroutine(), openFiles(t)
	var stops []func()
	for i := range many {
		stops = append(stops, c.start(i))
	}
	for i := range many {
		cluster, namespace := names(i)
		runtest.Eventually(t, "copy and lease of "+cluster, func() bool {
			return c.managed.Get("configmaps", namespace, "a") != nil && c.managed.Get("leases", namespace, "helloworld") != nil
		})
	}
	runtest.Eventually(t, "one connection", func() bool { return c.connections.Load() == 1 },
		func() string { return fmt.Sprintf("%d connections", c.connections.Load()) })
	for _, stop := range stops {
		stop()
	}
	runtest.Eventually(t, "nothing is left", func() bool {
		// The shared connection is the process', which keeps it for later agents.
		c.disconnect()
		return runtime.NumGoroutine() <= goroutines && openFiles(t) <= files
	}, func() string {
		var stacks strings.Builder
		_ = pprof.Lookup("goroutine").WriteTo(&stacks, 1)
		return fmt.Sprintf("%d files and %d goroutines before, now %d and %s", files, goroutines, openFiles(t), stacks.String())
	})
}

// disconnect closes the connections to the managed clusters that no request uses.
func (c *crowd) disconnect() {
	c.t.Helper()
	transport, err := rest.TransportFor(c.config())
	if err != nil {
		c.t.Fatal(err)
	}
	utilnet.CloseIdleConnectionsFor(transport)
}

// openFiles returns the number of the process' open files and connections.
func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// TestTrimOfTheOptions: an agent of many in one process collects no garbage on its own.
func TestTrimOfTheOptions(t *testing.T) {
	trimmed := false
	options := parse(t, "--cluster-name=cluster1", "--namespace=default", "--kubeconfig="+runtest.Kubeconfig(t, runtest.NewAPI(t)))
	options.Trim = func() { trimmed = true }
	a, err := newAgent(options)
	if err != nil {
		t.Fatal(err)
	}
	a.trimmer.release()
	if !trimmed {
		t.Error("the agent trims the memory of the whole process")
	}
}
