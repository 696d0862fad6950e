package ocm

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	klusterletchart "open-cluster-management.io/ocm/deploy/klusterlet/chart"
	"sigs.k8s.io/yaml"
)

// TestKlusterletValues renders OCM's own chart.
func TestKlusterletValues(t *testing.T) {
	first, second := bootstrap{bootstrapSecret, "first"}, bootstrap{bootstrapSecret + "-hub2", "second"}
	const secretOfFirst = "Secret open-cluster-management-agent/bootstrap-hub-kubeconfig"
	const operator, namespace = "Deployment open-cluster-management/klusterlet", "Namespace /open-cluster-management-agent"
	cases := map[string]struct {
		reason     string
		cluster    Cluster
		bootstraps []bootstrap
		mode       string
		want       []string
	}{
		"default": {
			reason:     "the operator and the agents are on the managed cluster",
			cluster:    Cluster{Name: "cluster2"},
			bootstraps: []bootstrap{first},
			mode:       "Singleton",
			want:       []string{operator, "Klusterlet /klusterlet", namespace, secretOfFirst},
		},
		"several hubs": {
			reason:     "the agent knows a bootstrap kubeconfig of each hub, and restarts at a change of the first one's Secret",
			cluster:    Cluster{Name: "cluster2"},
			bootstraps: []bootstrap{first, second},
			mode:       "Singleton",
			want:       []string{operator, "Klusterlet /klusterlet", namespace, secretOfFirst, secretOfFirst + "-hub2"},
		},
		"hosted": {
			reason:     "all is in a namespace of its own on the hosting cluster, whose operator is there already",
			cluster:    Cluster{Name: "cluster2", Hosting: &Cluster{Name: "cluster1"}},
			bootstraps: []bootstrap{first},
			mode:       "Hosted",
			want: []string{"Klusterlet /klusterlet-cluster2", "Namespace /klusterlet-cluster2",
				"Secret klusterlet-cluster2/bootstrap-hub-kubeconfig", "Secret klusterlet-cluster2/external-managed-kubeconfig"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			objects := render(t, klusterletValues(c.cluster, published, c.bootstraps, "managed"))
			var got []string
			for name := range objects {
				if slices.Contains([]string{"Deployment", "Klusterlet", "Namespace", "Secret"}, strings.Fields(name)[0]) {
					got = append(got, name)
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
			spec, _ := objects["Klusterlet /"+c.cluster.klusterlet()]["spec"].(map[string]any)
			if diff := cmp.Diff(map[string]any{"mode": c.mode}, spec["deployOption"]); diff != "" {
				t.Errorf("the mode (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(wantHubs(c.bootstraps), spec["registrationConfiguration"]); diff != "" {
				t.Errorf("the hubs (-want +got):\n%s", diff)
			}
		})
	}
}

// wantHubs is the Klusterlet's registrationConfiguration, nil for one hub.
func wantHubs(bootstraps []bootstrap) any {
	if len(bootstraps) == 1 {
		return nil
	}
	var names []any
	for _, b := range bootstraps {
		names = append(names, map[string]any{"name": b.secret})
	}
	return map[string]any{
		"featureGates":         []any{map[string]any{"feature": "MultipleHubs", "mode": "Enable"}},
		"bootstrapKubeConfigs": map[string]any{"type": "LocalSecrets", "localSecretsConfig": map[string]any{"kubeConfigSecrets": names}},
	}
}

// render returns the objects of OCM's klusterlet chart by kind, namespace and name.
func render(t *testing.T, values map[string]any) map[string]map[string]any {
	t.Helper()
	loaded, err := loadChart(klusterletchart.ChartFiles, klusterletchart.ChartName)
	if err != nil {
		t.Fatal(err)
	}
	release := chartutil.ReleaseOptions{Name: "test", Namespace: Namespace, IsInstall: true}
	merged, err := chartutil.ToRenderValues(loaded, values, release, chartutil.DefaultCapabilities)
	if err != nil {
		t.Fatal(err)
	}
	files, err := engine.Render(loaded, merged)
	if err != nil {
		t.Fatal(err)
	}
	objects := map[string]map[string]any{}
	for file, text := range files {
		for document := range strings.SplitSeq(text, "\n---\n") {
			var object map[string]any
			if err := yaml.Unmarshal([]byte(document), &object); err != nil {
				t.Fatalf("%s: %v in:\n%s", file, err, document)
			}
			if metadata, ok := object["metadata"].(map[string]any); ok {
				namespace, _ := metadata["namespace"].(string)
				objects[fmt.Sprint(object["kind"], " ", namespace, "/", metadata["name"])] = object
			}
		}
	}
	return objects
}
