package launcher

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestValidateReportsEveryProblem(t *testing.T) {
	root := t.TempDir()
	for _, test := range []struct {
		name    string
		options Options
		want    []string
	}{
		{"as make calls it", Options{Dir: ".sandbox", Programs: "bin", Module: "m", Clusters: 1, Images: []string{"app=" + root}}, nil},
		{"no cluster", Options{Dir: "d", Programs: "p", Module: "m"}, []string{"--clusters=0", "make sandbox-up CLUSTERS=2"}},
		{"negative", Options{Dir: "d", Programs: "p", Module: "m", Clusters: -1}, []string{"--clusters=-1"}},
		{"too many", Options{Dir: "d", Programs: "p", Module: "m", Clusters: 51}, []string{"--clusters=51"}},
		{"all at once", Options{Clusters: 0, Images: []string{"app"}}, []string{"--clusters=0", "--dir:", "--programs:", "--module:", "--image:"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := test.options.Validate()
			if (err == nil) != (len(test.want) == 0) {
				t.Fatalf("Validate = %v", err)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("Validate does not say %q:\n%v", want, err)
				}
			}
		})
	}
}

func TestNames(t *testing.T) {
	options := Options{Clusters: 2}
	if diff := cmp.Diff([]string{"hub", "cluster1", "cluster2"}, options.names()); diff != "" {
		t.Error(diff)
	}
}
