package controller

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// valid are the flags that a controller cannot do without.
var valid = []string{"--agent-image=image", "--namespace=open-cluster-management"}

func TestValidate(t *testing.T) {
	for _, test := range []struct {
		name string
		args []string
		want []string // what each line of the message contains
	}{
		{name: "the least that is needed", args: valid},
		{name: "an image that is none, and an option of the frame", args: []string{"--agent-image=a b", "--namespace=No"},
			want: []string{`--agent-image="a b"`, `--namespace="No"`}},
		{name: "no image", args: valid[1:], want: []string{"--agent-image is missing"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			opts := NewOptions()
			flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
			opts.AddFlags(flags)
			if err := flags.Parse(test.args); err != nil {
				t.Fatal(err)
			}
			var got []string
			if err := opts.Validate(); err != nil {
				got = strings.Split(err.Error(), "\n")
			}
			if len(got) != len(test.want) {
				t.Fatalf("got %d problems, want %d:\n%s", len(got), len(test.want), strings.Join(got, "\n"))
			}
			for i, want := range test.want {
				if !strings.Contains(got[i], want) {
					t.Errorf("problem %d is %q, want %q in it", i, got[i], want)
				}
			}
		})
	}
}
