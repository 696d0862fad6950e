package replicaset

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/component-base/version"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/internal/commandline"
	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/hub/frame"
)

// defaultRemovalDelay is how long removals from many clusters are held: as long as the mirror's
// deletions (docs/design.md#rule-10-removals).
const defaultRemovalDelay = 10 * time.Minute

// Options are the options of the controller's command line.
type Options struct {
	// MassRemovalDelay is how long removals from more than half of a set's clusters, and more than
	// three, are held.
	MassRemovalDelay time.Duration
	frame.Options
}

// NewOptions returns the default options.
func NewOptions() *Options {
	return &Options{MassRemovalDelay: defaultRemovalDelay, Options: *frame.NewOptions()}
}

// AddFlags adds a flag for each option.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.DurationVar(&o.MassRemovalDelay, "mass-removal-delay", o.MassRemovalDelay,
		"how long to hold the removal from more than half of a set's clusters, and more than three; 0 disables that")
	o.Options.AddFlags(flags)
}

// Validate returns every problem with the options, each naming the flag, its value and what to do.
func (o *Options) Validate() error {
	var delay error
	if o.MassRemovalDelay < 0 || o.MassRemovalDelay > manifests.MaxDeletionHold {
		delay = fmt.Errorf("--mass-removal-delay=%s must be from 0 to %s", o.MassRemovalDelay, manifests.MaxDeletionHold)
	}
	return errors.Join(delay, o.Options.Validate())
}

// NewCommand returns the command of the program. The caller prints its errors.
func NewCommand() *cobra.Command {
	opts := NewOptions()
	return commandline.New(commandline.Program{
		Name:  manifests.ManagedByReplicaSet,
		Short: "Carries out ConfigMapReplicaSets on a hub of Open Cluster Management",
		Long: "Runs on a hub of Open Cluster Management: writes the ConfigMaps of ConfigMapReplicaSets to the namespaces of the managed clusters " +
			"that their Placements select, step by step. The agents of the add-on " + manifests.AddonName + " copy them to the clusters.",
		Logging: opts.Logging,
	}, opts, func(ctx context.Context) error { return Run(ctx, opts) })
}

// Run runs the controller with valid options until ctx ends, and then returns nil.
func Run(ctx context.Context, opts *Options) error {
	info := version.Get()
	klog.FromContext(ctx).Info("Starting controller", "version", info.GitVersion, "commit", info.GitCommit)
	hub, err := frame.Connect(ctx, &opts.Options, manifests.ManagedByReplicaSet, []frame.API{
		{GroupVersion: addonv1beta1.GroupVersion.String(), Resources: []string{"managedclusteraddons"}},
		{GroupVersion: clusterv1.GroupVersion.String(), Resources: []string{"managedclusters"}},
		{GroupVersion: clusterv1beta1.GroupVersion.String(), Resources: []string{"placements", "placementdecisions"}},
		{GroupVersion: v1alpha1.GroupVersion.String(), Resources: []string{"configmapreplicasets", "configmapmirrors"}, Own: true},
	})
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	clients, err := newClients(hub.Config)
	if err != nil {
		return err
	}
	return frame.Run(ctx, &opts.Options, manifests.ManagedByReplicaSet, hub.Config, func(ctx context.Context) error {
		caches, err := newCaches(clients)
		if err != nil {
			return err
		}
		recorder, end, err := newRecorder(ctx, clients.kube)
		if err != nil {
			return err
		}
		defer end()
		controller := newController(clients, caches, recorder, clock.RealClock{}, opts.MassRemovalDelay)
		controller.metrics.register()
		return controller.Run(ctx)
	})
}

// newRecorder returns a recorder of events on sets. The caller calls end.
func newRecorder(ctx context.Context, client kubernetes.Interface) (recorder record.EventRecorder, end func(), err error) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, nil, fmt.Errorf("register the add-on's API: %w", err)
	}
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events(corev1.NamespaceAll)})
	return broadcaster.NewRecorder(scheme, corev1.EventSource{Component: manifests.ManagedByReplicaSet}), broadcaster.Shutdown, nil
}
