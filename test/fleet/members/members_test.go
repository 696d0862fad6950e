package members

import (
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/helloworld-addon/sandbox/fleet"
)

func serve(t *testing.T, handler http.Handler) *Client {
	t.Helper()
	server := httptest.NewTLSServer(handler)
	t.Cleanup(server.Close)
	dir := t.TempDir()
	ca := filepath.Join(dir, "ca.crt")
	outside, err := json.Marshal(fleet.Outside{Address: strings.TrimPrefix(server.URL, "https://"), CA: ca, Token: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "fleet"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{
		ca: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), filepath.Join(dir, "fleet", "outside.json"): outside,
	} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	client, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestWatch(t *testing.T) {
	at := time.Unix(1000, 5000).UTC()
	client := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.URL.String(); got != "/fleet/watch?resource=configmaps" || r.Header.Get("Authorization") != "Bearer secret" {
			t.Errorf("request %s with %s", got, r.Header)
		}
		fmt.Fprintf(w, "{\"type\":\"SYNCED\"}\n{\"cluster\":\"fleet-0001\",\"type\":\"ADDED\",\"time\":%q,\"object\":{\"metadata\":{\"name\":\"a\"}}}\n",
			at.Format(time.RFC3339Nano))
	}))
	started, events := 0, []Event(nil)
	err := client.Watch(t.Context(), func() { started++ }, func(e Event) { events = append(events, e) })
	if !errors.Is(err, errEnded) {
		t.Errorf("the server ended the stream: %v", err)
	}
	if started != 1 || len(events) != 1 || events[0].Cluster != "fleet-0001" || events[0].Object.Name != "a" || !events[0].Time.Equal(at) {
		t.Errorf("started %d times, events %+v", started, events)
	}
}

func TestRefusedWatch(t *testing.T) {
	client := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no such resource", http.StatusNotFound) }))
	err := client.Watch(t.Context(), func() { t.Error("it started") }, func(Event) { t.Error("an event") })
	if err == nil || !strings.Contains(err.Error(), "no such resource") {
		t.Errorf("got %v", err)
	}
}

func TestCluster(t *testing.T) {
	client := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"kind":"Secret","apiVersion":"v1","metadata":{"name":%q}}`, r.URL.Path)
	}))
	cluster, err := client.Cluster("fleet-0007")
	if err != nil {
		t.Fatal(err)
	}
	got, err := cluster.CoreV1().Secrets("ns").Get(t.Context(), "s", metav1.GetOptions{})
	if want := "/clusters/fleet-0007/api/v1/namespaces/ns/secrets/s"; err != nil || got.Name != want {
		t.Errorf("request %v (%v), want %s", got, err, want)
	}
}
