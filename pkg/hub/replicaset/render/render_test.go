package render

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
)

func cluster1() *clusterv1.ManagedCluster {
	return &clusterv1.ManagedCluster{
		ObjectMeta: metav1.ObjectMeta{Name: "cluster1", Labels: map[string]string{"region": "us", "empty": ""}, Annotations: map[string]string{"note": " a, b "}},
		Spec: clusterv1.ManagedClusterSpec{
			ManagedClusterClientConfigs: []clusterv1.ClientConfig{{URL: "https://api:6443", CABundle: []byte("ca")}},
			Taints:                      []clusterv1.Taint{{Key: "gpu", Value: "a100", Effect: clusterv1.TaintEffectNoSelect}},
		},
		Status: clusterv1.ManagedClusterStatus{
			Version:       clusterv1.ManagedClusterVersion{Kubernetes: "v1.34.4"},
			ClusterClaims: []clusterv1.ManagedClusterClaim{{Name: "id.k8s.io", Value: "c1"}, {Name: "long", Value: strings.Repeat("x", MaxValue+1)}},
		},
	}
}

func compile(t testing.TB, sources []Content, values ...v1alpha1.Value) *Program {
	t.Helper()
	program, err := Compile(NewRevision(sources, values))
	if err != nil {
		t.Fatal(err)
	}
	return program
}

