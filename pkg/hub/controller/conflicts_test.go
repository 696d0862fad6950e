package controller

import (
	"context"
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

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
