package peers

import (
	"testing"
	"time"
)

func TestSpecs(t *testing.T) {
	for name, test := range map[string]struct {
		reason, output string
		want           string // empty: an error
	}{
		"all": {
			reason: "Ginkgo 1",
			output: "Ran 11 of 11 Specs in 545.8 seconds\nSUCCESS! -- 11 Passed | 0 Failed | 0 Pending | 0 Skipped\nPASS\n",
			want:   "11 of 11 specs passed",
		},
		"a selection": {
			reason: "a label filter skips specs on purpose",
			output: "Ran 6 of 12 Specs in 7.5 seconds\nSUCCESS! -- 6 Passed | 0 Failed | 0 Pending | 6 Skipped\nPASS\n",
			want:   "6 of 6 specs passed",
		},
		"one failed":  {reason: "the suite failed", output: "Ran 2 of 2 Specs in 1 seconds\nFAIL! -- 1 Passed | 1 Failed | 0 Pending | 0 Skipped\n"},
		"less passed": {reason: "a spec that skips itself shows nothing", output: "Ran 3 of 3 Specs in 1 seconds\nSUCCESS! -- 2 Passed | 0 Failed | 0 Pending | 1 Skipped\n"},
		"none ran":    {reason: "nothing is shown", output: "Ran 0 of 5 Specs in 0 seconds\nSUCCESS! -- 0 Passed | 0 Failed | 0 Pending | 5 Skipped\n"},
		"no summary":  {reason: "it did not run", output: "PASS\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := specs(test.output)
			if got != test.want || (err == nil) != (test.want != "") {
				t.Errorf("%s: got %q, %v; want %q", test.reason, got, err, test.want)
			}
		})
	}
}

func TestRow(t *testing.T) {
	got := row("peer v1.0.0", "its suite", "11 of 11 specs passed", 7510*time.Millisecond)
	if want := "| peer v1.0.0 | its suite | 11 of 11 specs passed | 8 s |\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
