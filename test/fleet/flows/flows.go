// Package flows counts the requests of one user or group to an API server by verb and
// resource.
//
// An API server's counters of requests do not tell who asked. Those of API Priority and
// Fairness count by FlowSchema, and a FlowSchema can be for one user. So the package creates
// a FlowSchema for each kind of request of the user. They lead to the priority level that
// the user has by default, so they change no request's priority.
// https://kubernetes.io/docs/concepts/cluster-administration/flow-control/
package flows

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"open-cluster-management.io/helloworld-addon/test/fleet/scrape"
)

// Dispatched is the API server's counter of requests by FlowSchema.
const Dispatched = "apiserver_flowcontrol_dispatched_requests_total"

const timeout = 30 * time.Second

// firstPrecedence is before Kubernetes' own FlowSchemas, but after those of exempt requests
// and probes.
const firstPrecedence = 50

// Kind is a kind of request; "*" is any.
type Kind struct{ Verb, Group, Resource string }

// Name is the kind as a table shows it, for example "patch managedclusteraddons/status".
func (k Kind) Name() string {
	switch {
	case k == (Kind{"*", "*", "*"}):
		return "others"
	case k.Verb == "*" && k.Resource == "*":
		return k.Group
	case k.Verb == "*":
		return k.Resource
	case k.Resource == "*":
		return k.Verb
	}
	return k.Verb + " " + k.Resource
}

// Options select the requests.
type Options struct {
	// Program names the counter. Precedence is its place among those of one API server: a
	// multiple of a hundred.
	Program    string
	Precedence int32
	// Level is the priority level that the subjects have by default.
	Level    string
	Subjects []flowcontrolv1.Subject
	// Kinds are tried in their order; the first one that fits counts. The last one has to
	// fit every request.
	Kinds []Kind
}

// Counts are requests by the name of their kind.
type Counts map[string]float64

// Since returns what came after an earlier count. An API server that restarted counts from
// zero again: its counts are smaller, and then all of them are new.
func (c Counts) Since(earlier Counts) Counts {
	since := Counts{}
	for name, n := range c {
		if since[name] = n - earlier[name]; since[name] < 0 {
			since[name] = n
		}
	}
	return since
}

// Sum adds all counts but those of the named kinds.
func (c Counts) Sum(except ...string) float64 {
	var sum float64
counts:
	for name, n := range c {
		for _, other := range except {
			if name == other {
				continue counts
			}
		}
		sum += n
	}
	return sum
}

// Counter reads the counts of one program.
type Counter struct{ Options }

func (o Options) name(i int) string { return "fleet-" + o.Program + "-" + strconv.Itoa(i) }

// Install creates the FlowSchemas. The API server uses them within seconds.
func Install(ctx context.Context, client kubernetes.Interface, options Options) (*Counter, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for _, schema := range options.schemas() {
		_, err := client.FlowcontrolV1().FlowSchemas().Create(ctx, schema, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return nil, fmt.Errorf("create FlowSchema %s: %w", schema.Name, err)
		}
	}
	return &Counter{options}, nil
}

func (o Options) schemas() []*flowcontrolv1.FlowSchema {
	var all []*flowcontrolv1.FlowSchema
	for i, k := range o.Kinds {
		rules := flowcontrolv1.PolicyRulesWithSubjects{Subjects: o.Subjects, ResourceRules: []flowcontrolv1.ResourcePolicyRule{{
			Verbs: []string{k.Verb}, APIGroups: []string{k.Group}, Resources: []string{k.Resource},
			Namespaces: []string{flowcontrolv1.NamespaceEvery}, ClusterScope: true}}}
		if i == len(o.Kinds)-1 { // discovery
			rules.NonResourceRules = []flowcontrolv1.NonResourcePolicyRule{{Verbs: []string{"*"}, NonResourceURLs: []string{"*"}}}
		}
		all = append(all, &flowcontrolv1.FlowSchema{
			ObjectMeta: metav1.ObjectMeta{Name: o.name(i)},
			Spec: flowcontrolv1.FlowSchemaSpec{
				PriorityLevelConfiguration: flowcontrolv1.PriorityLevelConfigurationReference{Name: o.Level},
				MatchingPrecedence:         firstPrecedence + o.Precedence + int32(i), // #nosec G115 -- a small table
				DistinguisherMethod:        &flowcontrolv1.FlowDistinguisherMethod{Type: flowcontrolv1.FlowDistinguisherMethodByUserType},
				Rules:                      []flowcontrolv1.PolicyRulesWithSubjects{rules},
			},
		})
	}
	return all
}

// Count returns the counts in an API server's metrics, which have to be parsed with
// Dispatched.
func (c *Counter) Count(metrics scrape.Metrics) Counts {
	counts := Counts{}
	for schema, n := range metrics.By("flow_schema", Dispatched) {
		number, found := strings.CutPrefix(schema, "fleet-"+c.Program+"-")
		if i, err := strconv.Atoi(number); found && err == nil && i < len(c.Kinds) {
			counts[c.Kinds[i].Name()] += n
		}
	}
	return counts
}

// ServiceAccount is the user of a program that runs as a ServiceAccount.
func ServiceAccount(namespace, name string) flowcontrolv1.Subject {
	return flowcontrolv1.Subject{Kind: flowcontrolv1.SubjectKindServiceAccount,
		ServiceAccount: &flowcontrolv1.ServiceAccountSubject{Namespace: namespace, Name: name}}
}

// Group is every user of a group.
func Group(name string) flowcontrolv1.Subject {
	return flowcontrolv1.Subject{Kind: flowcontrolv1.SubjectKindGroup, Group: &flowcontrolv1.GroupSubject{Name: name}}
}
