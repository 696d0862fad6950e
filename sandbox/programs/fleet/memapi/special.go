package memapi

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// The kinds that the API treats specially.
var (
	namespaces  = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	nodes       = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	secrets     = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	configMaps  = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	accounts    = schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	jobs        = schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}
	coreEvents  = schema.GroupVersionResource{Version: "v1", Resource: "events"}
	newEvents   = schema.GroupVersionResource{Group: "events.k8s.io", Version: "v1", Resource: "events"}
	crds        = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
)

// rootCA is the content of the ConfigMap kube-root-ca.crt. Nothing verifies with it.
const rootCA = "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"

// changed does what follows from an event at once. The caller holds a.mu.
func (a *API) changed(k *kind, e *event) {
	switch k.GroupVersionResource {
	case namespaces:
		if e.what == watch.Added {
			a.namespaceContent(e.name.Name)
		}
	case crds:
		a.serveCustom()
	case deployments, jobs:
		a.syncSoon(k, e.name)
	case coreEvents, newEvents:
		if e.what == watch.Added {
			a.expireEvents(k)
		}
	}
}

// eventLife is how long an API server keeps Events.
const eventLife = time.Hour

// expireEvents removes the Events that are too old.
func (a *API) expireEvents(k *kind) {
	oldest := a.server.clock.Now().Add(-eventLife).Unix()
	for n, e := range a.table(k.GroupResource()).objects {
		if e.stored >= oldest {
			continue
		}
		obj, err := e.decode()
		if err == nil {
			_, err = a.remove(k, n, obj)
		}
		if err != nil {
			a.log.Error(err, "Failed to remove old event", "object", n.String())
		}
	}
}

// namespaceDefaults sets what every namespace has.
func namespaceDefaults(obj *unstructured.Unstructured) {
	labels := obj.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels["kubernetes.io/metadata.name"] = obj.GetName()
	obj.SetLabels(labels)
	if obj.GetDeletionTimestamp() == nil {
		obj.Object["spec"] = map[string]any{"finalizers": []any{"kubernetes"}}
		obj.Object["status"] = map[string]any{"phase": "Active"}
	}
}

// namespaceContent creates what controllers create in a new namespace.
func (a *API) namespaceContent(namespace string) {
	for _, content := range []struct {
		resource schema.GroupVersionResource
		name     string
		fields   map[string]any
	}{
		{accounts, "default", map[string]any{}},
		{configMaps, "kube-root-ca.crt", map[string]any{"data": map[string]any{"ca.crt": rootCA}}},
	} {
		a.must(content.resource, namespace, content.name, content.fields)
	}
}

// must creates an object of the simulator's own.
func (a *API) must(resource schema.GroupVersionResource, namespace, name string, fields map[string]any) {
	k := builtins[resource]
	obj := &unstructured.Unstructured{Object: fields}
	obj.SetName(name)
	if _, err := a.create(k, namespace, obj, false); err != nil {
		a.log.Error(err, "Failed to create object", "kind", k.name, "namespace", namespace, "name", name)
	}
}

// populate creates what a new cluster has.
func (a *API) populate() {
	for _, namespace := range []string{"default", "kube-system", "kube-public", "kube-node-lease"} {
		a.must(namespaces, "", namespace, map[string]any{})
	}
	capacity := map[string]any{"cpu": "4", "memory": "16Gi", "pods": "110", "ephemeral-storage": "100Gi"}
	status := map[string]any{
		"capacity": capacity, "allocatable": capacity,
		"conditions": []any{map[string]any{
			"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "kubelet is posting ready status",
			"lastHeartbeatTime": a.timestamp(), "lastTransitionTime": a.timestamp(),
		}},
		"nodeInfo": map[string]any{
			"kubeletVersion": kubernetesVersion, "architecture": "amd64", "operatingSystem": "linux",
			"kubeProxyVersion": "", "osImage": "", "kernelVersion": "", "containerRuntimeVersion": "", "machineID": "", "systemUUID": "", "bootID": "",
		},
	}
	node := nodeName(a.name)
	a.must(nodes, "", node, map[string]any{
		"metadata": map[string]any{"labels": map[string]any{"kubernetes.io/hostname": node, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}},
		"spec":     map[string]any{},
	})
	a.setStatus(nodes, name{Name: node}, status)
}

func nodeName(cluster string) string { return fmt.Sprintf("%s-node", cluster) }

// timestamp returns the time as objects have it.
func (a *API) timestamp() string {
	return metav1.NewTime(a.server.clock.Now()).UTC().Format("2006-01-02T15:04:05Z")
}

// setStatus replaces the status of an object.
func (a *API) setStatus(resource schema.GroupVersionResource, n name, status map[string]any) {
	k := builtins[resource]
	old := a.table(resource.GroupResource()).objects[n]
	if old == nil {
		return
	}
	obj, err := old.decode()
	if err == nil {
		obj.Object["status"] = status
		_, err = a.put(k, obj)
	}
	if err != nil {
		a.log.Error(err, "Failed to set status", "kind", k.name, "object", n.String())
	}
}
