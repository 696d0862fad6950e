package requests

import (
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Kind is a kind of request.
type Kind string

// The kinds: every request is of exactly one.
const (
	Watch Kind = "watch"
	Lease Kind = "lease"
	Write Kind = "write"
	Read  Kind = "read"
)

// level is where the requests go, which is where those of service accounts go
// anyway: the FlowSchemas are to count and not to favour anybody.
const level = "workload-low"

// firstPrecedence is before all of Kubernetes' own FlowSchemas but those for
// exempt requests (1) and probes (2).
const firstPrecedence = 50

// The order matters: the first FlowSchema that fits takes the request.
var kinds = []struct {
	kind      Kind
	verbs     []string
	group     string
	resources []string
}{
	{Watch, []string{"watch"}, "*", []string{"*"}},
	{Lease, []string{"*"}, "coordination.k8s.io", []string{"leases"}},
	{Write, []string{"create", "update", "patch", "delete", "deletecollection"}, "*", []string{"*"}},
	{Read, []string{"*"}, "*", []string{"*"}},
}

// schemaName is that of the FlowSchema for a kind of request of a program.
func schemaName(program string, kind Kind) string { return "bench-" + program + "-" + string(kind) }

// schemas are the FlowSchemas that count what the subjects ask.
func schemas(program string, offset int32, subjects []flowcontrolv1.Subject) []*flowcontrolv1.FlowSchema {
	var all []*flowcontrolv1.FlowSchema
	for i, k := range kinds {
		rules := flowcontrolv1.PolicyRulesWithSubjects{
			Subjects: subjects,
			ResourceRules: []flowcontrolv1.ResourcePolicyRule{{
				Verbs: k.verbs, APIGroups: []string{k.group}, Resources: k.resources,
				Namespaces: []string{flowcontrolv1.NamespaceEvery}, ClusterScope: true,
			}},
		}
		if k.kind == Read { // discovery, versions, health
			rules.NonResourceRules = []flowcontrolv1.NonResourcePolicyRule{{Verbs: []string{"*"}, NonResourceURLs: []string{"*"}}}
		}
		all = append(all, &flowcontrolv1.FlowSchema{
			ObjectMeta: metav1.ObjectMeta{Name: schemaName(program, k.kind)},
			Spec: flowcontrolv1.FlowSchemaSpec{
				PriorityLevelConfiguration: flowcontrolv1.PriorityLevelConfigurationReference{Name: level},
				MatchingPrecedence:         firstPrecedence + offset + int32(i), // #nosec G115 -- below 10
				DistinguisherMethod:        &flowcontrolv1.FlowDistinguisherMethod{Type: flowcontrolv1.FlowDistinguisherMethodByUserType},
				Rules:                      []flowcontrolv1.PolicyRulesWithSubjects{rules},
			},
		})
	}
	return all
}

// ServiceAccount is a user of a program that runs as a pod.
func ServiceAccount(namespace, name string) flowcontrolv1.Subject {
	return flowcontrolv1.Subject{Kind: flowcontrolv1.SubjectKindServiceAccount,
		ServiceAccount: &flowcontrolv1.ServiceAccountSubject{Namespace: namespace, Name: name}}
}

// Group is every user of a group.
func Group(name string) flowcontrolv1.Subject {
	return flowcontrolv1.Subject{Kind: flowcontrolv1.SubjectKindGroup, Group: &flowcontrolv1.GroupSubject{Name: name}}
}
