//go:build !race

// Not under the race detector, which makes sync.Pool drop what it is given, so that regular expressions allocate anew.

package fleet

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// TestSize: a scrape of 5,000 clusters allocates little, so that it does not move the controller's memory. The time
// depends on the machine: the benchmark prints it.
func TestSize(t *testing.T) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(newCollector(big(t)))
	result := testing.Benchmark(func(b *testing.B) {
		b.Helper()
		for b.Loop() {
			if _, err := registry.Gather(); err != nil {
				b.Fatal(err)
			}
		}
	})
	t.Logf("%d clusters: %s", sizeClusters, result.String()+" "+result.MemString())
	if most := int64(16 << 20); result.AllocedBytesPerOp() > most {
		t.Errorf("a scrape allocates %d bytes, want at most %d", result.AllocedBytesPerOp(), most)
	}
}
