package rollout

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/internal/retry"
	"open-cluster-management.io/helloworld-addon/pkg/kubectl/rollout/plan"
)

const (
	// lookAgain is short, because no event reports that a source was changed and changed back.
	lookAgain = 10 * time.Second
	// firstRetry and lastRetry bound the wait after a request that failed.
	firstRetry, lastRetry = time.Second, 10 * time.Second
)

func newStatus(o options) *cobra.Command {
	var wait bool
	var timeout time.Duration
	command := o.subcommand("status", "Show the progress of a rollout until it ends",
		func(ctx context.Context, s *session, name string) error {
			if timeout < 0 {
				return fmt.Errorf("--timeout=%s: want no negative duration", timeout)
			}
			if !wait {
				_, progress, err := s.progress(ctx, name)
				if err != nil {
					return err
				}
				return s.report(progress)
			}
			return s.follow(ctx, name, timeout)
		})
	command.Long = "Show the progress of a rollout until it ends. It ends with an error when the rollout stopped, and when the set is deleted."
	command.Flags().BoolVarP(&wait, "watch", "w", true, "wait until the rollout ends")
	command.Flags().DurationVar(&timeout, "timeout", 0, "how long to wait; 0 is for ever")
	return command
}

// report prints a progress. That of a rollout that failed is an error.
func (s *session) report(progress plan.Progress) error {
	if progress.State == plan.Failed {
		return errors.New(progress.Message)
	}
	if progress.Warning != "" {
		fmt.Fprintf(s.err, "warning: %s\n", progress.Warning)
	}
	_, err := fmt.Fprintln(s.out, progress.Message)
	return err
}

// progress returns the set, and how far its rollout is. The sources are read after the set: what the set reports
// is about them, or about former ones.
func (s *session) progress(ctx context.Context, name string) (*v1alpha1.ConfigMapReplicaSet, plan.Progress, error) {
	set, err := s.set(ctx, name)
	if err != nil {
		return nil, plan.Progress{}, err
	}
	progress := plan.Judge(set)
	if progress.State == plan.Waiting {
		return set, progress, nil
	}
	sources, err := s.sources(ctx, plan.Names(set, plan.Revision{}))
	if err != nil {
		return set, plan.Progress{}, err
	}
	return set, plan.Confirm(progress, set, plan.NewPresent(set, sources)), nil
}

// follow prints each change of the progress until the rollout ends.
func (s *session) follow(ctx context.Context, name string, timeout time.Duration) error {
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	var uid types.UID
	var printed, failed string
	for failures := 0; ; {
		set, progress, err := s.progress(ctx, name)
		switch {
		case ctx.Err() != nil:
			return ended(ctx, name, timeout)
		case isGone(uid, set, err):
			return fmt.Errorf("%s was deleted", plan.Named(name))
		case err != nil && (uid == "" || !passes(err)):
			return err
		case err != nil:
			if err.Error() != failed {
				failed = err.Error()
				fmt.Fprintf(s.err, "warning: %v; trying again\n", err)
			}
			failures++
			retry.Sleep(ctx, s.clock, retry.Delay(failures, firstRetry, lastRetry))
			continue
		}
		uid, failures, failed = set.UID, 0, ""
		if progress.Message != printed || progress.State != plan.Waiting {
			printed = progress.Message
			if err := s.report(progress); err != nil || progress.State != plan.Waiting {
				return err
			}
		}
		s.await(ctx, set)
	}
}

// isGone reports whether the set of this UID was deleted, by what a later request returned. The UID of a set that was
// not read yet is empty.
func isGone(uid types.UID, set *v1alpha1.ConfigMapReplicaSet, err error) bool {
	return uid != "" && (apierrors.IsNotFound(err) || err == nil && set.UID != uid)
}

// passes reports whether a request may succeed when it is sent again.
func passes(err error) bool {
	var status apierrors.APIStatus
	return !errors.Is(err, errNotServed) && (!errors.As(err, &status) || apierrors.IsTooManyRequests(err) || status.Status().Code >= 500)
}

// ended returns why the context has ended.
func ended(ctx context.Context, name string, timeout time.Duration) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("timed out after %s waiting for the rollout of %s", timeout, plan.Named(name))
	}
	return fmt.Errorf("interrupted while waiting for the rollout of %s: %w", plan.Named(name), ctx.Err())
}

// await waits until the set has changed since it was read, or for lookAgain. Where the watch fails it waits a little.
// The caller reads the set again in any case, so nothing depends on the event.
func (s *session) await(ctx context.Context, set *v1alpha1.ConfigMapReplicaSet) {
	ctx, cancel := context.WithTimeout(ctx, s.lookAgain)
	defer cancel()
	events, err := s.sets.Watch(ctx, metav1.ListOptions{ResourceVersion: set.ResourceVersion,
		FieldSelector: fields.OneTermEqualSelector("metadata.name", set.Name).String()})
	if err != nil {
		retry.Sleep(ctx, s.clock, firstRetry)
		return
	}
	defer events.Stop()
	select {
	case event, open := <-events.ResultChan():
		if !open || event.Type == watch.Error {
			retry.Sleep(ctx, s.clock, firstRetry)
		}
	case <-ctx.Done():
	}
}
