package measure

import (
	"context"
	"time"

	"open-cluster-management.io/helloworld-addon/test/bench/sandbox"
	"open-cluster-management.io/helloworld-addon/test/bench/subject"
)

// diagnosisTimeout bounds all that is asked when something did not come about.
const diagnosisTimeout = 30 * time.Second

// diagnose shows what a person would look at first; the sandbox is gone before
// anybody could. A run that was interrupted needs none.
func (m *measurement) diagnose(ctx context.Context) {
	if ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, diagnosisTimeout)
	defer cancel()
	for _, look := range []struct {
		cluster string
		args    []string
	}{
		{"hub", []string{"get", "managedclusteraddons.addon.open-cluster-management.io", "-n", sandbox.Cluster, "-o",
			`jsonpath={range .items[*].status.conditions[*]}{.type}={.status} {.reason}: {.message}{"\n"}{end}`}},
		{"hub", []string{"get", "pods", "-n", "open-cluster-management"}},
		{"hub", []string{"logs", "-n", "open-cluster-management", "deploy/helloworld-controller", "--tail=15"}},
		{sandbox.Cluster, []string{"get", "pods,events", "-n", subject.Namespace}},
		{sandbox.Cluster, []string{"logs", "-n", subject.Namespace, "deploy/" + subject.Deployment, "--tail=25"}},
	} {
		m.say("%s: kubectl %s", look.cluster, look.args[0]+" "+look.args[1])
		// what cannot be shown is part of the answer: Run prints why
		_ = m.sandbox.Run(ctx, nil, append([]string{m.Kubectl, "--kubeconfig=" + m.sandbox.Kubeconfig(look.cluster)}, look.args...)...)
	}
}
