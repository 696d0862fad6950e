//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
)

const (
	// fightLasts is how long another writer undoes every write of a copy.
	fightLasts = time.Minute
	// mostWrites is what it sees of the agent's in that time.
	mostWrites = 30
	// changeEach is how often another ConfigMap changes meanwhile.
	changeEach = 250 * time.Millisecond
	// leastSlow is the least time of a change that counts as slow. Below it, the ratio
	// of two medians shows what else the machine does, and not what the agent does.
	leastSlow = 50 * time.Millisecond
)

// The agent slows down against a writer that changes a copy back at once, for example
// an operator that injects a key into every ConfigMap
// (docs/design.md#rule-11-contest). The condition and an event name the copy, the
// agent stays ready and renews its lease, and other ConfigMaps are copied as fast as
// before. When the other writer stops, the copy is in sync again.
func contestedCopyIsPaced(t *testing.T, env *environment) {
	c := env.first()
	fought := env.createSource(t, c, configMap("e2e-contested", map[string]string{"owner": "hub"}))
	brief := env.createSource(t, c, configMap("e2e-contested-briefly", map[string]string{"owner": "hub"}))
	other := env.createSource(t, c, configMap("e2e-contested-not", map[string]string{"change": "0"}))
	for _, source := range []*corev1.ConfigMap{fought, brief, other} {
		eventually(t, "the copy of "+source.Name, c.hasCopy(source))
	}
	eventually(t, "all is well", env.reports(c, metav1.ConditionTrue, "Synced", "ConfigMaps synced"))
	before := env.changeFor(t, c, other.Name, 10*time.Second)
	ready, renewed := c.readySince(t), c.renewed(t)

	start := time.Now()
	writes, stop := c.fight(t, fought)
	_, stopBrief := c.fight(t, brief)
	eventually(t, "both are named", env.reports(c, metav1.ConditionFalse, "Contested",
		"; contested: "+fought.Name+", "+brief.Name+": another writer"))
	stopBrief()
	eventually(t, "the event", env.hasEvent(fought, "CopyContested"))
	during := env.changeFor(t, c, other.Name, fightLasts-time.Since(start))
	count := writes.Load()

	t.Logf("%d writes of the agent's in %s", count, time.Since(start).Round(time.Second))
	report := func(what string, d []time.Duration) {
		t.Logf("another ConfigMap, %s: change → copy: median %s, p99 %s of %d", what, percentile(d, 50), percentile(d, 99), len(d))
	}
	report("before", before)
	report("meanwhile", during)
	timings.record(c.name+": change → copy before a fight over another, median", percentile(before, 50))
	timings.record(c.name+": change → copy during a fight over another, p99", percentile(during, 99))
	if count < 4 || count > mostWrites {
		t.Errorf("%d writes of the agent's in the first minute, want at most %d", count, mostWrites)
	}
	// The median: one slow change in a hundred is the machine's.
	if floor := percentile(before, 50); percentile(during, 50) > max(2*floor, leastSlow) {
		t.Errorf("another ConfigMap: median %s during the fight, %s before", percentile(during, 50), floor)
	}
	if now := c.readySince(t); now != ready {
		t.Errorf("the agent's pod is ready since %s, before the fight since %s", now, ready)
	}
	if now := c.renewed(t); !now.After(renewed) {
		t.Errorf("the lease was last renewed at %s", now)
	}
	eventually(t, "the one that is no longer fought over is not named", env.reports(c, metav1.ConditionFalse, "Contested",
		"; contested: "+fought.Name+": another writer"))
	must(t, "the copy that was fought over for a while", c.hasCopy(brief)(t.Context()))
	stop()
	env.deleteSource(t, c, fought.Name)
	eventually(t, "all is well again", env.reports(c, metav1.ConditionTrue, "Synced", "ConfigMaps synced"))
}

// fight overwrites the copy of source each time it is as the source is, until
// stop is called, and counts how often.
func (c *cluster) fight(t *testing.T, source *corev1.ConfigMap) (writes *atomic.Int64, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	events := c.watchCopy(ctx, t, source.Name)
	ended := make(chan error, 1)
	writes = &atomic.Int64{}
	client := c.kube.CoreV1().ConfigMaps(c.installNamespace)
	strike := func(cm *corev1.ConfigMap) error {
		cm.Data = map[string]string{"owner": "another writer"}
		_, err := client.Update(ctx, cm, metav1.UpdateOptions{FieldManager: "e2e-another-writer"})
		return ignoreGone(err)
	}
	first, err := c.copyOf(ctx, source.Name)
	must(t, "get the copy", err)
	must(t, "change the copy", strike(first.DeepCopy()))
	go func() {
		for event := range events.ResultChan() {
			cm, ok := event.Object.(*corev1.ConfigMap)
			if !ok || event.Type == watch.Deleted || cm.ResourceVersion == first.ResourceVersion || contentDiff(source, cm) != "" {
				continue
			}
			writes.Add(1)
			if err := strike(cm.DeepCopy()); err != nil && ctx.Err() == nil {
				ended <- err
				return
			}
		}
		ended <- nil
	}()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		events.Stop()
		if err := <-ended; err != nil {
			t.Errorf("fight over %s: %v", source.Name, err)
		}
	}
	t.Cleanup(stop)
	return writes, stop
}

// watchCopy watches one object in the install namespace until ctx ends.
func (c *cluster) watchCopy(ctx context.Context, t *testing.T, name string) watch.Interface {
	t.Helper()
	client, err := c.streaming()
	must(t, "create a streaming client", err)
	events, err := client.CoreV1().ConfigMaps(c.installNamespace).Watch(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, name).String(),
	})
	must(t, "watch copy "+name, err)
	return events
}

// changeFor changes a ConfigMap on the hub again and again for so long, and
// returns how long each change took to arrive.
func (e *environment) changeFor(t *testing.T, c *cluster, name string, lasts time.Duration) []time.Duration {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), lasts+deadline)
	defer cancel()
	events := c.watchCopy(ctx, t, name)
	defer events.Stop()
	ticker := time.NewTicker(changeEach)
	defer ticker.Stop()
	var latencies []time.Duration
	for end := time.Now().Add(lasts); time.Now().Before(end) || len(latencies) == 0; <-ticker.C {
		var want string
		start := time.Now()
		e.updateSource(t, c, name, func(cm *corev1.ConfigMap) {
			number, _ := strconv.Atoi(cm.Data["change"])
			want = strconv.Itoa(number + 1)
			cm.Data["change"] = want
			start = time.Now()
		})
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
	return latencies
}

// readySince names the agent's pod, and since when it is ready.
func (c *cluster) readySince(t *testing.T) string {
	t.Helper()
	var since string
	eventually(t, "a ready agent", func(ctx context.Context) error {
		pods, err := c.agentPods(ctx)
		if err != nil {
			return err
		}
		for i := range pods {
			for _, condition := range pods[i].Status.Conditions {
				if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue {
					since = fmt.Sprintf("%s %s", pods[i].Name, condition.LastTransitionTime)
					return nil
				}
			}
		}
		return errors.New("no pod of the agent's is ready")
	})
	return since
}

// renewed is when the agent's lease was last renewed.
func (c *cluster) renewed(t *testing.T) time.Time {
	t.Helper()
	lease, err := c.kube.CoordinationV1().Leases(c.installNamespace).Get(t.Context(), agentLease, metav1.GetOptions{})
	must(t, "get the lease", err)
	return lease.Spec.RenewTime.Time
}
