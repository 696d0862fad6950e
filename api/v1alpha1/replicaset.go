package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"
)

// ConfigMapReplicaSet writes ConfigMaps of its namespace to the clusters that Placements
// select, step by step. On each cluster's namespace on the hub they become ConfigMaps that
// the add-on's agent copies to the cluster.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=cmrs
// +kubebuilder:metadata:labels=app.kubernetes.io/part-of=helloworld-addon
// +kubebuilder:metadata:annotations="helm.sh/resource-policy=keep"
// +kubebuilder:printcolumn:name="Clusters",type=integer,JSONPath=`.status.summary.total`
// +kubebuilder:printcolumn:name="Updated",type=integer,JSONPath=`.status.summary.updated`
// +kubebuilder:printcolumn:name="Synced",type=integer,JSONPath=`.status.summary.synced`
// +kubebuilder:printcolumn:name="Failed",type=integer,JSONPath=`.status.summary.failed`
// +kubebuilder:printcolumn:name="Timed-Out",type=integer,JSONPath=`.status.summary.timedOut`,priority=1
// +kubebuilder:printcolumn:name="Rolled-Out",type=string,JSONPath=`.status.conditions[?(@.type=="RolledOut")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="RolledOut")].reason`
// +kubebuilder:printcolumn:name="Revision",type=string,JSONPath=`.status.updatedRevision`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ConfigMapReplicaSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec ConfigMapReplicaSetSpec `json:"spec"`
	// +optional
	Status ConfigMapReplicaSetStatus `json:"status,omitzero"`
}

// ConfigMapReplicaSetList is a list of ConfigMapReplicaSets.
//
// +kubebuilder:object:root=true
type ConfigMapReplicaSetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ConfigMapReplicaSet `json:"items"`
}

// ConfigMapReplicaSetSpec tells what is written to which clusters, and how.
type ConfigMapReplicaSetSpec struct {
	// configMaps are the sources, in the namespace of the set. Each cluster gets a ConfigMap of
	// the same name.
	// +required
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	ConfigMaps []ConfigMapReference `json:"configMaps"`

	// values are what $(NAME) in the data of the sources stands for on each cluster. $$(NAME)
	// stands for the text $(NAME). A $(NAME) that has no value is an error.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Values []Value `json:"values,omitempty"`

	// placementRefs name Placements in the namespace of the set. A cluster that several of them
	// select belongs to the first.
	// +required
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	PlacementRefs []PlacementReference `json:"placementRefs"`

	// paused holds the rollout: no further cluster gets another revision. Clusters keep what they
	// have.
	// +optional
	Paused bool `json:"paused,omitempty"`

	// revisionHistoryLimit is how many former revisions are kept.
	// +optional
	// +kubebuilder:default=10
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty"`

	// deletionPolicy tells what becomes of the clusters' ConfigMaps when the set is deleted or a
	// cluster is no longer selected: Delete deletes them, Orphan leaves them as ConfigMaps that
	// belong to no set.
	// +optional
	// +kubebuilder:default=Delete
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
}

// DeletionPolicy tells what becomes of the clusters' ConfigMaps.
//
// +kubebuilder:validation:Enum=Delete;Orphan
type DeletionPolicy string

const (
	// DeletionDelete deletes the ConfigMaps.
	DeletionDelete DeletionPolicy = "Delete"
	// DeletionOrphan leaves them as ConfigMaps that belong to no set.
	DeletionOrphan DeletionPolicy = "Orphan"
)

// ConfigMapReference names a ConfigMap. The mirror never copies the names that are refused here.
type ConfigMapReference struct {
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	// +kubebuilder:validation:XValidation:rule="!(self in ['kube-root-ca.crt', 'openshift-service-ca.crt', 'helloworld-agent-uninstall'])",message="the add-on never copies a ConfigMap of this name"
	Name string `json:"name"`
}

