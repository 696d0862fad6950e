package install

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"open-cluster-management.io/helloworld-addon/manifests"
)

// TestRenderingsShareNothing: addon-framework and the controllers change what they get, and the agents of other clusters
// must not change with it.
func TestRenderingsShareNothing(t *testing.T) {
	for name, values := range map[string]Values{
		"default mode": {ClusterName: "cluster1", InstallNamespace: "agents", Image: "image"},
		"hosted mode":  {ClusterName: "cluster1", InstallNamespace: "agents", Image: "image", Hosted: true},
	} {
		t.Run(name, func(t *testing.T) {
			want := toYAML(t, renderAll(t, values))
			for _, object := range renderAll(t, values) {
				clearAll(reflect.ValueOf(object))
			}
			if diff := cmp.Diff(want, toYAML(t, renderAll(t, values))); diff != "" {
				t.Errorf("a rendering differs after another one was cleared (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRenderDecodesOnce: a rendering for one more cluster costs less than decoding the
// embedded documents does.
func TestRenderDecodesOnce(t *testing.T) {
	const runs = 20
	rendering := testing.AllocsPerRun(runs, func() {
		renderAll(t, Values{ClusterName: "cluster1", InstallNamespace: "agents", Image: manifests.DefaultImage, Hosted: true})
	})
	decoding := testing.AllocsPerRun(runs, func() {
		if _, err := decodeEmbedded(); err != nil {
			t.Fatal(err)
		}
	})
	if rendering > decoding/2 {
		t.Errorf("a rendering allocates %.0f times, decoding %.0f times; at most half is wanted", rendering, decoding)
	}
	t.Logf("a rendering allocates %.0f times, decoding %.0f times", rendering, decoding)
}

// renderAll returns the agent's objects and the hook.
func renderAll(t *testing.T, values Values) []runtime.Object {
	t.Helper()
	objects, err := Render(values)
	if err != nil {
		t.Fatal(err)
	}
	hook, err := RenderHook(values)
	if err != nil {
		t.Fatal(err)
	}
	return append(objects, hook)
}

// clearAll empties every string, number, boolean and map value that can be reached from the value and set.
func clearAll(value reflect.Value) {
	switch value.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !value.IsNil() {
			clearAll(value.Elem())
		}
	case reflect.Struct:
		for i := range value.NumField() {
			clearAll(value.Field(i))
		}
	case reflect.Slice, reflect.Array:
		for i := range value.Len() {
			clearAll(value.Index(i))
		}
	case reflect.Map:
		for _, key := range value.MapKeys() {
			value.SetMapIndex(key, reflect.Zero(value.Type().Elem()))
		}
	default:
		if value.CanSet() {
			value.SetZero()
		}
	}
}
