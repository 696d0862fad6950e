package fleet

import (
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"
)

// fake is the server of the clusters' APIs and their workloads. It answers other requests with their
// path.
type fake struct {
	file    File
	streams chan *fakeStream
	results chan string
	refused atomic.Int32
}

// gone is the UID of a pod that the server does not know any more when its result comes.
const gone = "gone"

// fakeStream is one client's stream.
type fakeStream struct {
	images []string
	events chan event
}

func (s *fakeStream) send(events ...event) {
	for _, e := range events {
		s.events <- e
	}
}

func (s *fakeStream) close() { close(s.events) }

// newFake returns a server that is closed with the test.
func newFake(t *testing.T) *fake {
	t.Helper()
	f := &fake{streams: make(chan *fakeStream, 10), results: make(chan string, 10)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /fleet/workloads", f.stream)
	mux.HandleFunc("POST /fleet/workloads/{cluster}/{pod}/done", f.done)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.URL.Path) })
	server := httptest.NewUnstartedServer(authorized(mux))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	ca := filepath.Join(t.TempDir(), "ca.crt")
	content := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(ca, content, 0o600); err != nil {
		t.Fatal(err)
	}
	f.file = File{Address: server.Listener.Addr().String(), CA: ca, Token: "secret"}
	return f
}

func authorized(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" || r.ProtoMajor != 2 {
			http.Error(w, "the token or HTTP/2 is missing", http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	})
}

func (f *fake) stream(w http.ResponseWriter, r *http.Request) {
	s := &fakeStream{images: r.URL.Query()["image"], events: make(chan event)}
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
	f.streams <- s
	for {
		select {
		case <-r.Context().Done():
			return
		case e, ok := <-s.events:
			if !ok || json.NewEncoder(w).Encode(e) != nil {
				return
			}
			w.(http.Flusher).Flush()
		}
	}
}

// refuse makes the next reports of results fail.
func (f *fake) refuse(n int32) { f.refused.Store(n) }

func (f *fake) done(w http.ResponseWriter, r *http.Request) {
	var got result
	if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if r.PathValue("pod") == gone {
		http.Error(w, "no such pod", http.StatusNotFound)
	} else if f.refused.Add(-1) >= 0 {
		http.Error(w, "not now", http.StatusServiceUnavailable)
	}
	f.results <- r.URL.Path + ": " + got.Error
}

// get requests the version of an API server.
func get(config *rest.Config) (string, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return "", err
	}
	response, err := client.Get(config.Host + "/version")
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	return string(content), err
}
