package diagnosis

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"open-cluster-management.io/helloworld-addon/pkg/kubectl/doctor/registration"
)

const (
	// settles is how long something that was just created may be incomplete.
	settles = time.Minute
	// defaultNamespace is OCM's default install namespace of add-ons.
	defaultNamespace = "open-cluster-management-agent-addon"
	// registrationAgent and workAgent name the Deployments of OCM's agents behind the Klusterlet's name, and
	// combinedAgent the one that has both, in the modes Singleton and SingletonHosted.
	registrationAgent, workAgent, combinedAgent = "-registration-agent", "-work-agent", "-agent"
)

// rightCluster looks whether the kubeconfig of the managed cluster leads to this one: everything that is read
// there would be of another cluster.
func rightCluster(e *examination) {
	if e.Managed == nil || e.Managed.Registration == nil {
		return
	}
	r := e.Managed.Registration
	name := r.ClusterName
	if stored := string(r.Hub.Data["cluster-name"]); name == "" {
		name = stored
	}
	if name != "" && name != e.Cluster {
		e.add(WrongCluster, fmt.Sprintf("the kubeconfig of the managed cluster leads to the cluster that is %s on the hub, not to %s", name, e.Cluster),
			step("Name the managed cluster's kubeconfig or context", fmt.Sprintf("kubectl helloworld doctor %s --managed-kubeconfig=FILE", e.Cluster)))
		// What was read there is not this cluster's.
		e.Managed = nil
	}
}

// actionReasons are what OCM's registration agent does where a person has to do something.
var actionReasons = map[registration.Action]Reason{
	registration.Exits: RegistrationExits, registration.PodWaits: RegistrationPodWaits, registration.Stuck: RegistrationStuck,
	registration.Waits: RegistrationWaits, registration.Retries: RegistrationRetries, registration.Moves: RegistrationMoves,
	registration.Joins: RegistrationJoins,
}

// registered judges OCM's registration agent.
func registered(e *examination) {
	if e.Managed == nil {
		return
	}
	for name, w := range e.Managed.OCM {
		if isNamed(name, registrationAgent) && w.Deployment.Status.AvailableReplicas == 0 {
			e.add(RegistrationAgentNotRunning, notRunning(name, w), e.ocmSteps(w, name)...)
		}
	}
	if e.Managed.Registration == nil || e.unread(Secrets) {
		return
	}
	verdict := registration.Judge(*e.Managed.Registration)
	e.verdict = &verdict
	reason, wrong := actionReasons[verdict.Action]
	// A cluster that joins in this moment needs nobody.
	if verdict.Action == registration.Joins && (e.ManagedCluster == nil || isTrue(e.ManagedCluster, clusterv1.ManagedClusterConditionAvailable)) {
		wrong = false
	}
	switch {
	case wrong:
		e.add(reason, verdictMessage(verdict), verdict.Do...)
	case len(verdict.Bootstraps) > 0:
		e.add(BootstrapInvalid, verdictMessage(verdict), verdict.Do...)
	}
}

// verdictMessage returns the situation of the registration agent, what is wrong, and what it does about that.
func verdictMessage(v registration.Verdict) string {
	message := "OCM's registration agent is in " + Situation(v.Situation)
	for _, findings := range [][]registration.Finding{v.Failed, v.Overlooked, v.Bootstraps} {
		for _, f := range findings {
			message += fmt.Sprintf("; %s: %s", f.Condition, f)
		}
	}
	return message + ". " + v.WillDo
}

// Situation names a situation of OCM's registration agent (docs/situations.md) in a sentence.
func Situation(s registration.Situation) string {
	if s.Name == registration.NotJudged {
		return "a situation that is not judged"
	}
	texts := map[registration.SituationName]string{
		registration.NoHubKubeconfig: "the bootstrap kubeconfig is valid, and there is no valid hub kubeconfig",
		registration.BothValid:       "both kubeconfigs are valid",
		registration.OnlyHubValid:    "the bootstrap kubeconfig is invalid, and the hub kubeconfig is valid",
		registration.NeitherValid:    "neither kubeconfig is valid",
	}
	text := fmt.Sprintf("situation %d (%s)", s.Number, texts[s.Name])
	if s.Detached {
		text += ", in Detached mode"
	}
	if s.SeveralHubs {
		text += ", with several hubs"
	}
	return text
}

