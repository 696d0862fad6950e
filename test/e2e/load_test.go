//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

const (
	// Each of loadWriters writers changes one of its loadNames ConfigMaps every
	// loadPeriod: 50 changes per second in all.
	loadWriters = 5
	loadNames   = 5
	loadPeriod  = 100 * time.Millisecond
)

// load changes ConfigMaps on the hub and watches their copies.
type load struct {
	cancel  context.CancelFunc
	writers sync.WaitGroup
	watcher sync.WaitGroup
	started time.Time

	mu sync.Mutex
	// waiting has, by name, when each change was sent that no copy has yet.
	waiting map[string][]change
	ages    []time.Duration
	written int
	errs    []error
}

// change is one of a ConfigMap, by its content.
type change struct {
	number int
	sent   time.Time
}

// startLoad creates the ConfigMaps, waits for their copies, and begins.
func startLoad(t *testing.T, env *environment, c *cluster) *load {
	t.Helper()
	l := &load{waiting: map[string][]change{}}
	names := make([]string, 0, loadWriters*loadNames)
	for i := range loadWriters * loadNames {
		names = append(names, fmt.Sprintf("e2e-load-%d", i))
	}
	for _, name := range names {
		env.createSource(t, c, configMap(name, map[string]string{"n": "0"}))
	}
	for _, name := range names {
		eventually(t, "the copy of "+name, c.hasCopy(configMap(name, map[string]string{"n": "0"})))
	}
	client, err := c.streaming()
	must(t, "create a streaming client", err)
	events, err := client.CoreV1().ConfigMaps(c.installNamespace).Watch(t.Context(), metav1.ListOptions{LabelSelector: managedByLabel + "=" + managedByValue})
	must(t, "watch the copies", err)

	ctx, cancel := context.WithCancel(t.Context())
	l.cancel, l.started = cancel, time.Now()
	t.Cleanup(func() {
		cancel()
		l.writers.Wait()
		events.Stop()
		l.watcher.Wait()
	})
	l.watcher.Go(func() { l.follow(events) })
	for w := range loadWriters {
		l.writers.Go(func() { l.write(ctx, env, c, names[w*loadNames:(w+1)*loadNames]) })
	}
	return l
}

// write changes one ConfigMap after the other.
func (l *load) write(ctx context.Context, env *environment, c *cluster, names []string) {
	ticker := time.NewTicker(loadPeriod)
	defer ticker.Stop()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		name := names[n%len(names)]
		l.mu.Lock()
		l.waiting[name] = append(l.waiting[name], change{number: n, sent: time.Now()})
		l.written++
		l.mu.Unlock()
		// What was begun is ended, or it would be missed for ever.
		_, err := env.hub.kube.CoreV1().ConfigMaps(c.name).Patch(context.WithoutCancel(ctx), name, types.MergePatchType,
			fmt.Appendf(nil, `{"data":{"n":"%d"}}`, n), metav1.PatchOptions{})
		if err != nil {
			l.mu.Lock()
			l.errs = append(l.errs, err)
			l.mu.Unlock()
		}
	}
}

// follow notes how old the changes were that arrive with a copy. The copy of a
// later change has the earlier ones in it.
func (l *load) follow(events watch.Interface) {
	for event := range events.ResultChan() {
		cm, ok := event.Object.(*corev1.ConfigMap)
		if !ok {
			continue
		}
		n, now := number(cm), time.Now()
		l.mu.Lock()
		left := l.waiting[cm.Name]
		for len(left) > 0 && left[0].number <= n {
			l.ages = append(l.ages, now.Sub(left[0].sent))
			left = left[1:]
		}
		l.waiting[cm.Name] = left
		l.mu.Unlock()
	}
}

// missing is nil when every change has arrived.
func (l *load) missing(context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name, left := range l.waiting {
		if len(left) > 0 {
			return fmt.Errorf("%s: %d changes have not arrived, from number %d on", name, len(left), left[0].number)
		}
	}
	return nil
}

// goOn waits until that many more changes were made and have arrived.
func (l *load) goOn(t *testing.T, changes int) {
	t.Helper()
	arrived := func() int {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.ages)
	}
	want := arrived() + changes
	eventually(t, fmt.Sprintf("%d more changes", changes), func(context.Context) error {
		if now := arrived(); now < want {
			return fmt.Errorf("%d changes have arrived, want %d", now, want)
		}
		return nil
	})
}

// stop ends the changes, waits for the last copies, and fails the test when a
// change was lost or late.
func (l *load) stop(t *testing.T) {
	t.Helper()
	lasted := time.Since(l.started)
	l.cancel()
	l.writers.Wait()
	eventually(t, "every change has arrived", l.missing)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, err := range l.errs {
		t.Errorf("write to the hub: %v", err)
	}
	rate := float64(l.written) / lasted.Seconds()
	median, slowest := percentile(l.ages, 50), percentile(l.ages, 100)
	t.Logf("%d changes in %s, %.0f per second; age of a copy: median %s, 99th percentile %s, oldest %s",
		l.written, lasted.Round(time.Millisecond), rate, median, percentile(l.ages, 99), slowest)
	timings.record(fmt.Sprintf("rotations under load: age of a copy, median of %d", len(l.ages)), median)
	timings.record(fmt.Sprintf("rotations under load: age of a copy, oldest of %d", len(l.ages)), slowest)
	if slowest > oldest {
		t.Errorf("a copy was %s old, want %s at most", slowest, oldest)
	}
}
