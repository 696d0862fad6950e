package diagnosis

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"open-cluster-management.io/helloworld-addon/pkg/kubectl/doctor/registration"
	"open-cluster-management.io/helloworld-addon/pkg/kubectl/shell"
)

// settles is how long something that was just created or changed may be incomplete.
const settles = time.Minute

// Suffixes of the Deployments of OCM's agents, behind the Klusterlet's name. Both agents are in one Deployment in the modes
// Singleton and SingletonHosted.
const (
	registrationAgent = "-registration-agent"
	workAgent         = "-work-agent"
	bothAgents        = "-agent"
)

// OCMAgents returns the names of the Deployments that OCM's agents of a Klusterlet may have.
func OCMAgents(klusterlet string) []string {
	return []string{klusterlet + registrationAgent, klusterlet + workAgent, klusterlet + bothAgents}
}

// rightCluster looks whether the kubeconfig of the managed cluster leads to this one: everything that is read
// there would be of another cluster.
func rightCluster(e *examination) {
	if e.Managed == nil || e.Managed.Registration == nil {
		return
	}
	r := e.Managed.Registration
	name := r.ClusterName
	if name == "" {
		name = string(r.Hub.Data["cluster-name"])
	}
	if name != "" && name != e.Cluster {
		e.add(WrongCluster, fmt.Sprintf("the kubeconfig of the managed cluster leads to the cluster that is %s on the hub, not to %s", name, e.Cluster),
			step("Name the managed cluster's kubeconfig or context, or in hosted mode those of its hosting cluster", e.askThere()))
		e.Managed = nil
	}
}

