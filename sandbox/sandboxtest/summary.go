package sandboxtest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
)

const (
	// maxInspected is the number of enabled add-ons, each on one cluster, that are inspected for a test that
	// failed. maxShown is the number of those that are shown, and shownLines the number of lines of each.
	maxInspected = 10
	maxShown     = 3
	shownLines   = 60
)

// enabled is an add-on that is enabled on a cluster.
type enabled struct{ addon, cluster string }

// reported has the names of the add-ons that WaitAvailable has reported, by the name of the test that this has
// failed.
type reported struct {
	mutex  sync.Mutex
	byTest map[string][]string
}

func (r *reported) add(test, addon string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.byTest == nil {
		r.byTest = map[string][]string{}
	}
	r.byTest[test] = append(r.byTest[test], addon)
}

// take returns the add-ons of a test and its subtests, and forgets them.
func (r *reported) take(test string) []string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	var taken []string
	for _, name := range slices.Sorted(maps.Keys(r.byTest)) {
		if name == test || strings.HasPrefix(name, test+"/") {
			taken = append(taken, r.byTest[name]...)
			delete(r.byTest, name)
		}
	}
	return taken
}

// summary returns texts about the add-ons that are enabled on the first hub, without those that are known.
func (s *Sandbox) summary(ctx context.Context, known []string) []string {
	ctx, cancel := context.WithTimeout(ctx, inspectTimeout)
	defer cancel()
	all, err := s.enabled(ctx)
	if err != nil {
		return []string{fmt.Sprintf("cannot read which add-ons are enabled: %v", err)}
	}
	all = slices.DeleteFunc(all, func(e enabled) bool { return slices.Contains(known, e.addon) })
	var inspected []*report
	for _, e := range all[:min(len(all), maxInspected)] {
		inspected = append(inspected, s.inspect(ctx, e.addon, e.cluster))
	}
	return summarize(inspected, len(all)-len(inspected))
}

// enabled returns the add-ons that are enabled on the first hub, those that are not available first.
func (s *Sandbox) enabled(ctx context.Context) ([]enabled, error) {
	client, err := dynamic.NewForConfig(s.Hub().config)
	if err != nil {
		return nil, fmt.Errorf("create a client: %w", err)
	}
	list, err := client.Resource(addOns).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var all, healthy []enabled
	for i := range list.Items {
		object := &list.Items[i]
		e := enabled{addon: object.GetName(), cluster: object.GetNamespace()}
		if available(object) == nil {
			healthy = append(healthy, e)
		} else {
			all = append(all, e)
		}
	}
	return append(all, healthy...), nil
}

// summarize returns the texts of the most telling reports, and one that names the others. more is the number of
// add-ons that were not inspected.
func summarize(inspected []*report, more int) []string {
	seen := map[string]bool{}
	slices.SortStableFunc(inspected, func(a, b *report) int { return cmp.Compare(a.rank(), b.rank()) })
	var texts, others []string
	for i, r := range inspected {
		if i >= maxShown {
			others = append(others, fmt.Sprintf("%s on %s", r.addon, r.cluster))
			continue
		}
		r.once(seen)
		texts = append(texts, firstLines(fmt.Sprintf("the add-on %s on %s:\n%s", r.addon, r.cluster, r), shownLines))
	}
	if more > 0 {
		others = append(others, fmt.Sprintf("%d more", more))
	}
	if len(others) > 0 {
		texts = append(texts, "further enabled add-ons: "+strings.Join(others, ", "))
	}
	return texts
}

// rank orders reports: first those with a pod of the add-on that is not ready or has restarted, then those of
// add-ons that are not available.
func (r *report) rank() int {
	if slices.ContainsFunc(r.pods, func(p pod) bool { return p.owned && p.problem != "" }) {
		return 0
	}
	if !slices.ContainsFunc(r.addOn, func(c condition) bool { return c.Type == "Available" && c.Status == metav1.ConditionTrue }) {
		return 1
	}
	return 2
}

// once removes the pods of the hub and the events that an earlier report has, and adds the others to seen. The
// add-on's own pods stay.
func (r *report) once(seen map[string]bool) {
	again := func(key string) bool {
		before := seen[key]
		seen[key] = true
		return before
	}
	r.pods = slices.DeleteFunc(r.pods, func(p pod) bool { return !p.owned && again(join(p.namespace, p.name)) })
	r.events = slices.DeleteFunc(r.events, func(e event) bool { return again(fmt.Sprint(e)) })
}
