//go:build ui

package ui

import (
	"bytes"
	"flag"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

var update = flag.Bool("update", false, "write the pictures in docs/ui anew")

// pictures compares the page with the pictures of the documentation, which a person has looked at.
func pictures(t *testing.T, fresh func(*testing.T, ...*emulation.MediaFeature) *page) {
	for _, test := range []struct{ name, scheme, opened string }{
		{"fleet", "light", ""},
		{"fleet-dark", "dark", ""},
		{"cluster", "light", "paris"},
	} {
		p := fresh(t, &emulation.MediaFeature{Name: "prefers-color-scheme", Value: test.scheme},
			&emulation.MediaFeature{Name: "prefers-reduced-motion", Value: "reduce"})
		p.await(t, text("#rollouts")+`.includes("canary")`)
		if test.opened != "" {
			p.do(t, chromedp.Click(chromedp.CSS("[data-cluster="+test.opened+"]")))
			p.await(t, text("#panel")+`.includes("Conditions")`)
		}
		p.do(t, chromedp.Evaluate[chromedp.Void](`document.activeElement.blur()`))
		content := run(t, p, chromedp.CaptureScreenshot())
		file := filepath.Join("..", "..", "docs", "ui", test.name+".png")
		if *update {
			if err := os.WriteFile(file, content, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		known, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		share, err := difference(known, content)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %.1f %% of the picture differ from docs/ui", test.name, 100*share)
		if share > mostDifferent {
			kept := filepath.Join(t.ArtifactDir(), test.name+".png")
			if err := os.WriteFile(kept, content, 0o644); err != nil {
				t.Fatal(err)
			}
			t.Errorf("%s: look at %s; if it is right, run the test with -update", test.name, kept)
		}
	}
}

// Two machines draw the same text with other fonts. So a picture is compared by squares: a square differs if its mean colour does, by
// more than a tenth of the range in a channel, and so may a small share of the squares. A tile of another colour is more than that
// in its own squares, and a panel that is missing in a third of all.
const (
	square        = 20 // pixels
	mostDifferent = 0.02
)

// difference returns the share of squares that differ.
func difference(a, b []byte) (float64, error) {
	first, err := png.Decode(bytes.NewReader(a))
	if err != nil {
		return 0, err
	}
	second, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		return 0, err
	}
	if first.Bounds() != second.Bounds() {
		return 1, nil
	}
	different, all := 0, 0
	for y := 0; y < first.Bounds().Dy(); y += square {
		for x := 0; x < first.Bounds().Dx(); x += square {
			all++
			m, n := mean(first, x, y), mean(second, x, y)
			for i := range m {
				if d := m[i] - n[i]; d > 0x1999 || d < -0x1999 {
					different++
					break
				}
			}
		}
	}
	return float64(different) / float64(all), nil
}

// mean returns the mean colour of a square, each channel up to 0xffff.
func mean(picture image.Image, x0, y0 int) [3]int {
	var sum [3]int
	n := 0
	for y := y0; y < min(y0+square, picture.Bounds().Max.Y); y++ {
		for x := x0; x < min(x0+square, picture.Bounds().Max.X); x++ {
			r, g, b, _ := picture.At(x, y).RGBA()
			sum[0], sum[1], sum[2], n = sum[0]+int(r), sum[1]+int(g), sum[2]+int(b), n+1
		}
	}
	return [3]int{sum[0] / n, sum[1] / n, sum[2] / n}
}
