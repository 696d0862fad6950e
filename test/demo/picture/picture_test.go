package picture

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const output = `
  0.0s  0. The programs of the sandbox (the first time this compiles for minutes)
   $ bin/ocm-sandbox build
         0s  1/10 etcd
  0.0s  1. A hub and 1 managed cluster
      14.2s  cluster1: control plane ready
 +0.7s  the ConfigMap is on the managed cluster: "<hello> & more"
            ConfigMap default/greeting on cluster1

 53.0s  Seen: everything
   from the ManagedClusterAddOn to the first copy          1.9s   aim 5.0s
   change on the hub to change of the copy                43 ms
   $ bin/ocm-sandbox --dir=x  1s down
`

func TestLines(t *testing.T) {
	want := []Line{
		{Command, "", "make demo"},
		{Chapter, "0.0s", "1. A hub and 1 managed cluster"},
		{Seen, "+0.7s", `the ConfigMap is on the managed cluster: "<hello> & more"`},
		{Chapter, "53.0s", "Seen: everything"},
		{Figure, "1.9s", "from the ManagedClusterAddOn to the first copy"},
		{Figure, "43 ms", "change on the hub to change of the copy"},
	}
	got, err := Lines(output)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestFailedRunHasNoPicture: a demo that fails prints no summary, and the old picture stays.
func TestFailedRunHasNoPicture(t *testing.T) {
	failed, _, _ := strings.Cut(output, "   from")
	if _, err := Lines(failed); !errors.Is(err, ErrIncomplete) {
		t.Errorf("got %v", err)
	}
}

func TestLongTextIsCutOff(t *testing.T) {
	lines, err := Lines(" +0.7s  " + strings.Repeat("ä", maxText+1) + output)
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Repeat("ä", maxText-1) + "…"; lines[1].Text != want {
		t.Errorf("got %s", lines[1].Text)
	}
}

// TestPictures are XML, whatever the text is: the one of a run, and the README's.
func TestPictures(t *testing.T) {
	lines, err := Lines(output)
	if err != nil {
		t.Fatal(err)
	}
	committed, err := os.ReadFile("../../../docs/demo.svg")
	if err != nil {
		t.Fatal(err)
	}
	for name, picture := range map[string]string{"run": SVG("a <title>", lines), "docs/demo.svg": string(committed)} {
		decoder := xml.NewDecoder(strings.NewReader(picture))
		for {
			_, err := decoder.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if !strings.Contains(picture, "Seen: everything") {
			t.Errorf("%s lacks the summary", name)
		}
	}
}
