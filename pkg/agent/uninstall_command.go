package agent

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/version"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"open-cluster-management.io/helloworld-addon/internal/flagcheck"
	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/agent/hubclient"
	"open-cluster-management.io/helloworld-addon/pkg/agent/hubclient/credentials"
	"open-cluster-management.io/helloworld-addon/pkg/agent/kubeclient"
	"open-cluster-management.io/helloworld-addon/pkg/agent/mirror/plan"
	"open-cluster-management.io/helloworld-addon/pkg/agent/report"
	"open-cluster-management.io/helloworld-addon/pkg/agent/report/condition"
	"open-cluster-management.io/helloworld-addon/pkg/agent/uninstall"
)

// tellTimeout bounds telling the hub, and finding the marker's owner.
const tellTimeout = 30 * time.Second

// uninstallOptions are the flags of the uninstall command.
type uninstallOptions struct {
	*Options
	addOnUID        string
	jobName, jobUID string
}

func newUninstallCommand() *cobra.Command {
	options := &uninstallOptions{Options: NewOptions()}
	command := &cobra.Command{
		Use:   manifests.UninstallCommand,
		Short: "Removes the copies when the add-on is deleted, as its pre-delete hook",
		Long: "Makes the agent stop, removes the copies that it made in the install namespace, and\n" +
			"ends when none is left. It tries without end.",
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return options.run(command.Context())
		},
	}
	flags := command.Flags()
	options.addCommonFlags(flags)
	flags.StringVar(&options.addOnUID, manifests.FlagAddOnUID, "",
		"UID of the ManagedClusterAddOn that is being deleted. Required.")
	flags.StringVar(&options.jobName, manifests.FlagJobName, "",
		"Name of the Job that runs this: the ConfigMap that makes the agent stop goes with it.")
	flags.StringVar(&options.jobUID, manifests.FlagJobUID, "", "UID of that Job.")
	return command
}

func (o *uninstallOptions) validate() error {
	var p flagcheck.Problems
	o.validateNames(&p)
	p.Name("--"+manifests.FlagAddOnUID, o.addOnUID, "the UID of the ManagedClusterAddOn", validation.IsValidLabelValue)
	if (o.jobName == "") != (o.jobUID == "") {
		p.Add("--"+manifests.FlagJobName, o.jobName, "it goes with --%s: give both or none", manifests.FlagJobUID)
	}
	return p.Err(invalidFlags)
}

func (o *uninstallOptions) run(ctx context.Context) error {
	if err := o.validate(); err != nil {
		return err
	}
	info := version.Get()
	klog.FromContext(ctx).Info("Removing the copies", "version", info.GitVersion, "commit", info.GitCommit,
		"clusterName", o.ClusterName, "namespace", o.Namespace, "addOnUID", o.addOnUID)
	a := &agent{options: o.Options, clock: clock.RealClock{}}
	if err := a.connect(); err != nil {
		if a.home != nil {
			o.tellWhy(ctx, a, err)
		}
		return err
	}
	a.warnOfRights(ctx, nil)
	err := uninstall.New(uninstall.Config{
		Scope:  plan.Scope{HubNamespace: o.ClusterName, InstallNamespace: o.Namespace},
		AddOn:  types.UID(o.addOnUID),
		Owner:  func(ctx context.Context) (*metav1.OwnerReference, error) { return o.markerOwner(ctx, a) },
		Client: a.managed.ConfigMaps(o.Namespace),
		Leases: a.home.Leases(o.Namespace),
		Report: func(ctx context.Context, message string) error {
			return o.tellHub(ctx, a, condition.Uninstalling(message))
		},
		ReportRemoved: func(ctx context.Context) error { return o.tellHub(ctx, a, condition.Uninstalled()) },
		Clock:         a.clock,
	}).Run(ctx)
	if err == nil {
		klog.FromContext(ctx).Info("No copy is left")
	}
	return err
}

// markerOwner is the object that the marker goes with: the Job that runs this,
// or, where that is on another cluster, the ServiceAccount on the managed one,
// which is removed at the same time. Nil: the marker stays.
func (o *uninstallOptions) markerOwner(ctx context.Context, a *agent) (*metav1.OwnerReference, error) {
	switch {
	case o.Hosted:
		ctx, cancel := context.WithTimeout(ctx, tellTimeout)
		defer cancel()
		account, err := a.managed.ServiceAccounts(o.Namespace).Get(ctx, manifests.AgentServiceAccount, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("get ServiceAccount %s of the managed cluster: %w", manifests.AgentServiceAccount, err)
		}
		return &metav1.OwnerReference{APIVersion: "v1", Kind: "ServiceAccount", Name: account.Name, UID: account.UID}, nil
	case o.jobUID != "":
		return &metav1.OwnerReference{APIVersion: "batch/v1", Kind: "Job", Name: o.jobName, UID: types.UID(o.jobUID)}, nil
	default:
		return nil, nil
	}
}

// tellHub makes wanted the add-on's condition, with the agent's own credentials,
// as far as there are any.
func (o *uninstallOptions) tellHub(ctx context.Context, a *agent, wanted metav1.Condition) error {
	ctx, cancel := context.WithTimeout(ctx, tellTimeout)
	defer cancel()
	config, done, err := o.hubConfig(ctx, a)
	if err != nil {
		return err
	}
	defer done()
	hub, err := kubeclient.New(config)
	if err != nil {
		return fmt.Errorf("connect to the hub: %w", err)
	}
	addOns := hub.AddOns(o.ClusterName)
	original, err := addOns.Get(ctx, manifests.AddonName, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("get ManagedClusterAddOn: %w", err)
	}
	if string(original.UID) != o.addOnUID {
		return fmt.Errorf("the ManagedClusterAddOn on the hub is another one by now, with UID %s", original.UID)
	}
	return report.Write(ctx, addOns, condition.NewAddOn(original), wanted, a.clock.Now())
}

// tellWhy tells the hub why the hook cannot begin, as far as it can be told.
func (o *uninstallOptions) tellWhy(ctx context.Context, a *agent, cause error) {
	if err := o.tellHub(ctx, a, condition.Uninstalling(oneLine(cause))); err != nil {
		klog.FromContext(ctx).Info("Cannot tell the hub why the copies are not removed", "reason", err.Error())
	}
}

// hubConfig is how to reach the hub; done has to be called in the end.
func (o *uninstallOptions) hubConfig(ctx context.Context, a *agent) (config *rest.Config, done func(), err error) {
	secret, err := a.home.Secrets(o.Namespace).Get(ctx, o.HubKubeconfigSecret, metav1.GetOptions{})
	if err != nil {
		return nil, nil, fmt.Errorf("get secret %s: %w", o.HubKubeconfigSecret, err)
	}
	login, err := credentials.Load(secret.Data, a.hubPolicy(), a.clock.Now())
	if err != nil {
		return nil, nil, fmt.Errorf("secret %s: %w", o.HubKubeconfigSecret, err)
	}
	base := &rest.Config{}
	a.limit(base)
	connection, err := hubclient.Open(login, base, a.clock)
	if err != nil {
		return nil, nil, err
	}
	return connection.Config(), connection.Close, nil
}
