package steps

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/helloworld-addon/test/fleet/record"
)

// hubSecrets are the Secrets of a managed cluster with its certificates for the hub, by namespace.
var hubSecrets = map[string]string{
	"open-cluster-management-agent":       "hub-kubeconfig-secret",
	"open-cluster-management-agent-addon": "helloworld-hub-kubeconfig",
}

// window is in which time all certificates are renewed.
const window = 10 * time.Minute

// Rotate waits until every certificate of the clusters and of the add-on was renewed, and then until the
// old ones have expired. The fleet's certificates have to be short-lived, and have to be those of its
// first join.
func Rotate(ctx context.Context, f *Fleet) error {
	issued := time.Now()
	f.renewal.begin(issued)
	f.say("7. certificates of %s rotate", f.Times.CertificateLife)
	if f.Times.Touch > 0 {
		if err := f.pause(ctx, f.Times.Touch); err != nil {
			return err
		}
		if err := f.touch(ctx); err != nil {
			return err
		}
	}
	limit := f.Times.CertificateLife + window
	events := []string{renewedOCM, renewedAddOn}
	var missed error
	for _, event := range events {
		if err := f.board.Await(ctx, event, f.Clusters, max(time.Second, limit-time.Since(issued))); err != nil {
			missed = errors.Join(missed, err)
		}
	}
	span, renewed := f.span(events...)
	f.Record.Judge(f.figure(record.Rotate, record.Renewed, "", "share", float64(renewed)/float64(len(events)*f.Size())), record.AtLeast(1))
	f.Record.Judge(f.figure(record.Rotate, record.RenewalSpan, "", "s", span), record.AtMost(window.Seconds()))
	// the last of the old ones was issued before the step began
	if err := f.pause(ctx, time.Until(issued.Add(f.Times.CertificateLife+10*time.Second))); err != nil {
		return errors.Join(missed, err)
	}
	f.say("   the old certificates have expired")
	mark := f.mark()
	if _, err := f.write(ctx, ourMap, mark, f.Clusters); err != nil {
		return errors.Join(missed, err)
	}
	err := f.awaitWith(ctx, copied(ourMap, mark), f.Clusters)
	_, seen := f.board.Last(copied(ourMap, mark), f.Clusters)
	f.Record.Judge(f.figure(record.Rotate, record.AfterExpiry, "", "clusters", float64(f.Size()-seen)), record.AtMost(0))
	return errors.Join(missed, err)
}

// span returns the seconds between the first and the last of the events of all clusters, and how many
// there are. Without any it is no number.
func (f *Fleet) span(events ...string) (seconds float64, n int) {
	var first, last time.Time
	for _, event := range events {
		for _, at := range f.board.Times(event) {
			if n == 0 || at.Before(first) {
				first = at
			}
			if at.After(last) {
				last = at
			}
			n++
		}
	}
	if n == 0 {
		return math.NaN(), 0
	}
	return last.Sub(first).Seconds(), n
}

// touch changes the Secrets with the certificates without a change of what they hold, which makes OCM's
// agents look whether a certificate has to be renewed.
func (f *Fleet) touch(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"fleet-touched":%q}}}`, f.mark())
	for _, name := range f.Clusters {
		client, err := f.members.Cluster(name)
		if err != nil {
			return err
		}
		for namespace, secret := range hubSecrets {
			group.Go(func() error {
				_, err := client.CoreV1().Secrets(namespace).Patch(ctx, secret, types.MergePatchType, patch, metav1.PatchOptions{})
				if err != nil {
					return fmt.Errorf("touch the Secret %s/%s of %s: %w", namespace, secret, name, err)
				}
				return nil
			})
		}
	}
	return group.Wait()
}