func (e *examination) askThere() string {
	return e.plugin("doctor", e.Cluster, "--managed-kubeconfig=FILE")
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
	for _, w := range e.Managed.OCM {
		if !strings.HasSuffix(w.Deployment.Name, workAgent) && w.Deployment.Status.AvailableReplicas == 0 {
			e.add(RegistrationAgentNotRunning, e.notRunning(w), e.ocmSteps(w)...)
		}
	}
	if e.Managed.Registration == nil || e.unread(Secrets, Klusterlet) {
		return
	}
	verdict := registration.Judge(*e.Managed.Registration)
	e.verdict = &verdict
	if e.hasLeft(verdict) {
		e.add(JoinedAnotherHub, fmt.Sprintf("the cluster may join several hubs, and OCM's registration agent has left this one and joined %q", e.Managed.OtherHub),
			step("If it belongs to this hub: repair what made the agent leave, which is the bootstrap kubeconfig of this hub or its hubAcceptsClient", ""),
			step("Then run this on the other hub: the agent comes back when the other hub no longer accepts the cluster",
				"kubectl patch managedcluster "+shell.Quote(e.Cluster)+` --type=merge -p '{"spec":{"hubAcceptsClient":false}}'`))
	}
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

// hasLeft reports whether the registration agent has joined another hub, and does not keep the cluster available on this one.
func (e *examination) hasLeft(verdict registration.Verdict) bool {
	return e.Managed.OtherHub != "" && verdict.Valid &&
		(e.ManagedCluster == nil || !isTrue(e.ManagedCluster, clusterv1.ManagedClusterConditionAvailable))
}

// verdictMessage returns what is wrong with the kubeconfigs of the registration agent, its situation, and what it does.
func verdictMessage(v registration.Verdict) string {
	var wrong []string
	for _, findings := range [][]registration.Finding{v.Failed, v.Overlooked, v.Bootstraps} {
		for _, f := range findings {
			wrong = append(wrong, fmt.Sprintf("%s (%s)", f, f.Condition))
		}
	}
	return fmt.Sprintf("%s. OCM's registration agent is in %s. %s", strings.Join(wrong, "; "), Situation(v.Situation), v.WillDo)
}

// Situation names a situation of OCM's registration agent (docs/situations.md) in a sentence.
func Situation(s registration.Situation) string {
	texts := map[registration.SituationName]string{
		registration.NoHubKubeconfig: "the bootstrap kubeconfig is valid, and there is no valid hub kubeconfig",
		registration.BothValid:       "both kubeconfigs are valid",
		registration.OnlyHubValid:    "the bootstrap kubeconfig is invalid, and the hub kubeconfig is valid",
		registration.NeitherValid:    "neither kubeconfig is valid",
	}
	if s.Name == registration.NotJudged {
		return "a situation that is not judged"
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
		e.add(NoManagedCluster, fmt.Sprintf("the hub has no ManagedCluster %s: its ManagedClusterAddOn is left over", e.Cluster), e.release())
	case c == nil:
		e.add(NoManagedCluster, fmt.Sprintf("the hub has no ManagedCluster %s", e.Cluster),
			step("Look at the names", e.hub("get", "managedclusters")),
			step("If it is a new cluster, join it, for example with clusteradm join", ""))
	case c.DeletionTimestamp != nil:
		e.add(ClusterDetaching, fmt.Sprintf("ManagedCluster %s is being deleted (finalizers: %s), and its add-ons with it", e.Cluster, strings.Join(c.Finalizers, ", ")), e.release())
	case !c.Spec.HubAcceptsClient:
		e.add(NotAccepted, fmt.Sprintf("the hub has not accepted the cluster: spec.hubAcceptsClient of ManagedCluster %s is false, so OCM's agents there have no rights on the hub", e.Cluster),
			step("Accept it", e.hub("patch", "managedcluster", e.Cluster, "--type=merge", "-p", `{"spec":{"hubAcceptsClient":true}}`)))
	}
}

func (e *examination) release() registration.Step {
	return step("If the cluster does not come back, release its add-on: its copies stay on it",
		e.hub("patch", "managedclusteraddon", "-n", e.Cluster, "helloworld", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`))
}

// joined looks at what OCM reports of the cluster.
func joined(e *examination) {
	c := e.ManagedCluster
	if c == nil || c.DeletionTimestamp != nil {
		return
	}
	joined := conditionOf(c.Status.Conditions, clusterv1.ManagedClusterConditionJoined)
	if joined.Status != metav1.ConditionTrue {
		e.add(NotJoined, "the cluster has not joined the hub: its registration agent has not connected with a certificate of its own. "+joined.Message, e.lookThere()...)
		return
	}
	if clock := conditionOf(c.Status.Conditions, clusterv1.ManagedClusterConditionClockSynced); clock.Status == metav1.ConditionFalse {
		e.add(ClockDiffers, "the clocks of the hub and of the cluster differ: "+clock.Message, step("Correct the clock that is wrong, on the nodes of the cluster or of the hub", ""))
	}
	if available := conditionOf(c.Status.Conditions, clusterv1.ManagedClusterConditionAvailable); available.Status != metav1.ConditionTrue {
		e.add(ClusterUnavailable, fmt.Sprintf("OCM lost the cluster %s ago (%s): its registration agent does not renew its lease on the hub. %s",
			e.ago(available.LastTransitionTime), available.Reason, available.Message), e.lookThere()...)
	}
}

// lookThere returns how to find the cause on a cluster that was not read.
func (e *examination) lookThere() []registration.Step {
	if e.Managed != nil {
		return nil
	}
	return []registration.Step{step("The cause is on the cluster, or on the way to it. Ask again with a kubeconfig of it", e.askThere())}
}

func (e *examination) ago(t metav1.Time) time.Duration {
	return max(e.Now.Sub(t.Time), 0).Round(time.Second)
}

func isTrue(c *clusterv1.ManagedCluster, condition string) bool {
	return conditionOf(c.Status.Conditions, condition).Status == metav1.ConditionTrue
}

func (e *examination) notRunning(w *Workload) string {
	d := w.Deployment
	why := "the cause is not known"
	switch failure := failureOf(w); {
	case isScaledDown(w):
		return fmt.Sprintf("the Deployment %s/%s of OCM's agent is scaled to 0", d.Namespace, d.Name)
	case failure != "":
		why = failure
	case !e.unread(KlusterletPods):
		why = worst(w, e.Now).message
	}
	return fmt.Sprintf("the Deployment %s/%s of OCM's agent has no ready pod: %s", d.Namespace, d.Name, why)
}

func isScaledDown(w *Workload) bool {
	return w.Deployment.Spec.Replicas != nil && *w.Deployment.Spec.Replicas == 0
}

func (e *examination) ocmSteps(w *Workload) []registration.Step {
	d := w.Deployment
	if isScaledDown(w) {
		return []registration.Step{step("Scale it up", e.there("scale", "deployment", "-n", d.Namespace, d.Name, "--replicas=1"))}
	}
	return []registration.Step{
		step("Look at its log", e.there("logs", "-n", d.Namespace, "deploy/"+d.Name)),
		step("Look at its pods and their events", e.there("describe", "pods", "-n", d.Namespace)),
	}
}

// ocm returns the namespace of OCM's agents, and the Deployment of the one with this suffix.
func (e *examination) ocm(suffix string) (namespace, deployment string) {
	namespace, klusterlet := registration.DefaultNamespace, registration.DefaultKlusterlet
	if e.Managed == nil || e.Managed.Registration == nil {
		return namespace, klusterlet + suffix
	}
	r := e.Managed.Registration
	if r.Namespace != "" {
		namespace = r.Namespace
	}
	if r.Klusterlet != "" {
		klusterlet = r.Klusterlet
	}
	if r.Singleton() {
		suffix = bothAgents
	}
	return namespace, klusterlet + suffix
}

// ocmLog returns the step to look at the log of an agent of OCM.
func (e *examination) ocmLog(text, suffix string) registration.Step {
	namespace, deployment := e.ocm(suffix)
	return step(text, e.there("logs", "-n", namespace, "deploy/"+deployment))
}
