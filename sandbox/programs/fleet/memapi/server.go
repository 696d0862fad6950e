package memapi

import (
	"context"
	"crypto/subtle"
	"net/http"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// Options are those of a Server.
type Options struct {
	// ReadyAfter is the time from a Deployment's change until it is available, and from
	// the start of a Job that no client runs until it is complete.
	ReadyAfter time.Duration
	// BrokenImage is a part of an image's name. A Deployment with such an image never
	// becomes available. Empty: none.
	BrokenImage string
	// Clock is the real one if nil.
	Clock clock.WithTickerAndDelayedExecution
}

// Server has the APIs of all simulated clusters.
type Server struct {
	options Options
	clock   clock.WithTickerAndDelayedExecution

	mu       sync.Mutex
	clusters map[string]*API
	streams  streams
}

// NewServer returns a Server without clusters.
func NewServer(o Options) *Server {
	s := &Server{options: o, clock: o.Clock, clusters: map[string]*API{}, streams: streams{claimed: map[string]bool{}}}
	if s.clock == nil {
		s.clock = clock.RealClock{}
	}
	return s
}

// Add adds a cluster, whose behaviours and watches end with ctx. A cluster of the same
// name is replaced.
func (s *Server) Add(ctx context.Context, name string) *API {
	s.Remove(name)
	a := &API{
		server: s, name: name, log: klog.FromContext(ctx).WithValues("cluster", name),
		tables: map[schema.GroupResource]*table{}, workloads: map[workloadKey]*workload{}, changes: map[workloadKey]bool{},
	}
	// A cluster that is added again must not take versions of its predecessor for its own.
	// No cluster writes as often as once in a microsecond.
	a.start = uint64(s.clock.Now().UnixMicro())
	a.version = a.start
	a.ctx, a.end = context.WithCancel(ctx)
	context.AfterFunc(a.ctx, a.stopWorkloads)
	a.mu.Lock()
	a.populate()
	a.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clusters[name] = a
	return a
}

// Remove removes a cluster and ends its watches and behaviours.
func (s *Server) Remove(name string) {
	s.mu.Lock()
	a := s.clusters[name]
	delete(s.clusters, name)
	s.mu.Unlock()
	if a != nil {
		a.end()
	}
}

func (s *Server) cluster(name string) *API {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.clusters[name]
}

// Handler returns the handler of all requests that come over the network. It refuses
// those without the bearer token.
//
//	/clusters/NAME/…                                the API of a cluster
//	/fleet/workloads?image=…                        the workloads of all clusters
//	/fleet/workloads/CLUSTER/PODUID/done            a Job's function has returned
//	/fleet/watch?resource=…&labelSelector=…         the writes in all clusters
func (s *Server) Handler(token string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/clusters/{name}/", func(w http.ResponseWriter, r *http.Request) {
		name := r.PathValue("name")
		a := s.cluster(name)
		if a == nil {
			write(w, failure(apierrors.NewNotFound(schema.GroupResource{Resource: "clusters"}, name)))
			return
		}
		a.serve(w, r, strings.TrimPrefix(r.URL.Path, "/clusters/"+name))
	})
	mux.HandleFunc("GET /fleet/workloads", s.serveWorkloads)
	mux.HandleFunc("POST /fleet/workloads/{cluster}/{pod}/done", s.serveDone)
	mux.HandleFunc("GET /fleet/watch", s.serveWatch)
	want := []byte("Bearer " + token)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), want) != 1 {
			write(w, failure(apierrors.NewUnauthorized("Unauthorized")))
			return
		}
		mux.ServeHTTP(w, r)
	})
}
