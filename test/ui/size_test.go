//go:build ui

package ui

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

const many = 5000

// TestSize measures the page with 5,000 clusters. The figures depend on the machine: they are printed alone.
func TestSize(t *testing.T) {
	h := newHub(t, os.Getenv("HUB_KUBECONFIG"))
	var members []member
	for i := range many {
		m := member{name: fmt.Sprintf("cluster-%04d", i), clusterSet: fmt.Sprintf("set-%d", i%7), total: 20,
			labels: map[string]string{"region": []string{"eu", "us", "asia"}[i%3], "stage": []string{"canary", "test", "production"}[min(2, i/100)]}}
		switch {
		case i%97 == 5:
			m.lost = true
		case i%61 == 7:
			m.conditions = []any{condition("ConfigMapsSynced", "False", "Conflict", "1 conflict")}
		case i%113 == 9:
			m.conditions = []any{condition("Degraded", "True", "PodsNotReady", "no pod")}
		case i%53 == 11:
			m.disabled = true
		}
		members = append(members, m)
	}
	began := time.Now()
	h.putAll(t, members)
	t.Logf("wrote %d clusters in %v", many, time.Since(began).Round(time.Second))
	chromium := browser(t)
	began = time.Now()
	url, program := serve(t, h.kubeconfig)
	p := open(chromium, t, "about:blank")
	p.do(t, chromedp.Navigate(url))
	p.await(t, fmt.Sprintf(`document.querySelectorAll("#fleet .tile").length >= %d`, many))
	t.Logf("from the command to all tiles: %v", time.Since(began).Round(time.Millisecond))
	// a second visit: the program has read the hub
	p = open(chromium, t, url)
	p.await(t, fmt.Sprintf(`document.querySelectorAll("#fleet .tile").length >= %d`, many))
	p.await(t, `performance.getEntriesByName("drawn").length > 0`)
	drawn := evaluate[float64](t, p, `performance.getEntriesByName("drawn")[0].startTime`)
	t.Logf("on a second visit all tiles are drawn after %.0f ms", drawn)
	var latencies []time.Duration
	for i := range 10 {
		name, value := "cluster-4321", []string{"True", "False"}[i%2]
		class := []string{"bad", "good"}[i%2]
		conditions := []any{
			condition("Degraded", value, "PodsNotReady", "no pod"), condition("Available", "True", "ManagedClusterAddOnLeaseUpdated", ""),
			condition("ConfigMapsSynced", "True", "Synced", "20 of 20"),
		}
		began := time.Now()
		if err := h.patch(t.Context(), addOns, name, addOnName, map[string]any{"status": map[string]any{"conditions": conditions}}, "status"); err != nil {
			t.Fatal(err)
		}
		p.await(t, fmt.Sprintf(`document.querySelector("[data-cluster=%s]").className === "tile %s"`, name, class))
		latencies = append(latencies, time.Since(began))
	}
	slices.Sort(latencies)
	t.Logf("a change of the hub is on the page after %v (median), %v (worst of %d)", latencies[len(latencies)/2].Round(time.Millisecond),
		latencies[len(latencies)-1].Round(time.Millisecond), len(latencies))
	t.Logf("the program uses %d MiB", resident(t, program.Pid)>>20)
	p.clean(t)
	if *update {
		if err := os.WriteFile("../../docs/ui/5000.png", run(t, p, chromedp.CaptureScreenshot()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// resident returns the most memory that the process has had, in bytes.
func resident(t *testing.T, pid int) int64 {
	t.Helper()
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(content)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kib << 10
		}
	}
	t.Fatal("no VmHWM")
	return 0
}
