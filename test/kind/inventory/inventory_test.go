package inventory

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDifference(t *testing.T) {
	cases := map[string]struct {
		reason        string
		before, after []string
		want          string
	}{
		"the same": {
			reason: "nothing to tell",
			before: []string{"configmaps default/a"}, after: []string{"configmaps default/a"},
		},
		"left behind": {
			reason: "something is there that was not",
			before: []string{"configmaps default/a"}, after: []string{"configmaps default/a", "secrets default/b"},
			want: "  left behind: secrets default/b\n",
		},
		"taken along": {
			reason: "removing took something that was there before",
			before: []string{"namespaces default", "secrets default/b"}, after: []string{"namespaces default"},
			want: "  taken along: secrets default/b\n",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Difference(c.before, c.after)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}
