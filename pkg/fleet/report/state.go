package report

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/hub/rollout/plan"
)

// State is how the add-on is on a cluster, in one word.
type State string

// The states, worst first. docs/kubectl.md#states has what each of them means to users.
const (
	NoManagedCluster      State = "NoManagedCluster"
	ClusterUnavailable    State = "ClusterUnavailable"
	Refused               State = "Refused"
	CertificateExpired    State = "CertificateExpired"
	Degraded              State = "Degraded"
	Unavailable           State = "Unavailable"
	Failed                State = "Failed"
	DeletionHeld          State = "DeletionHeld"
	Conflict              State = "Conflict"
	Contested             State = "Contested"
	CertificateNotRenewed State = "CertificateNotRenewed"
	Starting              State = "Starting"
	Waiting               State = "Waiting"
	Syncing               State = "Syncing"
	Unknown               State = "Unknown"
	Uninstalling          State = "Uninstalling"
	Synced                State = "Synced"
	NotEnabled            State = "NotEnabled"
	// Gone is a cluster that is no longer on the hub. Only a watch reports it.
	Gone State = "Gone"
)

// States are all states, worst first.
var States = []State{NoManagedCluster, ClusterUnavailable, Refused, CertificateExpired, Degraded, Unavailable, Failed, DeletionHeld,
	Conflict, Contested, CertificateNotRenewed, Starting, Waiting, Syncing, Unknown, Uninstalling, Synced, NotEnabled, Gone}

// Health is what a state means for the exit code.
type Health int

const (
	// Well is an add-on that works, or a cluster that has none.
	Well Health = iota
	// Passing is an add-on that is not well, and gets well by itself in the normal case.
	Passing
	// Wrong is an add-on that is not well.
	Wrong
)

// Health returns what the state means.
func (s State) Health() Health {
	switch s {
	case Synced, NotEnabled, Uninstalling, Gone:
		return Well
	case Starting, Waiting, Syncing, Unknown:
		return Passing
	default:
		return Wrong
	}
}

// finding is a state, since when the cluster is in it (zero if that is not known), and why.
type finding struct {
	state   State
	since   metav1.Time
	message string
}

// subject is what a rule sees.
type subject struct {
	Facts
	clustersRead bool
	now          time.Time
	expires      *metav1.Time
}

func (s subject) condition(kind string) *metav1.Condition {
	return meta.FindStatusCondition(s.AddOn.Conditions, kind)
}

// rules are those of an enabled add-on: the first that finds something decides. A cause comes before what it
// has as consequence.
var rules = []func(subject) *finding{
	noManagedCluster,
	clusterUnavailable,
	when(plan.ConditionConfigurationValid, metav1.ConditionFalse, Refused),
	certificateExpired,
	when(addonv1beta1.ManagedClusterAddOnConditionDegraded, metav1.ConditionTrue, Degraded),
	when(addonv1beta1.ManagedClusterAddOnConditionAvailable, metav1.ConditionFalse, Unavailable),
	reported,
	mirrored,
	when(CertificateRotated, metav1.ConditionFalse, CertificateNotRenewed),
	when(TokenRefreshed, metav1.ConditionFalse, CertificateNotRenewed),
	starting,
	waiting,
	syncing,
}

// judge returns the state of a cluster.
func judge(s subject, addOnsRead bool) finding {
	switch {
	case s.AddOn == nil && !addOnsRead:
		return finding{state: Unknown, message: "the ManagedClusterAddOns cannot be read"}
	case s.AddOn == nil:
		return finding{state: NotEnabled}
	case s.AddOn.Deleted != nil:
		message := ""
		if synced := s.condition(manifests.ConditionConfigMapsSynced); synced != nil {
			message = synced.Message
		}
		return finding{Uninstalling, *s.AddOn.Deleted, message}
	}
	for _, rule := range rules {
		if found := rule(s); found != nil {
			return *found
		}
	}
	// It is well from when the last of both became true.
	synced := s.condition(manifests.ConditionConfigMapsSynced)
	return finding{Synced, latest(synced.LastTransitionTime, s.condition(addonv1beta1.ManagedClusterAddOnConditionAvailable)), synced.Message}
}

// when returns the rule that finds state where the add-on has the condition with this status.
func when(kind string, status metav1.ConditionStatus, state State) func(subject) *finding {
	return func(s subject) *finding {
		if c := s.condition(kind); c != nil && c.Status == status {
			return &finding{state, c.LastTransitionTime, c.Message}
		}
		return nil
	}
}

func noManagedCluster(s subject) *finding {
	if s.Cluster == nil && s.clustersRead {
		return &finding{state: NoManagedCluster, message: "there is no ManagedCluster " + s.Name + ": delete the ManagedClusterAddOn, or join the cluster"}
	}
	return nil
}

