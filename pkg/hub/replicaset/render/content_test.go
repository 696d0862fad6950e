package render

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestContentOf(t *testing.T) {
	yes := true
	configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings", Namespace: "team-a", Labels: map[string]string{"a": "b"}},
		Data: map[string]string{"k": "v"}, BinaryData: map[string][]byte{"b": {0xff}}, Immutable: &yes}
	want := Content{Name: "settings", Data: map[string]string{"k": "v"}, BinaryData: map[string][]byte{"b": {0xff}}, Immutable: true}
	if diff := cmp.Diff(want, ContentOf(configMap)); diff != "" {
		t.Error(diff)
	}
}

func TestSum(t *testing.T) {
	no := false
	base := Content{Name: "a", Data: map[string]string{"k": "v", "l": "w"}}
	same := map[string]Content{
		"an empty map":         {Name: "a", Data: map[string]string{"l": "w", "k": "v"}, BinaryData: map[string][]byte{}},
		"of a live ConfigMap":  ContentOf(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "1"}, Data: base.Data}),
		"immutable: false":     ContentOf(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Data: base.Data, Immutable: &no}),
		"the same, once again": base,
	}
	for name, content := range same {
		if content.Sum() != base.Sum() {
			t.Errorf("%s has another sum", name)
		}
	}
	seen := map[string]string{base.Sum(): "base"}
	different := map[string]Content{
		"another name":        {Name: "b", Data: base.Data},
		"another value":       {Name: "a", Data: map[string]string{"k": "v", "l": "x"}},
		"another key":         {Name: "a", Data: map[string]string{"k": "v", "m": "w"}},
		"a boundary moved":    {Name: "a", Data: map[string]string{"kv": "", "l": "w"}},
		"one entry less":      {Name: "a", Data: map[string]string{"k": "v"}},
		"binaryData":          {Name: "a", BinaryData: map[string][]byte{"k": []byte("v"), "l": []byte("w")}},
		"both, split in half": {Name: "a", Data: map[string]string{"k": "v"}, BinaryData: map[string][]byte{"l": []byte("w")}},
		"immutable":           {Name: "a", Data: base.Data, Immutable: true},
		"nothing":             {Name: "a"},
	}
	for name, content := range different {
		if other, ok := seen[content.Sum()]; ok {
			t.Errorf("%s has the sum of %s", name, other)
		}
		seen[content.Sum()] = name
	}
}
