//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/utils/ptr"
)

// A ConfigMap in the cluster's namespace on the hub appears on the cluster,
// changes there when it changes here, keys that go included, and goes when it
// goes.
func copyUpdateDelete(t *testing.T, env *environment) {
	for _, c := range env.clusters {
		source := env.createSource(t, c, configMap("e2e-copy", map[string]string{"color": "blue", "size": "small"}))
		eventually(t, c.name+": the copy", c.hasCopy(source))

		source = env.updateSource(t, c, source.Name, func(cm *corev1.ConfigMap) {
			cm.Data = map[string]string{"color": "green", "shape": "round"}
		})
		eventually(t, c.name+": the changed copy", c.hasCopy(source))

		source = env.updateSource(t, c, source.Name, func(cm *corev1.ConfigMap) { cm.Data = nil })
		eventually(t, c.name+": the emptied copy", c.hasCopy(source))

		start := time.Now()
		env.deleteSource(t, c, source.Name)
		eventually(t, c.name+": the copy gone", c.hasNoCopy(source.Name))
		timings.record(c.name+": deletion → copy gone", time.Since(start))
	}
}

// Bytes that are no text arrive as they are.
func binaryDataIsCopied(t *testing.T, env *environment) {
	c := env.first()
	cm := configMap("e2e-binary", map[string]string{"text": "beside it"})
	cm.BinaryData = map[string][]byte{"bytes": {0x00, 0xff, 0xfe, 0x80, 0x0a}}
	source := env.createSource(t, c, cm)
	eventually(t, "the copy", c.hasCopy(source))

	source = env.updateSource(t, c, source.Name, func(cm *corev1.ConfigMap) {
		cm.BinaryData = map[string][]byte{"bytes": {0xc3, 0x28}}
		cm.Data = nil
	})
	eventually(t, "the changed copy", c.hasCopy(source))
}

// The API server allows no change of immutable data, so that a user replaces
// the object on the hub; the copy follows.
func immutableIsReplaced(t *testing.T, env *environment) {
	c := env.first()
	source := env.createSource(t, c, immutable("e2e-immutable", "1"))
	eventually(t, "the copy", c.hasCopy(source))

	env.deleteSource(t, c, source.Name)
	source = env.createSource(t, c, immutable(source.Name, "2"))
	eventually(t, "the replaced copy", c.hasCopy(source))
}

func immutable(name, version string) *corev1.ConfigMap {
	cm := configMap(name, map[string]string{"version": version})
	cm.Immutable = ptr.To(true)
	return cm
}

// Measures, on one ConfigMap of 1 KiB, how long a change takes to arrive. It
// is seen by a watch, from the moment the hub's API server is asked.
func changeLatency(t *testing.T, env *environment) {
	const changes = 30
	c := env.first()
	source := env.createSource(t, c, configMap("e2e-latency", map[string]string{
		"payload": fmt.Sprintf("%01024d", 0), "change": "0",
	}))
	eventually(t, "the copy", c.hasCopy(source))

	client, err := c.streaming()
	must(t, "create a streaming client", err)
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	events, err := client.CoreV1().ConfigMaps(c.installNamespace).Watch(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, source.Name).String(),
	})
	must(t, "watch the copy", err)
	defer events.Stop()

	var latencies []time.Duration
	for i := 1; i <= changes; i++ {
		want := strconv.Itoa(i)
		source.Data["change"] = want
		start := time.Now()
		source, err = env.hub.kube.CoreV1().ConfigMaps(c.name).Update(ctx, source, metav1.UpdateOptions{})
		must(t, "update ConfigMap on the hub", err)
		for seen := ""; seen != want; {
			event, open := <-events.ResultChan()
			if !open {
				t.Fatalf("the watch ended before change %s arrived", want)
			}
			if cm, ok := event.Object.(*corev1.ConfigMap); ok {
				seen = cm.Data["change"]
			}
		}
		latencies = append(latencies, time.Since(start))
	}
	timings.record(fmt.Sprintf("%s: change → copy, median of %d", c.name, changes), percentile(latencies, 50))
	timings.record(fmt.Sprintf("%s: change → copy, slowest of %d", c.name, changes), percentile(latencies, 100))
}

// A ConfigMap goes to the cluster in whose namespace it is, and to no other.
func eachClusterGetsItsOwn(t *testing.T, env *environment) {
	const shared = "e2e-same-name"
	own := map[*cluster]*corev1.ConfigMap{}
	same := map[*cluster]*corev1.ConfigMap{}
	for _, c := range env.clusters {
		own[c] = env.createSource(t, c, configMap("e2e-only-"+c.name, map[string]string{"cluster": c.name}))
		same[c] = env.createSource(t, c, configMap(shared, map[string]string{"cluster": c.name}))
	}
	for _, c := range env.clusters {
		eventually(t, c.name+": its own copy", c.hasCopy(own[c]))
		eventually(t, c.name+": its copy of the same name", c.hasCopy(same[c]))
		env.settle(t, c)
	}
	for _, c := range env.clusters {
		for _, other := range env.clusters {
			if other == c {
				continue
			}
			must(t, other.name+" has nothing of "+c.name, other.hasNoCopy(own[c].Name)(t.Context()))
		}
		must(t, c.name+" has kept its own", c.hasCopy(same[c])(t.Context()))
	}
}
