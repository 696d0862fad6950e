package sidecar

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"open-cluster-management.io/helloworld-addon/pkg/agent/hubclient"
	"open-cluster-management.io/helloworld-addon/pkg/agent/hubclient/credentials"
	"open-cluster-management.io/helloworld-addon/pkg/agent/kubeclient"
	"open-cluster-management.io/helloworld-addon/pkg/agent/lease"
	"open-cluster-management.io/helloworld-addon/pkg/agent/report"
	"open-cluster-management.io/helloworld-addon/pkg/agent/sidecar/verdict"
	"open-cluster-management.io/helloworld-addon/pkg/agent/view"
)

// keeper watches the pod and the Secret, and has the lease client of the hub that
// the Secret's credentials reach. The renewer asks it for the verdict before each
// renewal, and between two of them.
type keeper struct {
	options *Options
	clock   clock.PassiveClock
	started time.Time
	pod     *view.View[*corev1.Pod]
	// hub and secret are nil if no Secret is read.
	hub    *hubclient.Manager
	secret *hubclient.SecretSource
	// leases is nil while there is no connection to the hub.
	leases atomic.Pointer[kubeclient.Leases]

	mu              sync.Mutex
	unreadableSince time.Time
}

func newKeeper(ctx context.Context, options *Options, managed *kubeclient.Client, clock clock.WithTickerAndDelayedExecution) (*keeper, error) {
	k := &keeper{options: options, clock: clock, started: clock.Now()}
	var err error
	k.pod, err = view.New(ctx, "Pod "+options.PodNamespace+"/"+options.PodName,
		view.Selected[*corev1.PodList]{Reader: managed.Pods(options.PodNamespace),
			Selector: fields.OneTermEqualSelector("metadata.name", options.PodName).String()},
		&corev1.Pod{}, withoutManagedFields, func(string) {})
	if err != nil || options.Secret == "" {
		return k, err
	}
	k.secret = hubclient.NewSecretSource(managed.Secrets(options.WatchNamespace), options.WatchNamespace, options.Secret, clock)
	k.hub = hubclient.New(hubclient.Config{
		Source: k.secret, Policy: credentials.Policy{AnyUser: true}, DropRejected: true,
		Base: &rest.Config{UserAgent: userAgent()}, Clock: clock,
	})
	return k, nil
}

func withoutManagedFields(pod *corev1.Pod) *corev1.Pod {
	pod.ManagedFields = nil
	return pod
}

// start watches until ctx ends, which is the context of group and of newKeeper. An
// error of the hub's manager ends the group.
func (k *keeper) start(ctx context.Context, group *errgroup.Group) {
	group.Go(func() error { k.pod.Run(); return nil })
	if k.hub != nil {
		group.Go(func() error { return k.hub.Run(ctx, k.serve) })
	}
}

// serve provides the lease client of one hub until ctx ends.
func (k *keeper) serve(ctx context.Context, config *rest.Config) error {
	client, err := kubeclient.New(config)
	if err != nil {
		return err
	}
	k.leases.Store(client.Leases(k.options.LeaseNamespace))
	defer k.leases.Store(nil)
	<-ctx.Done()
	return nil
}

// verdict returns why the lease must not be renewed now, or nil.
func (k *keeper) verdict() *verdict.Cause {
	now := k.clock.Now()
	unreadable := k.unreadable()
	k.mu.Lock()
	if unreadable == nil {
		k.unreadableSince = time.Time{}
	} else if k.unreadableSince.IsZero() {
		k.unreadableSince = now
	}
	since := k.unreadableSince
	k.mu.Unlock()
	return verdict.Judge(verdict.Situation{
		Started: k.started, Delay: k.options.StartupDelay,
		Unread:     !k.pod.Synced() || k.secret != nil && !k.secret.Synced(),
		Unreadable: unreadable, UnreadableSince: since, Patience: k.options.LeaseDuration,
		Pod:         verdict.OfPod(k.pod.Get(k.options.PodNamespace, k.options.PodName), Program),
		Credentials: k.credentials(now),
	}, now)
}

// unreadable returns why the pod or the Secret cannot be read, or nil.
func (k *keeper) unreadable() error {
	if err := k.pod.Unreadable(); err != nil || k.secret == nil {
		return err
	}
	return k.secret.Unreadable()
}

// credentials returns why the credentials cannot be used, or nil.
func (k *keeper) credentials(now time.Time) *verdict.Cause {
	if k.hub == nil {
		return nil
	}
	if cause := verdict.OfCredentials(k.hub.Status(), now); cause != nil {
		return cause
	}
	if k.leases.Load() == nil {
		return &verdict.Cause{Reason: verdict.Starting, Message: errNotConnected.Error()}
	}
	return nil
}

// credentialsProblem decides on /readyz.
func (k *keeper) credentialsProblem() error {
	if cause := k.credentials(k.clock.Now()); cause != nil {
		return cause
	}
	return nil
}

// expiry returns when the credentials expire, or zero if that is not known. A
// certificate that had expired before it came into use counts as well.
func (k *keeper) expiry() time.Time {
	if k.hub == nil {
		return time.Time{}
	}
	status := k.hub.Status()
	if status.Problem != nil && !status.Problem.NotAfter.IsZero() {
		return status.Problem.NotAfter
	}
	return status.NotAfter
}

// podReference returns the pod for Events, or nil if it was not read yet.
func (k *keeper) podReference() *corev1.ObjectReference {
	pod := k.pod.Get(k.options.PodNamespace, k.options.PodName)
	if pod == nil {
		return nil
	}
	return report.PodReference(pod.Namespace, pod.Name, pod.UID)
}

var errNotConnected = errors.New("there is no connection to the hub yet")

// hubLeases is the lease client of whichever hub the keeper is connected to.
type hubLeases struct{ *keeper }

func (h hubLeases) request(do func(lease.Client) (*coordinationv1.Lease, error)) (*coordinationv1.Lease, error) {
	if leases := h.leases.Load(); leases != nil {
		return do(leases)
	}
	return nil, errNotConnected
}

// Get implements lease.Client.
func (h hubLeases) Get(ctx context.Context, name string, options metav1.GetOptions) (*coordinationv1.Lease, error) {
	return h.request(func(c lease.Client) (*coordinationv1.Lease, error) { return c.Get(ctx, name, options) })
}

// Create implements lease.Client.
func (h hubLeases) Create(ctx context.Context, object *coordinationv1.Lease, options metav1.CreateOptions) (*coordinationv1.Lease, error) {
	return h.request(func(c lease.Client) (*coordinationv1.Lease, error) { return c.Create(ctx, object, options) })
}

// Update implements lease.Client.
func (h hubLeases) Update(ctx context.Context, object *coordinationv1.Lease, options metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	return h.request(func(c lease.Client) (*coordinationv1.Lease, error) { return c.Update(ctx, object, options) })
}
