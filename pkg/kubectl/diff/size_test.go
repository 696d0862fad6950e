package diff

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

const (
	sizeClusters = 5000
	// mostTime and mostMemory are far above what docs/kubectl.md has, because the API server's stand-in is in the same process.
	mostTime   = time.Minute
	mostMemory = 600 << 20
)

// TestSize asks about a source that 5,000 clusters have, each with values of its own. No request is for a single cluster.
func TestSize(t *testing.T) {
	f := newFakeHub()
	var decisions []string
	for i := range sizeClusters {
		name, region := fmt.Sprintf("cluster%04d", i), fmt.Sprintf("region-%d", i%10)
		f.put(t, fmt.Sprintf(managedCluster, name, region))
		f.put(t, fmt.Sprintf(addOn, name))
		f.put(t, fmt.Sprintf(mirror, name, ""))
		f.deliver(t, name, region)
		if i%100 == 0 {
			decisions = append(decisions, fmt.Sprintf("d%02d", i/100))
		}
	}
	f.put(t, fmt.Sprintf(placement, sizeClusters, strings.Join(decisions, ", ")))
	for i, name := range decisions {
		var selected []string
		for j := range 100 {
			selected = append(selected, fmt.Sprintf("{clusterName: cluster%04d}", i*100+j))
		}
		f.put(t, fmt.Sprintf(decision, name, strings.Join(selected, ", ")))
	}
	f.put(t, set)
	f.put(t, fmt.Sprintf(source, "info"))
	// The second file changes a line that is another one on each cluster.
	for file, groups := range map[string]int{fmt.Sprintf(source, "debug"): 1, strings.Replace(fmt.Sprintf(source, "info"), "$(NAME).example", "$(NAME).new.example", 1): sizeClusters} {
		f.requests = nil
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		begin := time.Now()
		stdout, stderr, _ := f.run(t, "", "-f", write(t, file), "-o", "wide")
		took := time.Since(begin)
		runtime.ReadMemStats(&after)
		t.Logf("%d clusters in %d groups: %d requests in %s, %d MiB of memory from the system, %d MiB allocated", sizeClusters, groups, len(f.requests),
			took.Round(time.Millisecond), after.Sys>>20, (after.TotalAlloc-before.TotalAlloc)>>20)
		if !strings.HasSuffix(stdout, "5000 of 5000 clusters change: 5000 ConfigMaps updated.\n") || strings.Count(stdout, "+++ ") != groups {
			t.Errorf("%d groups, want %d; the answer ends with %q, %s", strings.Count(stdout, "+++ "), groups, stdout[max(0, len(stdout)-100):], stderr)
		}
		// The source and its dry run, the sets, the Placement and its decisions, the ManagedCluster team-a and ConfigMaps of others; 10 pages
		// each of ConfigMaps of the set, ManagedClusters, add-ons and ConfigMapMirrors.
		if want := 7 + 4*10; len(f.requests) != want {
			t.Errorf("%d requests, want %d: %s", len(f.requests), want, strings.Join(f.requests, "\n"))
		}
		if took > mostTime || after.Sys > mostMemory {
			t.Errorf("it takes %s and %d MiB", took, after.Sys>>20)
		}
	}
}
