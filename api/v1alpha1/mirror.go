package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ConfigMapMirror is what the add-on's agent reports about the ConfigMaps of one cluster. There is
// one in each cluster's namespace, named helloworld. The add-on's controller creates it, and the agent
// writes its status.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:metadata:labels=app.kubernetes.io/part-of=helloworld-addon
// +kubebuilder:metadata:annotations="helm.sh/resource-policy=keep"
// +kubebuilder:printcolumn:name="Synced",type=integer,JSONPath=`.status.synced`
// +kubebuilder:printcolumn:name="ConfigMaps",type=integer,JSONPath=`.status.total`
// +kubebuilder:printcolumn:name="First-Not-Synced",type=string,JSONPath=`.status.configMaps[?(@.state!="Synced")].name`
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.configMaps[?(@.state!="Synced")].state`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ConfigMapMirror struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// status is missing until the agent has reported for the first time.
	// +optional
	Status *ConfigMapMirrorStatus `json:"status,omitempty"`
}

// ConfigMapMirrorList is a list of ConfigMapMirrors.
//
// +kubebuilder:object:root=true
type ConfigMapMirrorList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ConfigMapMirror `json:"items"`
}

// ConfigMapMirrorStatus is the agent's report.
type ConfigMapMirrorStatus struct {
	// total is the number of ConfigMaps that the agent copies.
	Total int32 `json:"total"`
	// synced is the number of those whose copy equals them.
	Synced int32 `json:"synced"`

	// configMaps are the ConfigMaps that carry a revision or are not synced, by name: first those with
	// a revision, of them first those that are not synced.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=500
	ConfigMaps []MirroredConfigMap `json:"configMaps,omitempty"`

	// omitted is how many further ConfigMaps do not fit into configMaps.
	// +optional
	Omitted int32 `json:"omitted,omitempty"`
}

// MirrorState is the state of one ConfigMap.
//
// +kubebuilder:validation:Enum=Synced;Pending;Conflict;Failed;Contested
type MirrorState string

const (
	// MirrorSynced is a ConfigMap whose copy equals it.
	MirrorSynced MirrorState = "Synced"
	// MirrorPending is a ConfigMap whose copy is about to be written.
	MirrorPending MirrorState = "Pending"
	// MirrorConflict is a ConfigMap whose copy's name belongs to an object of another owner.
	MirrorConflict MirrorState = "Conflict"
	// MirrorFailed is a ConfigMap whose copy cannot be written.
	MirrorFailed MirrorState = "Failed"
	// MirrorContested is a ConfigMap whose copy another writer keeps changing.
	MirrorContested MirrorState = "Contested"
)

// MirroredConfigMap is the state of one ConfigMap.
type MirroredConfigMap struct {
	// name is that of the ConfigMap in the cluster's namespace on the hub.
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// revision is the value of the ConfigMap's annotation
	// helloworld.open-cluster-management.io/revision, of which state tells. A value of more than 63
	// bytes is ignored.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Revision string `json:"revision,omitempty"`
	// +required
	State MirrorState `json:"state"`
	// message tells why the ConfigMap is not synced, in at most 256 bytes.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Message string `json:"message,omitempty"`
	// since is when the ConfigMap got into this state with this revision, by the cluster's clock.
	Since metav1.Time `json:"since"`
}
