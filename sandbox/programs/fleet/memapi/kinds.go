package memapi

import (
	"sort"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// kind is one kind of object in one version, as served below one path.
type kind struct {
	schema.GroupVersionResource
	name       string // for example Deployment
	short      []string
	namespaced bool
	status     bool // has a /status subresource
	generation bool // counts changes of the desired state in metadata.generation
	custom     bool // of a CustomResourceDefinition
	create     bool // can only be created: nothing is stored, for example a review
}

// gvk returns the group, version and kind of k's objects.
func (k *kind) gvk() schema.GroupVersionKind { return k.GroupVersion().WithKind(k.name) }

// serves reports whether k's objects are at a path: their scope, and the subresource if
// it has one.
func (k *kind) serves(t target) bool {
	switch {
	case !k.namespaced && t.namespace != "", k.namespaced && t.namespace == "" && t.name != "":
		return false
	}
	return t.sub == "" || t.sub == "status" && k.status
}

// apiVersion returns the apiVersion of k's objects.
func (k *kind) apiVersion() string { return k.GroupVersion().String() }

// builtin is the table of the kinds that every cluster serves: a line per group and
// version, then a line per resource with its kind, flags and short names. The flags:
// n: namespaced, s: has a status subresource, g: counts generations, c: only create,
// x: of a CustomResourceDefinition that OCM's klusterlet installs.
const builtin = `
v1
  namespaces Namespace s ns
  nodes Node s no
  pods Pod nsg po
  configmaps ConfigMap n cm
  secrets Secret n
  serviceaccounts ServiceAccount n sa
  services Service ns svc
  endpoints Endpoints n ep
  events Event n ev
  persistentvolumeclaims PersistentVolumeClaim ns pvc
  persistentvolumes PersistentVolume s pv
  replicationcontrollers ReplicationController nsg rc
  limitranges LimitRange n limits
  resourcequotas ResourceQuota ns quota
  podtemplates PodTemplate n
apps/v1
  deployments Deployment nsg deploy
  replicasets ReplicaSet nsg rs
  statefulsets StatefulSet nsg sts
  daemonsets DaemonSet nsg ds
  controllerrevisions ControllerRevision n
batch/v1
  jobs Job nsg
  cronjobs CronJob nsg cj
rbac.authorization.k8s.io/v1
  roles Role n
  rolebindings RoleBinding n
  clusterroles ClusterRole -
  clusterrolebindings ClusterRoleBinding -
coordination.k8s.io/v1
  leases Lease n
events.k8s.io/v1
  events Event n ev
apiextensions.k8s.io/v1
  customresourcedefinitions CustomResourceDefinition sg crd crds
admissionregistration.k8s.io/v1
  mutatingwebhookconfigurations MutatingWebhookConfiguration g
  validatingwebhookconfigurations ValidatingWebhookConfiguration g
  validatingadmissionpolicies ValidatingAdmissionPolicy sg
  validatingadmissionpolicybindings ValidatingAdmissionPolicyBinding g
apiregistration.k8s.io/v1
  apiservices APIService s
networking.k8s.io/v1
  networkpolicies NetworkPolicy ng netpol
  ingresses Ingress nsg ing
  ingressclasses IngressClass g
policy/v1
  poddisruptionbudgets PodDisruptionBudget nsg pdb
autoscaling/v2
  horizontalpodautoscalers HorizontalPodAutoscaler ns hpa
storage.k8s.io/v1
  storageclasses StorageClass - sc
scheduling.k8s.io/v1
  priorityclasses PriorityClass g pc
discovery.k8s.io/v1
  endpointslices EndpointSlice ng
certificates.k8s.io/v1
  certificatesigningrequests CertificateSigningRequest s csr
authentication.k8s.io/v1
  selfsubjectreviews SelfSubjectReview c
authorization.k8s.io/v1
  localsubjectaccessreviews LocalSubjectAccessReview nc
  selfsubjectaccessreviews SelfSubjectAccessReview c
  selfsubjectrulesreviews SelfSubjectRulesReview c
  subjectaccessreviews SubjectAccessReview c
work.open-cluster-management.io/v1
  appliedmanifestworks AppliedManifestWork sgx
cluster.open-cluster-management.io/v1alpha1
  clusterclaims ClusterClaim gx
about.k8s.io/v1alpha1
  clusterproperties ClusterProperty sgx
`

// builtins has the kinds of the table builtin. All clusters share it; it is only read.
var builtins = parseKinds(builtin)

type kinds map[schema.GroupVersionResource]*kind

func parseKinds(text string) kinds {
	parsed := kinds{}
	var gv schema.GroupVersion
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
		case len(words) == 1:
			group, version, grouped := strings.Cut(words[0], "/")
			if !grouped {
				group, version = "", group
			}
			gv = schema.GroupVersion{Group: group, Version: version}
		default:
			flags := words[2]
			k := &kind{
				GroupVersionResource: gv.WithResource(words[0]), name: words[1], short: words[3:],
				namespaced: strings.Contains(flags, "n"), status: strings.Contains(flags, "s"),
				generation: strings.Contains(flags, "g"), create: strings.Contains(flags, "c"),
				custom: strings.Contains(flags, "x"),
			}
			parsed[k.GroupVersionResource] = k
		}
	}
	return parsed
}

// sorted returns all kinds ordered by group, version and resource.
func (s kinds) sorted() []*kind {
	all := make([]*kind, 0, len(s))
	for _, k := range s {
		all = append(all, k)
	}
	sort.Slice(all, func(i, j int) bool {
		a, b := all[i].GroupVersionResource, all[j].GroupVersionResource
		if a.Group != b.Group {
			return a.Group < b.Group
		}
		if a.Version != b.Version {
			return a.Version < b.Version
		}
		return a.Resource < b.Resource
	})
	return all
}

// immutable has the fields that an update cannot change, by resource. They are those
// that OCM's agents and add-ons rely on, for example that a Job's template stays.
var immutable = map[schema.GroupResource][][]string{
	{Group: "batch", Resource: "jobs"}:                                    {{"spec", "template"}, {"spec", "selector"}},
	{Group: "apps", Resource: "deployments"}:                              {{"spec", "selector"}},
	{Group: "apps", Resource: "daemonsets"}:                               {{"spec", "selector"}},
	{Group: "apps", Resource: "statefulsets"}:                             {{"spec", "selector"}, {"spec", "serviceName"}},
	{Group: "rbac.authorization.k8s.io", Resource: "rolebindings"}:        {{"roleRef"}},
	{Group: "rbac.authorization.k8s.io", Resource: "clusterrolebindings"}: {{"roleRef"}},
	{Resource: "secrets"}:                                                 {{"type"}},
}
