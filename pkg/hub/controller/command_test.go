package controller

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	logsapi "k8s.io/component-base/logs/api/v1"
)

func TestCommandErrors(t *testing.T) {
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"no flags", nil, "--agent-image is missing"},
		{"an unknown flag", []string{"--nope"}, "unknown flag: --nope: see helloworld-controller --help"},
		{"a value of the wrong kind", []string{"--secure-port=x"}, "see helloworld-controller --help"},
		{"an argument", []string{"start"}, `unexpected arguments ["start"]`},
		{"a kubeconfig that is not there", append([]string{"--kubeconfig=/nonexistent"}, valid...), "read --kubeconfig=/nonexistent"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if err := logsapi.ResetForTest(nil); err != nil {
				t.Fatal(err)
			}
			command := NewCommand()
			var output bytes.Buffer
			command.SetOut(&output)
			command.SetErr(&output)
			command.SetArgs(test.args)
			err := command.ExecuteContext(t.Context())
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got error %v, want %q", err, test.want)
			}
			if output.Len() > 0 {
				t.Errorf("the command prints besides its error: %s", output.String())
			}
		})
	}
}

func TestCommandVersion(t *testing.T) {
	command := NewCommand()
	var output bytes.Buffer
	command.SetOut(&output)
	command.SetArgs([]string{"--version"})
	if err := command.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(output.String(), "(commit ") {
		t.Errorf("the version does not contain the commit: %s", output.String())
	}
}

func TestQuietConflicts(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "managedclusteraddons"}, "helloworld", errors.New("modified"))
	for _, test := range []struct {
		name string
		err  error
		want int
	}{
		{"a conflict is part of every normal change", conflict, 0},
		{"also as the cause", fmt.Errorf("update: %w", conflict), 0},
		{"another error is logged", errors.New("broken"), 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			handled := 0
			count := func(context.Context, error, string, ...any) { handled++ }
			for _, handle := range QuietConflicts([]utilruntime.ErrorHandler{count}) {
				handle(t.Context(), test.err, "reconciliation failed")
			}
			if handled != test.want {
				t.Errorf("handed on %d times, want %d", handled, test.want)
			}
		})
	}
}
