package sidecar

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"open-cluster-management.io/helloworld-addon/pkg/agent/kubeclient"
	"open-cluster-management.io/helloworld-addon/pkg/agent/view"
)

// keeper knows the pod and the secret, and keeps the connection to the hub in
// line with the secret. It is asked before each renewal, so that a renewal always
// uses what the secret holds now.
type keeper struct {
	options *Options
	clock   clock.PassiveClock
	logger  klog.Logger
	started time.Time
	pod     *view.View[*corev1.Pod]
	// secret is nil where none is looked at.
	secret *view.View[*corev1.Secret]
	hub    *hub

	mu              sync.Mutex
	unreadableSince time.Time
	loaded          loaded
}

// loaded is what came out of one version of the secret.
type loaded struct {
	version     string
	credentials *Credentials
	cause       *Cause
}

func newKeeper(ctx context.Context, options *Options, managed *kubeclient.Client, clock clock.PassiveClock) (*keeper, error) {
	k := &keeper{options: options, clock: clock, logger: klog.FromContext(ctx), started: clock.Now(), hub: &hub{namespace: options.LeaseNamespace}}
	byName := func(name string) string { return fields.OneTermEqualSelector("metadata.name", name).String() }
	var err error
	k.pod, err = view.New(ctx, "Pod "+options.PodNamespace+"/"+options.PodName,
		view.Selected[*corev1.PodList]{Reader: managed.Pods(options.PodNamespace), Selector: byName(options.PodName)},
		&corev1.Pod{}, withoutManagedFields[*corev1.Pod], func(string) {})
	if err != nil || options.Secret == "" {
		return k, err
	}
	k.secret, err = view.New(ctx, "Secret "+options.WatchNamespace+"/"+options.Secret,
		view.Selected[*corev1.SecretList]{Reader: managed.Secrets(options.WatchNamespace), Selector: byName(options.Secret)},
		&corev1.Secret{}, withoutManagedFields[*corev1.Secret], func(string) {})
	return k, err
}

func withoutManagedFields[T interface {
	SetManagedFields([]metav1.ManagedFieldsEntry)
}](object T) T {
	object.SetManagedFields(nil)
	return object
}

// verdict says why the lease must not be renewed now, or nil.
func (k *keeper) verdict() *Cause {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.clock.Now()
	situation := Situation{Started: k.started, Delay: k.options.StartupDelay, Patience: k.options.LeaseDuration,
		Unread: !k.pod.Synced() || k.secret != nil && !k.secret.Synced()}
	situation.Unreadable = k.unreadable()
	if situation.Unreadable == nil {
		k.unreadableSince = time.Time{}
	} else if k.unreadableSince.IsZero() {
		k.unreadableSince = now
	}
	situation.UnreadableSince = k.unreadableSince
	situation.Credentials = k.credentials(now)
	situation.Pod = PodProblem(k.pod.Get(k.options.PodNamespace, k.options.PodName))
	return Judge(situation, now)
}

func (k *keeper) unreadable() error {
	if err := k.pod.Unreadable(); err != nil || k.secret == nil {
		return err
	}
	return k.secret.Unreadable()
}

// credentials brings the connection in line with the secret, and says why it
// cannot be used. The lock is held.
func (k *keeper) credentials(now time.Time) *Cause {
	if k.secret == nil {
		return nil
	}
	secret := k.secret.Get(k.options.WatchNamespace, k.options.Secret)
	if version := versionOf(secret); version != k.loaded.version {
		credentials, cause := Load(secret)
		k.loaded = loaded{version: version, credentials: credentials, cause: cause}
	}
	cause := k.loaded.cause
	if cause == nil {
		cause = k.loaded.credentials.Valid(now)
	}
	if cause != nil {
		cause = &Cause{cause.Reason, "secret " + k.options.WatchNamespace + "/" + k.options.Secret + ": " + cause.Message}
	}
	if k.options.LeaseLocation == OnManaged {
		return cause
	}
	use := k.loaded.credentials
	if cause != nil {
		use = nil
	}
	changed, err := k.hub.use(use)
	if err != nil {
		return &Cause{KubeconfigInvalid, oneLine(err.Error())}
	}
	if changed && use != nil {
		k.logger.Info("Using the credentials in the secret", "secret", klog.KObj(secret),
			"resourceVersion", secret.ResourceVersion, "notAfter", use.NotAfter)
	}
	return cause
}

func versionOf(secret *corev1.Secret) string {
	if secret == nil {
		return "none"
	}
	return string(secret.UID) + "/" + secret.ResourceVersion
}

// credentialsProblem is what /readyz goes by.
func (k *keeper) credentialsProblem() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.secret == nil {
		return nil
	}
	if err := k.secret.Err(); err != nil && !k.secret.Synced() {
		return err
	}
	if cause := k.credentials(k.clock.Now()); cause != nil {
		return cause
	}
	return nil
}

// expiry is when the certificate in use expires, the zero time where there is none.
func (k *keeper) expiry() time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.loaded.credentials == nil {
		return time.Time{}
	}
	return k.loaded.credentials.NotAfter
}

// podUID is that of the pod, empty while it is not known.
func (k *keeper) podUID() types.UID {
	if pod := k.pod.Get(k.options.PodNamespace, k.options.PodName); pod != nil {
		return pod.UID
	}
	return ""
}

// run keeps the views up to date until the context that they were made with ends.
func (k *keeper) run() {
	var group sync.WaitGroup
	group.Go(k.pod.Run)
	if k.secret != nil {
		group.Go(k.secret.Run)
	}
	group.Wait()
}
