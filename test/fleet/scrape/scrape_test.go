package scrape

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

const text = `# HELP apiserver_request_total all of them
# TYPE apiserver_request_total counter
apiserver_request_total{code="200",resource="configmaps",verb="LIST"} 3
apiserver_request_total{code="200",resource="configmaps",verb="WATCH"} 4
apiserver_request_total{code="429",resource="leases",verb="LIST"} 2e+06
apiserver_request_totals 7
go_gc_heap_live_bytes 1.5e+07
odd{text="a, \"b\" = {c}"} 1
`

func TestParse(t *testing.T) {
	m, err := Parse([]byte(text), "apiserver_request_total", "go_gc_heap_live_bytes", "odd", "absent")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		why       string
		got, want float64
	}{
		{"all samples, and not those of a longer name", m.Sum("apiserver_request_total"), 2000007},
		{"by a label", m.Sum("apiserver_request_total", "verb", "LIST"), 2000003},
		{"by two labels", m.Sum("apiserver_request_total", "verb", "LIST", "code", "200"), 3},
		{"without labels", m.Sum("go_gc_heap_live_bytes"), 1.5e7},
		{"a counter that has not counted", m.Sum("absent"), 0},
		{"what was not asked for", m.Sum("apiserver_request_totals"), 0},
		{"a label's value with quotes and braces", m.Sum("odd", "text", `a, "b" = {c}`), 1},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %v, want %v", c.why, c.got, c.want)
		}
	}
	want := map[string]float64{"configmaps": 3, "leases": 2e6}
	if diff := cmp.Diff(want, m.By("resource", "apiserver_request_total", "verb", "LIST")); diff != "" {
		t.Errorf("by resource (-want +got):\n%s", diff)
	}
	for _, wrong := range []string{"odd x\n", "odd{a} 1\n", "odd{a=\"b} 1\n", "odd{a=b} 1\n"} {
		if _, err := Parse([]byte(wrong), "odd"); err == nil {
			t.Errorf("%q: no error", wrong)
		}
	}
}