func TestRender(t *testing.T) {
	eu := "eu"
	sources := []Content{
		{Name: "settings", Immutable: true, Data: map[string]string{"$(REGION)": "$(REGION) $(ZONE) $(ID) $(EMPTY) $(HOST) $$(HOST)", "plain": "text"},
			BinaryData: map[string][]byte{"b": []byte("$(REGION)")}},
		{Name: "empty"},
	}
	program := compile(t, sources,
		v1alpha1.Value{Name: "REGION", Label: "region", Default: &eu}, v1alpha1.Value{Name: "ZONE", Label: "zone", Default: &eu},
		v1alpha1.Value{Name: "ID", Claim: "id.k8s.io"}, v1alpha1.Value{Name: "EMPTY", Label: "empty"},
		v1alpha1.Value{Name: "HOST", Expression: "cluster.metadata.name + '.example.com'"},
		// No source uses it, so the missing label is no error.
		v1alpha1.Value{Name: "UNUSED", Label: "missing"})
	want := []Content{
		{Name: "empty"},
		{Name: "settings", Immutable: true, Data: map[string]string{"$(REGION)": "us eu c1  cluster1.example.com $(HOST)", "plain": "text"},
			BinaryData: map[string][]byte{"b": []byte("$(REGION)")}},
	}
	// Twice: a second cluster must not see the first one's values.
	for _, name := range []string{"cluster1", "cluster2"} {
		cluster := cluster1()
		cluster.Name = name
		want[1].Data["$(REGION)"] = fmt.Sprintf("us eu c1  %s.example.com $(HOST)", name)
		got, err := program.Render(cluster)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	if sources[0].Data["plain"] != "text" || !strings.HasPrefix(sources[0].Data["$(REGION)"], "$(REGION)") {
		t.Error("the source changed")
	}
}

func TestRenderErrors(t *testing.T) {
	const half = MaxContent / 2
	tests := []struct {
		name, data string
		values     []v1alpha1.Value
		want       string
	}{
		{"missing label", "$(V)", []v1alpha1.Value{{Name: "V", Label: "zone"}},
			"ConfigMap settings, key k, value V: ManagedCluster cluster1 has no label zone, and the value has no default"},
		{"missing claim", "$(V)", []v1alpha1.Value{{Name: "V", Claim: "zone"}},
			"ConfigMap settings, key k, value V: ManagedCluster cluster1 has no claim zone, and the value has no default"},
		{"a label is no claim", "$(V)", []v1alpha1.Value{{Name: "V", Claim: "region"}},
			"ConfigMap settings, key k, value V: ManagedCluster cluster1 has no claim region, and the value has no default"},
		{"expression", "$(V)", []v1alpha1.Value{{Name: "V", Expression: "cluster.metadata.labels.zone"}},
			"ConfigMap settings, key k, value V: evaluate the expression on ManagedCluster cluster1: no such key: zone"},
		{"long value", "$(V)", []v1alpha1.Value{{Name: "V", Claim: "long"}},
			"ConfigMap settings, key k, value V: it has 4097 bytes on ManagedCluster cluster1, and may have at most 4096"},
		{"large content", strings.Repeat("x", half) + "$(V)" + strings.Repeat("x", half-1), []v1alpha1.Value{{Name: "V", Label: "region"}},
			"ConfigMap settings has 1048577 bytes on ManagedCluster cluster1, and may have at most 1048576"},
		{"content that is just not too large", strings.Repeat("x", half) + "$(V)" + strings.Repeat("x", half-2), []v1alpha1.Value{{Name: "V", Label: "region"}}, ""},
		{"content that would fill the memory", strings.Repeat("$(V)", MaxContent/4), []v1alpha1.Value{{Name: "V", Expression: "cluster.status.clusterClaims[1].value.substring(1)"}},
			"ConfigMap settings has 1073741824 bytes on ManagedCluster cluster1, and may have at most 1048576"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := compile(t, []Content{{Name: "settings", Data: map[string]string{"k": test.data}}}, test.values...).Render(cluster1())
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	t.Run("binary data counts", func(t *testing.T) {
		source := Content{Name: "settings", Data: map[string]string{"k": "x"}, BinaryData: map[string][]byte{"b": make([]byte, MaxContent)}}
		if _, err := compile(t, []Content{source}).Render(cluster1()); err == nil {
			t.Error("no error")
		}
	})
}

func TestCompileErrors(t *testing.T) {
	many := strings.Builder{}
	for i := range 12 {
		fmt.Fprintf(&many, "$(X%02d)", i)
	}
	tests := []struct {
		name, data string
		value      v1alpha1.Value
		want       string
	}{
		{"unknown names, each once, sorted", "$(Y)$(X)$(Y)", v1alpha1.Value{Name: "V", Label: "a"},
			"ConfigMap settings, key k: $(X) has no value: add it to spec.values, or write $$(X) for the text; " +
				"ConfigMap settings, key k: $(Y) has no value: add it to spec.values, or write $$(Y) for the text"},
		{"a name without end", "$(" + strings.Repeat("ä", 100) + ")", v1alpha1.Value{Name: "V", Label: "a"},
			fmt.Sprintf("ConfigMap settings, key k: $(%[1]s…) has no value: add it to spec.values, or write $$(%[1]s…) for the text", strings.Repeat("ä", 63))},
		{"a value and a name", "$(X)", v1alpha1.Value{Name: "V", Expression: "clustr"},
			"value V: line 1, column 1: undeclared reference to 'clustr' (in container ''); ConfigMap settings, key k: $(X) has no value: add it to spec.values, or write $$(X) for the text"},
		{"a value that is nothing", "", v1alpha1.Value{Name: "V"}, "value V: it has no label, claim or expression"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Compile(NewRevision([]Content{{Name: "settings", Data: map[string]string{"k": test.data}}}, []v1alpha1.Value{test.value}))
			if err == nil || err.Error() != test.want {
				t.Errorf("got %v\nwant %s", err, test.want)
			}
		})
	}
	_, err := Compile(NewRevision([]Content{{Name: "settings", Data: map[string]string{"k": many.String()}}}, nil))
	if err == nil || !strings.Contains(err.Error(), "X09") || strings.Contains(err.Error(), "X10") || !strings.HasSuffix(err.Error(), "; and 2 more") {
		t.Errorf("got %v", err)
	}
}

// BenchmarkRender renders 1 KiB with a label, a claim and an expression for 1,000 clusters.
func BenchmarkRender(b *testing.B) {
	data := "region: $(REGION)\nid: $(ID)\nurl: $(URL)\n"
	source := Content{Name: "settings", Data: map[string]string{"settings.yaml": data + strings.Repeat("x", 1024-len(data))}}
	program := compile(b, []Content{source}, v1alpha1.Value{Name: "REGION", Label: "region"}, v1alpha1.Value{Name: "ID", Claim: "id.k8s.io"},
		v1alpha1.Value{Name: "URL", Expression: "'https://' + cluster.metadata.name + '.example.com'"})
	var clusters []*clusterv1.ManagedCluster
	for i := range 1000 {
		cluster := cluster1()
		cluster.Name = fmt.Sprintf("cluster%d", i)
		clusters = append(clusters, cluster)
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, cluster := range clusters {
			if _, err := program.Render(cluster); err != nil {
				b.Fatal(err)
			}
		}
	}
}
