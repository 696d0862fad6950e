package v1alpha1

import "k8s.io/apimachinery/pkg/runtime/schema"

// GroupVersion is the group and the version of the types in this package.
var GroupVersion = schema.GroupVersion{Group: "helloworld.open-cluster-management.io", Version: "v1alpha1"}
