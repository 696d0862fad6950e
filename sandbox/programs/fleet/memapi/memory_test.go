package memapi

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// idleHeap is the most that an idle cluster with its own objects, 20 more of 1 KiB and 10
// watches may take of the heap: 5,000 of them take less than 0.5 GB.
const idleHeap = 90 << 10

func TestIdleClusterIsSmall(t *testing.T) {
	const clusters = 100
	s := NewServer(Options{})
	before, goroutines := heap(), runtime.NumGoroutine()
	for i := range clusters {
		a := s.Add(t.Context(), fmt.Sprintf("fleet-%04d", i))
		c := &cluster{config: a.Config()}
		c.connect(t)
		for j := range 20 {
			m := configMap(fmt.Sprintf("m%d", j), map[string]string{"data": strings.Repeat("x", 800)})
			if _, err := c.kube.CoreV1().ConfigMaps("default").Create(t.Context(), m, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		for _, path := range []string{"v1/configmaps", "v1/secrets", "v1/nodes", "v1/namespaces", "v1/serviceaccounts"} {
			for range 2 {
				openWatch(t, a, "/api/"+path+"?watch=true&sendInitialEvents=true&allowWatchBookmarks=true")
			}
		}
	}
	each := (heap() - before) / clusters
	t.Logf("heap per idle cluster with 20 objects and 10 watches: %d KiB", each>>10)
	if each > idleHeap {
		t.Errorf("heap per idle cluster: %d KiB, want at most %d", each>>10, idleHeap>>10)
	}
	if more := runtime.NumGoroutine() - goroutines; more > clusters/10 {
		t.Errorf("%d goroutines more with %d clusters, want none per cluster or watch", more, clusters)
	}
}

// heap returns the bytes of the live heap.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// openWatch starts a watch, reads what it sends first, and leaves it open.
func openWatch(t *testing.T, a *API, path string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://memory"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := a.Config().Transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	if _, err := response.Body.Read(make([]byte, 64<<10)); err != nil {
		t.Fatal(err)
	}
}
