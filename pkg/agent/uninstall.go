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

// tellTimeout bounds a report to the hub, and the search for the marker's owner.
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
		Short: "Removes the copies when the add-on is deleted (the pre-delete hook)",
		Long: "Stops the agent, removes its copies from the install namespace, and ends when no copy is\n" +
			"left. It retries without end.",
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
		"Name of the Job that runs this command. It owns the ConfigMap that stops the agent.")
	flags.StringVar(&options.jobUID, manifests.FlagJobUID, "", "UID of that Job.")
	return command
}

func (o *uninstallOptions) validate() error {
	var p flagcheck.Problems
	o.validateNames(&p)
	p.Name("--"+manifests.FlagAddOnUID, o.addOnUID, "the UID of the ManagedClusterAddOn", validation.IsValidLabelValue)
	if (o.jobName == "") != (o.jobUID == "") {
		p.Add("--"+manifests.FlagJobName, o.jobName, "it needs --%s: give both or none", manifests.FlagJobUID)
	}
	return p.Err(invalidFlags)
}

func (o *uninstallOptions) run(ctx context.Context) error {
	if err := o.validate(); err != nil {
		return err
	}
	info := version.Get()
	klog.FromContext(ctx).Info("Removing copies", "version", info.GitVersion, "commit", info.GitCommit,
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
		klog.FromContext(ctx).Info("Removed every copy")
	}
	return err
}

// markerOwner returns the owner of the marker: the Job that runs this command. In
// hosted mode the Job is on another cluster, and the owner is the ServiceAccount on the
// managed cluster, which is removed at the same time. It returns nil if there is no
// owner, and the marker stays.
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

// tellHub sets the add-on's condition on the hub, with the agent's credentials.
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
		return fmt.Errorf("the ManagedClusterAddOn was created again, with UID %s", original.UID)
	}
	return report.Write(ctx, addOns, condition.NewAddOn(original), wanted, a.clock.Now())
}

// tellWhy reports to the hub why the hook cannot begin.
func (o *uninstallOptions) tellWhy(ctx context.Context, a *agent, cause error) {
	if err := o.tellHub(ctx, a, condition.Uninstalling(credentials.OneLine(cause))); err != nil {
		klog.FromContext(ctx).Info("Failed to report to the hub", "cause", cause.Error(), "reason", err.Error())
	}
}

// hubConfig returns the configuration of the hub's client. The caller must call done.
func (o *uninstallOptions) hubConfig(ctx context.Context, a *agent) (config *rest.Config, done func(), err error) {
	secret, err := a.home.Secrets(o.Namespace).Get(ctx, o.HubKubeconfigSecret, metav1.GetOptions{})
	if err != nil {
		return nil, nil, fmt.Errorf("get Secret %s: %w", o.HubKubeconfigSecret, err)
	}
	login, err := credentials.Load(secret.Data, a.hubPolicy(), a.clock.Now())
	if err != nil {
		return nil, nil, fmt.Errorf("load Secret %s: %w", o.HubKubeconfigSecret, err)
	}
	base := &rest.Config{}
	a.limit(base)
	connection, err := hubclient.Open(login, base, a.clock)
	if err != nil {
		return nil, nil, err
	}
	return connection.Config(), connection.Close, nil
}
