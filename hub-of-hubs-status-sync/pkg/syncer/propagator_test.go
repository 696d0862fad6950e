package syncer

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/internal/runtest"
)

// answers is an API server that has a Deployment of one image at each look; an empty image is an error, "none" no Deployment.
type answers struct {
	client.Reader
	*testing.T
	images []string
	gauges []float64
	end    context.CancelFunc
}

func (a *answers) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	a.gauges = append(a.gauges, testutil.ToFloat64(propagatorWrites))
	options := &client.ListOptions{}
	options.ApplyOptions(opts)
	if options.Namespace != "ns" || options.LabelSelector.String() != "component=ocm-policy-propagator" {
		a.Errorf("it lists %s in %q", options.LabelSelector, options.Namespace)
	}
	if len(a.images) == 0 {
		a.end()
		return errors.New("ended")
	}
	image := a.images[0]
	a.images = a.images[1:]
	if image == "" {
		return errors.New("forbidden")
	}
	if image != "none" {
		deployment := appsv1.Deployment{}
		deployment.Name = "grc"
		deployment.Spec.Template.Spec.Containers = []corev1.Container{{Image: image}}
		list.(*appsv1.DeploymentList).Items = []appsv1.Deployment{deployment}
	}
	return nil
}

// TestPropagatorCheck: a propagator that writes is logged once until it changes, with what to do, and the metric follows.
func TestPropagatorCheck(t *testing.T) {
	const good = "quay.io/open-cluster-management-hub-of-hubs/governance-policy-propagator:no_status_update"
	logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
	ctx, cancel := context.WithCancel(klog.NewContext(t.Context(), logger))
	a := &answers{T: t, images: []string{"none", "p:v1", "p:v1", "", "p:v2", good, "p:v2"}, end: cancel}
	clock := testclock.NewFakeClock(time.Unix(10_000, 0))
	propagatorWrites.Set(0)
	runtest.Passing(t, clock, time.Minute, func() {
		if err := (&propagatorCheck{reader: a, namespace: "ns", clock: clock}).Start(ctx); err != nil {
			t.Error(err)
		}
	})
	logged := logger.GetSink().(ktesting.Underlier).GetBuffer().String()
	for _, found := range []string{`found="grc: p:v1"`, `found="grc: p:v2" image="` + good + `" check="` + propagatorCommand} {
		if !strings.Contains(logged, found) {
			t.Errorf("the log has no %s:\n%s", found, logged)
		}
	}
	if got := strings.Count(logged, "The policy propagator writes"); got != 3 {
		t.Errorf("%d lines, want 3:\n%s", got, logged)
	}
	// The first look is before any answer; the answer after the second v1 is an error, which changes nothing.
	for i, want := range []float64{0, 0, 1, 1, 1, 1, 0, 1} {
		if a.gauges[i] != want {
			t.Errorf("the metric before look %d is %v, not %v", i+1, a.gauges[i], want)
		}
	}
}

// TestPropagatorPage: the page of the installation has the command and the image that the log names.
func TestPropagatorPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/install.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{propagatorCommand, propagatorImage} {
		if !strings.Contains(string(page), want) {
			t.Errorf("docs/install.md does not have %s", want)
		}
	}
}
