package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
)

// Key is the namespace and name of an object.
type Key = types.NamespacedName

// CheckKey returns an error unless an object may have this namespace and name. Without this check, the name ../secrets/a of a file
// would be the path of a Secret, which would be printed as a ConfigMap.
func CheckKey(key Key) error {
	if problems := validation.IsDNS1123Label(key.Namespace); len(problems) > 0 {
		return fmt.Errorf("the namespace %q is not valid: %s", key.Namespace, problems[0])
	}
	return CheckName(key.Name)
}

// CheckName returns an error unless an object may have this name.
func CheckName(name string) error {
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return fmt.Errorf("the name %q is not valid: %s", name, problems[0])
	}
	return nil
}

// The kinds that diff considers.
var (
	ConfigMapKind = corev1.SchemeGroupVersion.WithKind("ConfigMap")
	SetKind       = v1alpha1.GroupVersion.WithKind("ConfigMapReplicaSet")
)

// File is what the files of the command line have.
type File struct {
	Objects []FileObject
	// Placements and Namespaces are those in the file. They are not considered, but explain why one is not on the hub.
	Placements map[Key]bool
	Namespaces map[string]bool
	// Others are the numbers of the objects that are not considered, by kind.
	Others map[string]int
}

// FileObject is a ConfigMap or a ConfigMapReplicaSet of the file.
type FileObject struct {
	Kind schema.GroupVersionKind
	Key
	// Raw is the object as JSON, with its namespace.
	Raw []byte
}

// String returns how messages name the object.
func (o FileObject) String() string { return o.Kind.Kind + " " + o.Key.String() }

// NewFile sorts the objects of a file. Those without a namespace get the given one. If that is enforced, another namespace is
// an error, as in kubectl. The error names every problem.
func NewFile(objects []*unstructured.Unstructured, namespace string, enforced bool) (File, error) {
	file := File{Placements: map[Key]bool{}, Namespaces: map[string]bool{}, Others: map[string]int{}}
	var problems []error
	seen := map[string]bool{}
	for _, object := range objects {
		kind := object.GroupVersionKind()
		switch {
		case kind == ConfigMapKind || kind == SetKind:
			one, err := newFileObject(object, namespace, enforced)
			if err == nil && seen[one.String()] {
				err = fmt.Errorf("%s is there twice", one)
			}
			if err != nil {
				problems = append(problems, err)
				continue
			}
			seen[one.String()] = true
			file.Objects = append(file.Objects, one)
			continue
		case kind.Kind == "Placement" && strings.HasPrefix(kind.Group, "cluster.open-cluster-management.io"):
			key := Key{Namespace: object.GetNamespace(), Name: object.GetName()}
			if key.Namespace == "" {
				key.Namespace = namespace
			}
			file.Placements[key] = true
		case kind.Kind == "Namespace" && kind.Group == "":
			file.Namespaces[object.GetName()] = true
		}
		file.Others[kind.Kind]++
	}
	if len(file.Objects) == 0 && len(problems) == 0 {
		if len(objects) == 0 {
			return file, errors.New("there are no objects in the files")
		}
		return file, fmt.Errorf("there is no ConfigMap and no ConfigMapReplicaSet in the files, only %s", file.NotConsidered())
	}
	return file, errors.Join(problems...)
}

func newFileObject(object *unstructured.Unstructured, namespace string, enforced bool) (FileObject, error) {
	one := FileObject{Kind: object.GroupVersionKind(), Key: Key{Namespace: object.GetNamespace(), Name: object.GetName()}}
	if one.Namespace == "" {
		one.Namespace = namespace
	}
	switch err := CheckKey(one.Key); {
	case one.Name == "" && object.GetGenerateName() != "":
		return one, fmt.Errorf("a %s has metadata.generateName %s and no name: kubectl apply needs a name", one.Kind.Kind, object.GetGenerateName())
	case one.Name == "":
		return one, fmt.Errorf("a %s has no metadata.name", one.Kind.Kind)
	case err != nil:
		return one, fmt.Errorf("a %s: %w", one.Kind.Kind, err)
	case enforced && one.Namespace != namespace:
		return one, fmt.Errorf("%s is in namespace %s, and --namespace is %s: name the same namespace, or leave the flag out", one, one.Namespace, namespace)
	}
	object = object.DeepCopy()
	object.SetNamespace(one.Namespace)
	var err error
	if one.Raw, err = object.MarshalJSON(); err != nil {
		return one, fmt.Errorf("encode %s: %w", one, err)
	}
	var typed any = &corev1.ConfigMap{}
	if one.Kind == SetKind {
		typed = &v1alpha1.ConfigMapReplicaSet{}
	}
	if err := json.Unmarshal(one.Raw, typed); err != nil {
		return one, fmt.Errorf("%s is not valid: %w", one, err)
	}
	return one, nil
}

// NotConsidered returns the objects that are not considered, for example "1 Placement, 2 Secret".
func (f File) NotConsidered() string {
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(f.Others)) {
		parts = append(parts, fmt.Sprintf("%d %s", f.Others[kind], kind))
	}
	return strings.Join(parts, ", ")
}
