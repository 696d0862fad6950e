package diagnosis

import (
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"open-cluster-management.io/helloworld-addon/pkg/kubectl/doctor/registration"
)

// policyName finds the policy in the answer of an API server whose ValidatingAdmissionPolicy denies a request.
// https://github.com/kubernetes/kubernetes/blob/v1.34.4/staging/src/k8s.io/apiserver/pkg/admission/plugin/policy/validating/dispatcher.go
var policyName = regexp.MustCompile(`ValidatingAdmissionPolicy '([^']+)'`)

// limitRange finds the answer of an API server when a LimitRange denies a pod.
// https://github.com/kubernetes/kubernetes/blob/v1.34.4/plugin/pkg/admission/limitranger/admission.go
var limitRange = regexp.MustCompile(`(?:maximum|minimum) \S+ usage per |max limit to request ratio per `)

// admissionSteps returns where to look when the message has the answer of an API server that denies a request by a policy, a
// webhook, a LimitRange or a quota. run returns the kubectl command for that API server, and namespace is that of the denied object.
func admissionSteps(message, namespace string, run func(args ...string) string) []registration.Step {
	var steps []registration.Step
	if match := policyName.FindStringSubmatch(message); match != nil && len(validation.IsDNS1123Subdomain(match[1])) == 0 {
		steps = append(steps, step("Look at the policy that denies it, and exempt the object from it, or delete its binding",
			run("get", "validatingadmissionpolicy", match[1], "-o", "yaml")))
	}
	if strings.Contains(message, "failed calling webhook") || strings.Contains(message, "admission webhook ") {
		steps = append(steps, step("Repair the admission webhook that the message names, or change its configuration",
			run("get", "mutatingwebhookconfigurations,validatingwebhookconfigurations")))
	}
	if limitRange.MatchString(message) && namespace != "" {
		steps = append(steps, step("Raise the limit of the LimitRange in the namespace, or change the resources of the pod",
			run("get", "limitranges", "-n", namespace, "-o", "yaml")))
	}
	if strings.Contains(message, "exceeded quota") && namespace != "" {
		steps = append(steps, step("Raise the quota, or make room in the namespace", run("get", "resourcequotas", "-n", namespace)))
	}
	return steps
}