// Value is what $(NAME) stands for on a cluster: the value of a label, of a cluster claim, or of a CEL
// expression.
//
// +kubebuilder:validation:XValidation:rule="[has(self.label), has(self.claim), has(self.expression)].filter(x, x).size() == 1",message="exactly one of label, claim and expression is required"
// +kubebuilder:validation:XValidation:rule="!has(self.expression) || !has(self.default)",message="an expression has no default: write it into the expression"
type Value struct {
	// name is that of $(NAME).
	// +required
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z_][A-Za-z0-9_]*$`
	Name string `json:"name"`

	// label is the key of a label of the ManagedCluster.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	Label string `json:"label,omitempty"`

	// claim is the name of a cluster claim in the status of the ManagedCluster.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Claim string `json:"claim,omitempty"`

	// expression is a CEL expression whose result is a string. Its variable cluster is the
	// ManagedCluster.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	Expression string `json:"expression,omitempty"`

	// default is the value for clusters without the label or claim. Without it such a cluster
	// fails.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Default *string `json:"default,omitempty"`
}

// PlacementReference names a Placement, and tells in which steps its clusters are updated.
type PlacementReference struct {
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// rolloutStrategy is OCM's: https://open-cluster-management.io/docs/concepts/work-distribution/manifestworkreplicaset/
	// +optional
	// +kubebuilder:default={type: All, all: {progressDeadline: None}}
	RolloutStrategy clusterv1alpha1.RolloutStrategy `json:"rolloutStrategy,omitzero"`
}

// Conditions of a ConfigMapReplicaSet.
const (
	// ConditionPlacementsResolved is True when every Placement is there and its decisions are
	// known.
	ConditionPlacementsResolved = "PlacementsResolved"
	// ConditionRolledOut is True when every cluster reports the updated revision as synced.
	ConditionRolledOut = "RolledOut"
	// ConditionDegraded is True when something needs a person: the sources or a strategy are invalid, a
	// cluster failed or timed out, the rollout stopped, or removals are held or refused.
	ConditionDegraded = "Degraded"
)

// ConfigMapReplicaSetStatus tells how far the rollout is.
type ConfigMapReplicaSetStatus struct {
	// observedGeneration is the generation of the spec that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// currentRevision is the last revision whose rollout reached every cluster. A cluster that joins gets
	// it until its step of the next rollout.
	// +optional
	CurrentRevision string `json:"currentRevision,omitempty"`

	// updatedRevision is the revision that the clusters get.
	// +optional
	UpdatedRevision string `json:"updatedRevision,omitempty"`

	// heldRemovals is set while the set's ConfigMaps are to be removed from many clusters, or a Placement is
	// gone or empty.
	// +optional
	HeldRemovals *HeldRemovals `json:"heldRemovals,omitempty"`

	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// summary counts the clusters of all Placements. It is written when nothing is selected, too: kubectl
	// then prints zeros.
	// +optional
	Summary Summary `json:"summary"`

	// placements have the same for each Placement, in the order of the spec.
	// +optional
	// +listType=map
	// +listMapKey=name
	Placements []PlacementStatus `json:"placements,omitempty"`
}

// HeldRemovals are removals that wait, so that a mistake can be corrected.
type HeldRemovals struct {
	// id identifies the removals. The annotation helloworld.open-cluster-management.io/release-deletions
	// with this value on the set releases the removals.
	ID string `json:"id"`
	// clusters is how many clusters they are.
	Clusters int32 `json:"clusters"`
	// since is when the hold began. It begins anew when the removals change.
	Since metav1.Time `json:"since"`
}

// Summary counts clusters. A cluster may be counted as updated and as one of the others.
type Summary struct {
	// total are the clusters that are selected.
	Total int32 `json:"total"`
	// updated have been given the updated revision.
	Updated int32 `json:"updated"`
	// synced report the updated revision as synced.
	Synced int32 `json:"synced"`
	// failed cannot get or copy the updated revision.
	Failed int32 `json:"failed"`
	// timedOut did not report the updated revision as synced within the progress deadline.
	TimedOut int32 `json:"timedOut"`
}

// PlacementStatus counts the clusters of a Placement.
type PlacementStatus struct {
	Name    string  `json:"name"`
	Summary Summary `json:"summary"`

	// groups are the Placement's decision groups in the order of their index, at most 100.
	// +optional
	// +listType=map
	// +listMapKey=index
	// +kubebuilder:validation:MaxItems=100
	Groups []GroupStatus `json:"groups,omitempty"`
}

// GroupStatus counts the clusters of a decision group.
type GroupStatus struct {
	Index int32 `json:"index"`
	// +optional
	Name    string  `json:"name,omitempty"`
	Summary Summary `json:"summary"`
}
