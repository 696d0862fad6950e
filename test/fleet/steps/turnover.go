package steps

import (
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"open-cluster-management.io/helloworld-addon/test/fleet/record"
)

// Turnover detaches a tenth of the clusters, the last ones, and lets others join. The Placement disables
// and enables the add-on.
func Turnover(ctx context.Context, f *Fleet) error {
	n := tenth(f.Size())
	leaving := slices.Clone(f.Clusters[f.Size()-n:])
	f.say("8. %d clusters are detached", n)
	if err := f.enable(ctx, toAll); err != nil {
		return err
	}
	begin := time.Now()
	if err := f.Sandbox.Detach(ctx, leaving...); err != nil {
		return err
	}
	f.Record.Add(f.figure(record.Turnover, record.Detached, record.All, "s", time.Since(begin).Seconds()))
	f.Clusters = without(f.Clusters, leaving)
	left, err := f.left(ctx, leaving)
	if err != nil {
		return err
	}
	f.Record.Judge(f.figure(record.Turnover, record.Left, "", "objects", float64(left)), record.AtMost(0))

	f.say("   %d others join", n)
	begin = time.Now()
	joined, err := f.Sandbox.Join(ctx, n)
	if err != nil {
		return err
	}
	f.Clusters = append(f.Clusters, joined...)
	err = f.awaitWith(ctx, available, joined)
	f.Record.Latencies(f.figure(record.Turnover, record.Replaced, "", "s", 0), f.board.Samples(available, begin, joined), n)
	return err
}

// left counts what the hub still has of clusters a while after they are gone.
func (f *Fleet) left(ctx context.Context, names []string) (int, error) {
	const patience = 30 * time.Second
	n := 0
	err := poll(ctx, patience, func(ctx context.Context) error {
		n = 0
		for _, resource := range []schema.GroupVersionResource{addOns, works} {
			for _, name := range names {
				list, err := f.dynamic.Resource(resource).Namespace(name).List(ctx, metav1.ListOptions{})
				if err != nil {
					return fmt.Errorf("list what is left of %s: %w", name, err)
				}
				n += len(list.Items)
			}
		}
		if n > 0 {
			return fmt.Errorf("%d objects are left", n)
		}
		return nil
	})
	if n > 0 {
		return n, nil
	}
	return n, err
}
