package hub

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// kinds are the kinds of requests of the controller that the hub counts, each by a FlowSchema for its
// ServiceAccount. The first one that fits counts.
var kinds = []struct{ verb, group, resource string }{
	{"*", "coordination.k8s.io", "leases"},
	{"create", "authentication.k8s.io", "tokenreviews"}, // of those who read the controller's metrics
	{"create", "authorization.k8s.io", "subjectaccessreviews"},
	{"watch", "*", "*"},
	{"list", "*", "*"},
	{"get", addonGroup, "managedclusteraddons"},
	{"update", addonGroup, "managedclusteraddons"},
	{"patch", addonGroup, "managedclusteraddons"},
	{"patch", addonGroup, "managedclusteraddons/status"},
	{"*", addonGroup, "*"},
	{"get", "work.open-cluster-management.io", "manifestworks"},
	{"create", "work.open-cluster-management.io", "manifestworks"},
	{"patch", "work.open-cluster-management.io", "manifestworks"},
	{"get", "rbac.authorization.k8s.io", "rolebindings"},
	{"create", "rbac.authorization.k8s.io", "rolebindings"},
	{"*", "*", "events"},
	{"update", "certificates.k8s.io", "certificatesigningrequests/approval"},
	{"delete", "certificates.k8s.io", "certificatesigningrequests"},
	{"*", "*", "*"},
}

const (
	addonGroup      = "addon.open-cluster-management.io"
	firstPrecedence = 50 // before Kubernetes' own FlowSchemas, but after those of exempt requests and probes
	schemaPrefix    = "fleet-controller-"
	// level is the priority level of service accounts.
	level = "workload-low"
)

// CountRequests makes the API server count the controller's requests. It has to be called before the
// controller starts.
func (h *Hub) CountRequests(ctx context.Context) error {
	for i, k := range kinds {
		rules := flowcontrolv1.PolicyRulesWithSubjects{
			Subjects: []flowcontrolv1.Subject{{Kind: flowcontrolv1.SubjectKindServiceAccount,
				ServiceAccount: &flowcontrolv1.ServiceAccountSubject{Namespace: namespace, Name: "helloworld-controller"}}},
			ResourceRules: []flowcontrolv1.ResourcePolicyRule{{Verbs: []string{k.verb}, APIGroups: []string{k.group}, Resources: []string{k.resource},
				Namespaces: []string{flowcontrolv1.NamespaceEvery}, ClusterScope: true}},
		}
		if i == len(kinds)-1 { // discovery
			rules.NonResourceRules = []flowcontrolv1.NonResourcePolicyRule{{Verbs: []string{"*"}, NonResourceURLs: []string{"*"}}}
		}
		schema := &flowcontrolv1.FlowSchema{
			ObjectMeta: metav1.ObjectMeta{Name: schemaPrefix + strconv.Itoa(i)},
			Spec: flowcontrolv1.FlowSchemaSpec{
				PriorityLevelConfiguration: flowcontrolv1.PriorityLevelConfigurationReference{Name: level},
				MatchingPrecedence:         firstPrecedence + int32(i), // #nosec G115 -- a small table
				DistinguisherMethod:        &flowcontrolv1.FlowDistinguisherMethod{Type: flowcontrolv1.FlowDistinguisherMethodByUserType},
				Rules:                      []flowcontrolv1.PolicyRulesWithSubjects{rules},
			},
		}
		if _, err := h.client.FlowcontrolV1().FlowSchemas().Create(ctx, schema, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create FlowSchema %s: %w", schema.Name, err)
		}
	}
	return nil
}

// dispatched is a line of the API server's counter of requests by FlowSchema.
// https://kubernetes.io/docs/reference/instrumentation/metrics/
var dispatched = regexp.MustCompile(`(?m)^apiserver_flowcontrol_dispatched_requests_total\{flow_schema="` + schemaPrefix + `(\d+)".*\} (\S+)$`)

// Requests returns the controller's requests since the API server started, by "VERB RESOURCE".
func (h *Hub) Requests(ctx context.Context) (map[string]float64, error) {
	text, err := h.client.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the metrics of the API server: %w", err)
	}
	counts := map[string]float64{}
	for _, match := range dispatched.FindAllStringSubmatch(string(text), -1) {
		i, err := strconv.Atoi(match[1])
		if err != nil || i >= len(kinds) {
			continue
		}
		n, err := strconv.ParseFloat(match[2], 64)
		if err != nil {
			return nil, fmt.Errorf("read the metrics of the API server: %w", err)
		}
		counts[strings.TrimSpace(kinds[i].verb+" "+kinds[i].resource)] += n
	}
	return counts, nil
}
