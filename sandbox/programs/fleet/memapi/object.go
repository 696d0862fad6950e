package memapi

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/json"
)

func nameOf(obj *unstructured.Unstructured) name {
	return name{Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// newEntry returns the entry that stores obj with a resource version.
func newEntry(obj *unstructured.Unstructured, version uint64) (*entry, error) {
	obj.SetResourceVersion(strconv.FormatUint(version, 10))
	data, err := json.Marshal(obj.Object)
	if err != nil {
		return nil, fmt.Errorf("encode %s %s: %w", obj.GetKind(), nameOf(obj), err)
	}
	e := &entry{
		data: data, revision: version, version: obj.GroupVersionKind().Version, uid: obj.GetUID(),
		terminating: obj.GetDeletionTimestamp() != nil,
	}
	for _, owner := range obj.GetOwnerReferences() {
		e.owners = append(e.owners, owner.UID)
	}
	return e, nil
}

// unchanged reports whether obj is what before has, but for its resource version, which
// it sets to that of before.
func unchanged(before *entry, obj *unstructured.Unstructured) (bool, error) {
	obj.SetResourceVersion(before.resourceVersion())
	data, err := json.Marshal(obj.Object)
	return bytes.Equal(before.data, data), err
}

// decode returns the object, which belongs to the caller.
func (e *entry) decode() (*unstructured.Unstructured, error) {
	obj := &unstructured.Unstructured{}
	if err := json.Unmarshal(e.data, &obj.Object); err != nil {
		return nil, fmt.Errorf("decode stored object: %w", err)
	}
	return obj, nil
}

// resourceVersion returns the version as clients see it.
func (e *entry) resourceVersion() string { return strconv.FormatUint(e.revision, 10) }

// in returns the object as JSON in the version of k. Versions differ only in apiVersion,
// as with a CustomResourceDefinition that has no conversion webhook.
func (e *entry) in(k *kind) []byte {
	if e.version == k.Version {
		return e.data
	}
	obj, err := e.decode()
	if err != nil {
		return e.data
	}
	obj.SetAPIVersion(k.apiVersion())
	data, err := json.Marshal(obj.Object)
	if err != nil {
		return e.data
	}
	return data
}

// selector selects objects of one kind.
type selector struct {
	namespace string // empty: all
	labels    labels.Selector
	fields    fields.Selector
}

// matches reports whether the object of e is selected.
func (s selector) matches(n name, e *entry) bool {
	if e == nil || s.namespace != "" && s.namespace != n.Namespace {
		return false
	}
	return s.matchesFields(n, e) && s.matchesLabels(e)
}

func (s selector) matchesLabels(e *entry) bool {
	if s.labels == nil || s.labels.Empty() {
		return true
	}
	var obj struct {
		Metadata struct {
			Labels labels.Set `json:"labels"`
		} `json:"metadata"`
	}
	return json.Unmarshal(e.data, &obj) == nil && s.labels.Matches(obj.Metadata.Labels)
}

func (s selector) matchesFields(n name, e *entry) bool {
	if s.fields == nil || s.fields.Empty() {
		return true
	}
	return s.fields.Matches(&objectFields{name: n, entry: e})
}

// objectFields gives a field selector the fields of one object. Only fields other than
// the name need the object decoded.
type objectFields struct {
	name  name
	entry *entry
	obj   *unstructured.Unstructured
}

var _ fields.Fields = &objectFields{}

func (f *objectFields) Has(field string) bool { return f.Get(field) != "" }

func (f *objectFields) Get(field string) string {
	switch field {
	case "metadata.name":
		return f.name.Name
	case "metadata.namespace":
		return f.name.Namespace
	}
	if f.obj == nil {
		obj, err := f.entry.decode()
		if err != nil {
			return ""
		}
		f.obj = obj
	}
	value, found, err := unstructured.NestedFieldNoCopy(f.obj.Object, strings.Split(field, ".")...)
	if err != nil || !found {
		return ""
	}
	return fmt.Sprint(value)
}

// secretData moves the stringData of a Secret to its data, as the API server does.
func secretData(obj *unstructured.Unstructured) {
	plain, found, err := unstructured.NestedStringMap(obj.Object, "stringData")
	if err != nil || !found {
		return
	}
	data, _, err := unstructured.NestedMap(obj.Object, "data")
	if err != nil {
		return
	}
	if data == nil {
		data = map[string]any{}
	}
	for key, value := range plain {
		data[key] = base64.StdEncoding.EncodeToString([]byte(value))
	}
	obj.Object["data"] = data
	delete(obj.Object, "stringData")
}
