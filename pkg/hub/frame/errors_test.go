package frame

import (
	"context"
	"errors"
	"testing"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	k8smetrics "k8s.io/component-base/metrics"
)

// TestCountErrors: each error is counted, and the other handlers still get it.
func TestCountErrors(t *testing.T) {
	handled := 0
	registry := k8smetrics.NewKubeRegistry()
	handlers := CountErrors(registry.MustRegister, []utilruntime.ErrorHandler{func(context.Context, error, string, ...any) { handled++ }})
	for range 2 {
		for _, handle := range handlers {
			handle(t.Context(), errors.New("broken"), "Failed to reconcile")
		}
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	counted := -1.0
	for _, family := range families {
		if family.GetName() == "helloworld_controller_errors_total" {
			counted = family.GetMetric()[0].GetCounter().GetValue()
		}
	}
	if handled != 2 || counted != 2 {
		t.Errorf("handled %d and counted %v, want 2", handled, counted)
	}
}
