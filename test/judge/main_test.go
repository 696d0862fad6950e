package judge

import (
	"fmt"
	"io"
	"os"
	"testing"

	"k8s.io/klog/v2"
	ocmfeature "open-cluster-management.io/api/feature"
	"open-cluster-management.io/ocm/pkg/features"
)

func TestMain(m *testing.M) {
	if err := features.SpokeMutableFeatureGate.Add(ocmfeature.DefaultSpokeRegistrationFeatureGates); err != nil {
		fmt.Fprintln(os.Stderr, "declare OCM's feature gates:", err)
		os.Exit(1)
	}
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	os.Exit(m.Run())
}