// accepted looks at the ManagedCluster.
func accepted(e *examination) {
	if e.unread(ManagedClusters) {
		return
	}
	c := e.ManagedCluster
	switch {
	case c == nil && e.AddOn != nil:
		e.add(NoManagedCluster, fmt.Sprintf("the hub has no ManagedCluster %s: its ManagedClusterAddOn is left over", e.Cluster),
			step("If the cluster does not come back, release its add-on: its copies stay on it", e.release()))
	case c == nil:
		e.add(NoManagedCluster, fmt.Sprintf("the hub has no ManagedCluster %s", e.Cluster),
			step("Look at the names", e.Kubectl+" get managedclusters"),
			step("If it is a new cluster, join it, for example with clusteradm join", ""))
	case c.DeletionTimestamp != nil:
		e.add(ClusterDetaching, fmt.Sprintf("ManagedCluster %s is being deleted (finalizers %v), and its add-ons with it", e.Cluster, c.Finalizers),
			step("If the cluster is lost, release its add-on: its copies stay on it", e.release()))
	case !c.Spec.HubAcceptsClient:
		e.add(NotAccepted, fmt.Sprintf("the hub has not accepted the cluster: spec.hubAcceptsClient of ManagedCluster %s is false, so OCM's agents there have no rights on the hub", e.Cluster),
			step("Accept it", fmt.Sprintf(`%s patch managedcluster %s --type=merge -p '{"spec":{"hubAcceptsClient":true}}'`, e.Kubectl, e.Cluster)))
	}
}

func (e *examination) release() string {
	return fmt.Sprintf(`%s patch managedclusteraddon -n %s helloworld --type=merge -p '{"metadata":{"finalizers":null}}'`, e.Kubectl, e.Cluster)
}

// joined looks at what OCM reports of the cluster.
func joined(e *examination) {
	c := e.ManagedCluster
	if c == nil || c.DeletionTimestamp != nil {
		return
	}
	joined := conditionOf(c.Status.Conditions, clusterv1.ManagedClusterConditionJoined)
	if joined.Status != metav1.ConditionTrue {
		e.add(NotJoined, fmt.Sprintf("the cluster has not joined the hub: its registration agent has not connected with a certificate of its own. %s", joined.Message),
			e.lookThere()...)
		return
	}
	if clock := conditionOf(c.Status.Conditions, clusterv1.ManagedClusterConditionClockSynced); clock.Status == metav1.ConditionFalse {
		e.add(ClockDiffers, "the clocks of the hub and of the cluster differ: "+clock.Message, step("Correct the clock that is wrong, on the nodes of the cluster or of the hub", ""))
	}
	available := conditionOf(c.Status.Conditions, clusterv1.ManagedClusterConditionAvailable)
	if available.Status != metav1.ConditionTrue {
		e.add(ClusterUnavailable, fmt.Sprintf("OCM has lost the cluster %s ago (%s): its registration agent does not renew its lease on the hub. %s",
			e.ago(available.LastTransitionTime), available.Reason, available.Message), e.lookThere()...)
	}
}

// lookThere returns how to find the cause on a cluster that was not read.
func (e *examination) lookThere() []registration.Step {
	if e.Managed != nil {
		return nil
	}
	return []registration.Step{step("The cause is on the cluster, or on the way to it. With a kubeconfig of it, ask again",
		fmt.Sprintf("kubectl helloworld doctor %s --managed-kubeconfig=FILE", e.Cluster))}
}

func (e *examination) ago(t metav1.Time) time.Duration {
	return max(e.Now.Sub(t.Time), 0).Round(time.Second)
}

func isTrue(c *clusterv1.ManagedCluster, condition string) bool {
	return conditionOf(c.Status.Conditions, condition).Status == metav1.ConditionTrue
}

// isNamed reports whether a Deployment of OCM is this agent, or the one that has both agents.
func isNamed(name, suffix string) bool {
	return strings.HasSuffix(name, suffix) || strings.HasSuffix(name, combinedAgent) && !strings.HasSuffix(name, registrationAgent) && !strings.HasSuffix(name, workAgent)
}

func notRunning(name string, w *Workload) string {
	d := w.Deployment
	switch t := worst(w); {
	case d.Spec.Replicas != nil && *d.Spec.Replicas == 0:
		return fmt.Sprintf("OCM's agent %s/%s is scaled to 0", d.Namespace, name)
	case failureOf(w) != "":
		return fmt.Sprintf("OCM's agent %s/%s has no pod: %s", d.Namespace, name, failureOf(w))
	default:
		return fmt.Sprintf("OCM's agent %s/%s has no ready pod: %s", d.Namespace, name, t.message)
	}
}

func (e *examination) ocmSteps(w *Workload, name string) []registration.Step {
	d := w.Deployment
	if d.Spec.Replicas != nil && *d.Spec.Replicas == 0 {
		return []registration.Step{step("Scale it up", fmt.Sprintf("%s scale deployment -n %s %s --replicas=1", e.Managed.Kubectl, d.Namespace, name))}
	}
	return []registration.Step{
		step("Look at its log", fmt.Sprintf("%s logs -n %s deploy/%s", e.Managed.Kubectl, d.Namespace, name)),
		step("Look at its pods and their events", fmt.Sprintf("%s describe pods -n %s", e.Managed.Kubectl, d.Namespace)),
	}
}
