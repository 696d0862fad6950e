package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	// GroupVersion is the group and the version of the types in this package.
	GroupVersion = schema.GroupVersion{Group: "helloworld.open-cluster-management.io", Version: "v1alpha1"}

	schemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)
	// AddToScheme adds the types of this package to a scheme.
	AddToScheme = schemeBuilder.AddToScheme
)

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&ConfigMapReplicaSet{}, &ConfigMapReplicaSetList{},
		&ConfigMapMirror{}, &ConfigMapMirrorList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
