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

// TestTerminal: the picture has every character of the output, and its colours.
func TestTerminal(t *testing.T) {
	long := strings.Repeat("word ", 60)
	output := "$ kubectl helloworld status\r\ncluster1  \x1b[31mConflict\x1b[0m  <&>\n\n" + strings.Repeat("x", columns) + "\n" + long + "\x1b[36m" + strings.Repeat("y", 2*columns) + "\x1b[0m end\n"
	svg := Terminal("a <title>", output)
	type span struct {
		Class string `xml:"class,attr"`
		Text  string `xml:",chardata"`
	}
	var got struct {
		Title string `xml:"title"`
		Lines []struct {
			Class string `xml:"class,attr"`
			Text  string `xml:",chardata"`
			Spans []span `xml:"tspan"`
		} `xml:"text"`
	}
	if err := xml.Unmarshal([]byte(svg), &got); err != nil {
		t.Fatal(err)
	}
	if got.Title != "a <title>" || got.Lines[0].Class != "prompt" || got.Lines[0].Text != "$ kubectl helloworld status" {
		t.Errorf("got title %q, first line %+v", got.Title, got.Lines[0])
	}
	if diff := cmp.Diff([]span{{"red", "Conflict"}}, got.Lines[1].Spans); diff != "" || got.Lines[1].Text != "cluster1    <&>" {
		t.Errorf("second line %+v: (-want +got):\n%s", got.Lines[1], diff)
	}
	if got.Lines[2].Text != "" || got.Lines[3].Text != strings.Repeat("x", columns) {
		t.Errorf("got %+v, want an empty line and one that just fits", got.Lines[2:4])
	}
	plain, colored := "", ""
	for _, line := range got.Lines[4:] {
		length := len(line.Text)
		plain += line.Text
		for _, s := range line.Spans {
			colored += s.Text
			length += len(s.Text)
			if s.Class != "cyan" {
				t.Errorf("%+v is not cyan", s)
			}
		}
		if length > columns+1 { // and the space where it is wrapped
			t.Errorf("%+v is too long", line)
		}
	}
	if plain != long+" end" || colored != strings.Repeat("y", 2*columns) {
		t.Errorf("the long line is %q and %q", plain, colored)
	}
}
