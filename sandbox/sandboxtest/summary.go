package sandboxtest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
)

// maxShown is the number of enabled add-ons, each on one cluster, that are shown for a test that failed.
const maxShown = 3

// enabled is an add-on that is enabled on a cluster.
type enabled struct{ addon, cluster string }

// alreadyShown maps a test to the add-ons that WaitAvailable has reported for it.
type alreadyShown struct {
	mutex  sync.Mutex
	byTest map[string][]string
}

func (a *alreadyShown) add(test string, addons ...string) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.byTest == nil {
		a.byTest = map[string][]string{}
	}
	a.byTest[test] = append(a.byTest[test], addons...)
}

// take returns the add-ons of a test and its subtests. It leaves them for the test that it is a subtest of,
// which fails too, but not for a further run of the test.
func (a *alreadyShown) take(test string) []string {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	var taken []string
	for _, name := range slices.Sorted(maps.Keys(a.byTest)) {
		if name == test || strings.HasPrefix(name, test+"/") {
			taken = append(taken, a.byTest[name]...)
			delete(a.byTest, name)
		}
	}
	if parent := path.Dir(test); parent != "." {
		a.byTest[parent] = append(a.byTest[parent], taken...)
	}
	return taken
}

// summary returns texts about the add-ons that are enabled on the first hub, without those that are known. It
// stops reading when ctx ends.
func (s *Sandbox) summary(ctx context.Context, known []string) []string {
	all, err := s.enabled(ctx)
	if err != nil {
		return []string{fmt.Sprintf("cannot read which add-ons are enabled: %v", err)}
	}
	all = slices.DeleteFunc(all, func(e enabled) bool { return slices.Contains(known, e.addon) })
	var inspected []*report
	for _, e := range all {
		r := s.inspect(ctx, e.addon, e.cluster)
		if ctx.Err() != nil {
			break // the report may lack what has not been read
		}
		inspected = append(inspected, r)
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

// summarize returns the texts of the most telling reports, and one that counts the others. more is the
// number of add-ons that were not inspected.
func summarize(inspected []*report, more int) []string {
	slices.SortStableFunc(inspected, func(a, b *report) int { return cmp.Compare(a.rank(), b.rank()) })
	shown := first(inspected, maxShown)
	seen := map[string]bool{}
	var texts []string
	for _, r := range shown {
		r.dropSeen(seen)
		texts = append(texts, fmt.Sprintf("the add-on %s on %s:\n%s", r.addon, r.cluster, r))
	}
	if more += len(inspected) - len(shown); more > 0 {
		texts = append(texts, fmt.Sprintf("enabled add-ons that are not shown: %d", more))
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

// dropSeen removes hub pods and events that an earlier report shows, and adds those that this one shows to
// seen. The add-on's own pods stay.
func (r *report) dropSeen(seen map[string]bool) {
	r.pods = slices.DeleteFunc(r.pods, func(p pod) bool { return !p.owned && seen[join(p.namespace, p.name)] })
	r.events = slices.DeleteFunc(r.events, func(e event) bool { return seen[fmt.Sprint(e)] })
	for _, p := range first(r.pods, maxPods) {
		seen[join(p.namespace, p.name)] = true
	}
	for _, e := range first(r.events, maxEvents) {
		seen[fmt.Sprint(e)] = true
	}
}
