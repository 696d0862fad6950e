package registration

import (
	"fmt"

	"open-cluster-management.io/helloworld-addon/pkg/kubectl/shell"
)

// steps returns what a person has to do.
func (j *judge) steps(v Verdict, c course) []Step {
	steps := j.hubSteps(c)
	for _, b := range j.bootstraps {
		if b.flaw != nil {
			steps = append(steps, j.bootstrapSteps(b, c)...)
		}
	}
	if c.action == Moves {
		steps = append(steps, j.accept(fmt.Sprintf("To bring the cluster back to its first hub afterwards, refuse it on the hub of %s", v.Chosen), false))
	}
	return steps
}

// hubSteps returns what to do about the hub kubeconfig.
func (j *judge) hubSteps(c course) []Step {
	if c.action == Waits {
		return []Step{j.discard("The agent then joins anew, without a restart")}
	}
	if c.cause == nil {
		return nil
	}
	switch c.cause.Condition {
	case NameInvalid:
		if j.ClusterName != "" {
			return []Step{{Text: "Give the Klusterlet a clusterName that is a name of a namespace", Command: j.Kubectl + " edit klusterlet " + shell.Quote(j.Klusterlet)}}
		}
		return []Step{j.discard("The agent then makes a name"), j.restart()}
	case CertificateTooEarly:
		return []Step{{Text: "Compare the clocks of the hub's nodes and of the agent's node, and correct the one that is wrong"}}
	case ClientInvalid:
		return append(j.embed(), j.discard("The agent then joins anew in a new pod"), j.restart())
	case KubeconfigInvalid, CertificateInvalid, LoginMissing, KeyMismatch:
		return []Step{j.discard("The agent then joins anew in a new pod; the files stay in the present one"), j.restart()}
	default:
		return nil
	}
}

// embed returns the step for a CA bundle in a file: the agent copies the file's name into
// the hub kubeconfig, and not the file into its Secret.
func (j *judge) embed() []Step {
	if j.hub.cluster.CertificateAuthority == "" {
		return nil
	}
	var steps []Step
	for _, b := range j.bootstraps {
		if b.config != nil && b.config.cluster.CertificateAuthority != "" {
			steps = append(steps, j.write(b.Name, "Write a bootstrap kubeconfig with certificate-authority-data instead of certificate-authority into"))
		}
	}
	return steps
}

// bootstrapSteps returns what to do about a bootstrap kubeconfig.
func (j *judge) bootstrapSteps(b bootstrap, c course) []Step {
	if b.has(BootstrapNotAccepted) {
		return []Step{j.accept("If the cluster is to join the hub of "+b.Name+", accept it there", true)}
	}
	steps := []Step{j.write(b.Name, "Write a valid bootstrap kubeconfig into")}
	// OCM watches this one Secret only.
	if waits := c.action == PodWaits || c.action == Exits; b.Name != BootstrapSecret && !waits {
		steps = append(steps, j.restart())
	}
	return steps
}

func (j *judge) write(secret, text string) Step {
	return Step{
		Text: fmt.Sprintf("%s the Secret %s on %s", text, secret, j.where()),
		Command: fmt.Sprintf("%s create secret generic %s --from-file=kubeconfig=FILE --dry-run=client -o yaml | %s apply -f -",
			j.Kubectl, shell.Quote(secret, "-n", j.Namespace), j.Kubectl),
	}
}

func (j *judge) discard(then string) Step {
	return Step{
		Text:    fmt.Sprintf("Delete the Secret %s on %s. %s", j.Hub.Name, j.where(), then),
		Command: j.Kubectl + " delete secret -n " + shell.Quote(j.Namespace, j.Hub.Name),
	}
}

func (j *judge) restart() Step {
	deployment := j.Klusterlet + "-registration-agent"
	if j.Singleton() {
		deployment = j.Klusterlet + "-agent"
	}
	return Step{
		Text:    "Restart the agent in a new pod",
		Command: j.Kubectl + " rollout restart deployment -n " + shell.Quote(j.Namespace, deployment),
	}
}

func (j *judge) accept(text string, accepted bool) Step {
	return Step{Text: text, Command: fmt.Sprintf(`%s patch managedcluster %s --type=merge -p '{"spec":{"hubAcceptsClient":%t}}'`,
		j.KubectlHub, shell.Quote(j.names.cluster.value), accepted)}
}

// where names the cluster that has the Secrets.
func (j *judge) where() string {
	if j.detached() {
		return "the hosting cluster"
	}
	return "the managed cluster"
}

// notJudged is the verdict for a driver whose rules this package does not have.
func (f Facts) notJudged() Verdict {
	return Verdict{
		Situation: Situation{Name: NotJudged, Detached: f.detached(), SeveralHubs: f.SeveralHubs},
		WillDo:    fmt.Sprintf("The credentials of the registration driver %q are not judged.", f.Driver),
		Page:      pageKubeconfigs,
	}
}
