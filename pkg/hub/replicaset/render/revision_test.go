package render

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// example has every field of a source and of a value.
func example() ([]Content, []v1alpha1.Value) {
	eu, empty := "eu", ""
	sources := []Content{
		{Name: "settings", Data: map[string]string{"url": "https://$(HOST)/?a=<b>&c\n", "region": "$(REGION)", "money": "$$(X)"}},
		{Name: "logo", BinaryData: map[string][]byte{"logo.png": {0x89, 'P', 'N', 'G'}}, Immutable: true},
	}
	values := []v1alpha1.Value{
		{Name: "REGION", Label: "region", Default: &eu},
		{Name: "VERSION", Claim: "kubeversion.open-cluster-management.io", Default: &empty},
		{Name: "HOST", Expression: "cluster.metadata.name + '.example.com'"},
	}
	return sources, values
}

func encode(t *testing.T, r Revision) (runtime.RawExtension, string) {
	t.Helper()
	data, hash, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return data, hash
}

// TestEncode: a controller of a later version has to find the same hash, or it would start a rollout
// of every set.
func TestEncode(t *testing.T) {
	data, hash := encode(t, NewRevision(example()))
	got := fmt.Sprintf("%s\n%s\n", hash, data.Raw)
	golden := filepath.Join("testdata", "revision.golden")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
}

func TestDecode(t *testing.T) {
	revision := NewRevision(example())
	data, hash := encode(t, revision)
	// The API server's encoder escapes < and >.
	data.Raw = []byte(strings.NewReplacer("<", `\u003c`, ">", `\u003e`, `":{`, `": {`).Replace(string(data.Raw)))
	decoded, err := Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(revision, decoded); diff != "" {
		t.Error(diff)
	}
	if _, again := encode(t, decoded); again != hash {
		t.Errorf("the decoded revision has the hash %s, want %s", again, hash)
	}
	if _, err := Decode(runtime.RawExtension{Raw: []byte("{")}); err == nil {
		t.Error("no error")
	}
}

func TestHash(t *testing.T) {
	sources, values := example()
	_, base := encode(t, NewRevision(sources, values))
	tests := []struct {
		name, reason string
		change       func(sources []Content, values []v1alpha1.Value)
		same         bool
	}{
		{"nothing", "the same revision", func([]Content, []v1alpha1.Value) {}, true},
		{"order", "it has no meaning", func(s []Content, v []v1alpha1.Value) { slices.Reverse(s); slices.Reverse(v) }, true},
		{"empty map", "it holds the same", func(s []Content, _ []v1alpha1.Value) { s[0].BinaryData = map[string][]byte{} }, true},
		{"data", "clusters get other content", func(s []Content, _ []v1alpha1.Value) { s[0].Data = map[string]string{"url": ""} }, false},
		{"binaryData", "clusters get other content", func(s []Content, _ []v1alpha1.Value) { s[1].BinaryData = map[string][]byte{"logo.png": nil} }, false},
		{"immutable", "clusters get another field", func(s []Content, _ []v1alpha1.Value) { s[1].Immutable = false }, false},
		{"name of a source", "clusters get another ConfigMap", func(s []Content, _ []v1alpha1.Value) { s[0].Name = "s" }, false},
		{"name of a value", "another $(NAME) is expanded", func(_ []Content, v []v1alpha1.Value) { v[0].Name = "R" }, false},
		{"label", "it is another value", func(_ []Content, v []v1alpha1.Value) { v[0].Label = "r" }, false},
		{"claim", "it is another value", func(_ []Content, v []v1alpha1.Value) { v[1].Claim = "r" }, false},
		{"expression", "it is another value", func(_ []Content, v []v1alpha1.Value) { v[2].Expression = "''" }, false},
		{"default", "it is another value on some clusters", func(_ []Content, v []v1alpha1.Value) { v[0].Default = v[1].Default }, false},
		{"no default", "an empty default is one", func(_ []Content, v []v1alpha1.Value) { v[1].Default = nil }, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			sources, values := example()
			test.change(sources, values)
			if _, hash := encode(t, NewRevision(sources, values)); (hash == base) != test.same {
				t.Errorf("%s: got the hash %s, before %s", test.reason, hash, base)
			}
		})
	}
}

// TestNewRevision: a spec that comes from a cache must not be sorted.
func TestNewRevision(t *testing.T) {
	sources, values := example()
	NewRevision(sources, values)
	wantSources, wantValues := example()
	if diff := cmp.Diff(wantSources, sources) + cmp.Diff(wantValues, values); diff != "" {
		t.Errorf("the arguments changed:\n%s", diff)
	}
}

func TestEncodeLimit(t *testing.T) {
	full := Content{Name: "full", BinaryData: map[string][]byte{"b": make([]byte, MaxContent)}}
	if _, _, err := NewRevision([]Content{full}, nil).Encode(); err != nil {
		t.Errorf("one full ConfigMap: %v", err)
	}
	_, _, err := NewRevision([]Content{full, {Name: "more", Data: map[string]string{"k": strings.Repeat("x", 44_000)}}}, nil).Encode()
	const want = "the sources are too large for one revision: they have 1092576 bytes, and 1442190 as JSON, of at most 1441792; use several sets"
	if !errors.Is(err, ErrTooLarge) || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestEncodeNoText(t *testing.T) {
	_, _, err := NewRevision([]Content{{Name: "settings", Data: map[string]string{"a": "é", "b": "\xff"}}}, nil).Encode()
	const want = "data is not UTF-8: ConfigMap settings, key b; use binaryData"
	if !errors.Is(err, ErrNotText) || err.Error() != want {
		t.Errorf("got %v, want %s: clusters would be written again and again", err, want)
	}
}
