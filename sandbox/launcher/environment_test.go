package launcher

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEnvironment(t *testing.T) {
	want := []string{
		"SANDBOX_DIR=/s", "OCM_SANDBOX_USE=/s", "OCM_SANDBOX=/bin/ocm-sandbox", "KUBECONFIG=/s/kubeconfig", "HUB_KUBECONFIG=/s/hub.kubeconfig",
		"LOCAL_CLUSTER_KUBECONFIG=/s/local-cluster.kubeconfig", "PATH=/usr/bin:/bin:/programs",
	}
	for name, path := range map[string]string{"once": "/usr/bin:/bin", "again": "/usr/bin:/bin:/programs"} {
		if diff := cmp.Diff(want, Environment("/s", "/bin/ocm-sandbox", "/programs", path, []string{"hub", "local-cluster"})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
