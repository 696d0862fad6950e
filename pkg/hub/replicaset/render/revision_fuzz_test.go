package render

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
)

// FuzzDecode decodes any bytes as a stored revision. What it accepts, it encodes to the same revision and hash again,
// and renders or refuses, for a ControllerRevision that another client has changed.
func FuzzDecode(f *testing.F) {
	data, _, err := NewRevision(example()).Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data.Raw)
	for _, raw := range []string{"", "null", "{}", `{"configMaps":null}`, `{"configMaps":[{"name":"a","data":{"k":"$(X)"}}],"values":[{"name":"X"}]}`,
		`{"configMaps":[{"name":"a","data":{"k":"$(X)$$("}}],"values":[{"name":"X","expression":"cluster.spec.taints[0].key"}]}`,
		`{"configMaps":[{"name":"a"},{"name":"a"}],"values":[{"name":"X","label":"l","default":""},{"name":"X","claim":"c"}]}`} {
		f.Add([]byte(raw))
	}
	cluster := &clusterv1.ManagedCluster{}
	cluster.Name, cluster.Labels = "cluster1", map[string]string{"region": "eu"}
	f.Fuzz(func(t *testing.T, raw []byte) {
		revision, err := Decode(runtime.RawExtension{Raw: raw})
		if err != nil {
			return
		}
		checkEncode(t, revision)
		if program, err := Compile(revision); err == nil {
			if _, err := program.Render(cluster); err != nil && err.Error() == "" {
				t.Error("an error without a text")
			}
		}
	})
}

// FuzzEncode encodes any texts, and decodes them to the same revision.
func FuzzEncode(f *testing.F) {
	f.Add("a", "k", "<$(X)>\n", []byte{0, 0xff}, "X", "'https://' + cluster.metadata.name", true)
	f.Add("\u2028", "", "\xff", []byte(nil), "", "", false)
	f.Fuzz(func(t *testing.T, name, key, text string, binary []byte, value, expression string, has bool) {
		for _, fromJSON := range []*string{&name, &key, &value, &expression} {
			*fromJSON = strings.ToValidUTF8(*fromJSON, "?")
		}
		source := Content{Name: name, Data: map[string]string{key: text}, BinaryData: map[string][]byte{key: binary}, Immutable: has}
		definition := v1alpha1.Value{Name: value, Expression: expression}
		if has {
			definition.Default = &key
		}
		checkEncode(t, NewRevision([]Content{source, {Name: "z"}}, []v1alpha1.Value{definition}))
	})
}

// checkEncode encodes a revision and decodes it: the result holds the same, and has the same hash.
func checkEncode(t *testing.T, revision Revision) {
	t.Helper()
	data, hash, err := revision.Encode()
	if err != nil {
		return // too large, or no text
	}
	decoded, err := Decode(data)
	if err != nil {
		t.Fatalf("%s: %v", data.Raw, err)
	}
	again, hashAgain, err := decoded.Encode()
	if err != nil || hashAgain != hash || !bytes.Equal(again.Raw, data.Raw) {
		t.Errorf("encoded %s, then %s: %v", data.Raw, again.Raw, err)
	}
	if diff := cmp.Diff(revision, decoded, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("decoded another revision (-want +got):\n%s", diff)
	}
}
