package ocm

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// TestWaitAvailableTellsWhatIsMissing checks that the error has the last answer of the hub, also when the time is up
// while it is being asked again.
func TestWaitAvailableTellsWhatIsMissing(t *testing.T) {
	var requests atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1) > 1 {
			<-r.Context().Done()
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"apiVersion":"cluster.open-cluster-management.io/v1","kind":"ManagedCluster","metadata":{"name":"cluster1"},
			"status":{"conditions":[{"type":"HubAcceptedManagedCluster","status":"True"}]}}`))
	}))
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	err := WaitAvailable(ctx, &rest.Config{Host: server.URL}, "cluster1")
	const want = "not yet true: ManagedClusterJoined, ManagedClusterConditionAvailable"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("WaitAvailable = %v, want %q", err, want)
	}
}