// leaseNotFound is the reason of Available=Unknown with which a reachable cluster reports that the agent has no
// lease yet.
// https://github.com/open-cluster-management-io/ocm/blob/v1.2.1/pkg/registration/spoke/addon/lease_controller.go
const leaseNotFound = "ManagedClusterAddOnLeaseNotFound"

func clusterUnavailable(s subject) *finding {
	addOn := s.condition(addonv1beta1.ManagedClusterAddOnConditionAvailable)
	switch {
	case s.Cluster != nil && !s.Cluster.Accepted:
		return &finding{state: ClusterUnavailable, message: "the hub has not accepted the cluster"}
	case s.Cluster != nil && s.Cluster.Available == nil:
		return &finding{state: ClusterUnavailable, message: "the cluster has not joined"}
	case s.Cluster != nil && s.Cluster.Available.Status != metav1.ConditionTrue:
		return &finding{ClusterUnavailable, s.Cluster.Available.LastTransitionTime, s.Cluster.Available.Message}
	case addOn != nil && addOn.Status == metav1.ConditionUnknown && addOn.Reason != leaseNotFound:
		return &finding{ClusterUnavailable, addOn.LastTransitionTime, addOn.Message}
	}
	return nil
}

func certificateExpired(s subject) *finding {
	if s.expires != nil && !s.now.Before(s.expires.Time) {
		return &finding{CertificateExpired, *s.expires, "the agent's credentials for the hub expired at " + s.expires.UTC().Format(time.RFC3339)}
	}
	return nil
}

// reasons of ConfigMapsSynced=False that need a person.
var reasons = map[string]State{"Failed": Failed, "DeletionHeld": DeletionHeld, "Conflict": Conflict, "Contested": Contested}

func reported(s subject) *finding {
	c := s.condition(manifests.ConditionConfigMapsSynced)
	if c == nil || c.Status != metav1.ConditionFalse || reasons[c.Reason] == "" {
		return nil
	}
	found := &finding{reasons[c.Reason], c.LastTransitionTime, c.Message}
	if s.Mirror != nil {
		// The condition keeps its time when only its reason changes.
		if group, ok := s.Mirror.NotSynced[v1alpha1.MirrorState(c.Reason)]; ok {
			found.since = group.Since
		}
	}
	return found
}

// mirrorStates are the states of ConfigMaps that need a person, worst first.
var mirrorStates = []v1alpha1.MirrorState{v1alpha1.MirrorFailed, v1alpha1.MirrorConflict, v1alpha1.MirrorContested}

// mirrored finds what the ConfigMapMirror has while the condition is True or missing: the agent writes one after
// the other.
func mirrored(s subject) *finding {
	if c := s.condition(manifests.ConditionConfigMapsSynced); s.Mirror == nil || c != nil && c.Status != metav1.ConditionTrue {
		return nil
	}
	for _, state := range mirrorStates {
		if group, ok := s.Mirror.NotSynced[state]; ok {
			return &finding{State(state), group.Since, group.Message}
		}
	}
	return nil
}

// starting begins when nothing else was in the way: the add-on exists, OCM reaches the cluster and misses the lease.
func starting(s subject) *finding {
	c := s.condition(addonv1beta1.ManagedClusterAddOnConditionAvailable)
	if c != nil && c.Status == metav1.ConditionTrue {
		return nil
	}
	found := &finding{Starting, s.AddOn.Created, "OCM has not reported whether the agent is available"}
	if s.Cluster != nil {
		found.since = latest(found.since, s.Cluster.Available)
	}
	if c != nil {
		found.since, found.message = latest(found.since, c), c.Message
	}
	return found
}

// waiting begins when the agent is available: it could not list the ConfigMaps before.
func waiting(s subject) *finding {
	available := s.condition(addonv1beta1.ManagedClusterAddOnConditionAvailable)
	switch c := s.condition(manifests.ConditionConfigMapsSynced); {
	case c == nil:
		return &finding{Waiting, latest(s.AddOn.Created, available), "the agent has not reported"}
	case c.Status == metav1.ConditionUnknown:
		return &finding{Waiting, latest(c.LastTransitionTime, available), c.Message}
	}
	return nil
}

// latest returns t, or when the condition changed, if that is later. The condition may be nil.
func latest(t metav1.Time, c *metav1.Condition) metav1.Time {
	if c != nil && t.Before(&c.LastTransitionTime) {
		return c.LastTransitionTime
	}
	return t
}

func syncing(s subject) *finding {
	c := s.condition(manifests.ConditionConfigMapsSynced)
	if c.Status != metav1.ConditionTrue {
		return &finding{Syncing, c.LastTransitionTime, c.Message}
	}
	if s.Mirror != nil && s.Mirror.Synced < s.Mirror.Total {
		pending := s.Mirror.NotSynced[v1alpha1.MirrorPending]
		return &finding{Syncing, pending.Since, cmp.Or(pending.Message, c.Message)}
	}
	return nil
}
