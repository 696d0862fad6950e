package plan

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/helloworld-addon/internal/testing/hubobjects"
	"open-cluster-management.io/helloworld-addon/manifests"
)

func TestDegraded(t *testing.T) {
	down := func() map[string]any {
		return hubobjects.With(hubobjects.With(hubobjects.RolledOut(), feedbackAvailableReplicas, nil), feedbackProgressMessage, "ReplicaSet is progressing.")
	}
	lost := func(addOn *addonv1beta1.ManagedClusterAddOn) {
		addOn.Status.Conditions = []metav1.Condition{{Type: "Available", Status: metav1.ConditionUnknown, Reason: "ManagedClusterLeaseUpdateStopped"}}
	}
	starts := func(addOn *addonv1beta1.ManagedClusterAddOn) {
		addOn.Status.Conditions = []metav1.Condition{{Type: "Available", Status: metav1.ConditionUnknown, Reason: leaseNotFound}}
	}
	lostHosted := func(addOn *addonv1beta1.ManagedClusterAddOn) {
		lost(addOn)
		addOn.Annotations = map[string]string{addonv1beta1.HostingClusterNameAnnotationKey: "cluster2"}
	}
	waited := func(addOn *addonv1beta1.ManagedClusterAddOn) {
		addOn.Status.Conditions = []metav1.Condition{{Type: ConditionConfigurationValid, Status: metav1.ConditionTrue, Reason: ReasonAsExpected}}
	}
	degradedBefore := func(addOn *addonv1beta1.ManagedClusterAddOn) {
		addOn.Status.Conditions = []metav1.Condition{{Type: "Degraded", Status: metav1.ConditionFalse, Reason: ReasonAgentAvailable}}
	}
	missing := func(work *workv1.ManifestWork) {
		work.Status.ResourceStatus.Manifests[1].Conditions = []metav1.Condition{{Type: workv1.ManifestAvailable, Status: metav1.ConditionFalse}}
	}
	tests := []struct {
		name     string
		addOn    func(*addonv1beta1.ManagedClusterAddOn)
		feedback map[string]any
		work     func(*workv1.ManifestWork)
		down     time.Duration
		want     string
		message  string
		after    time.Duration
	}{
		{name: "available", feedback: hubobjects.RolledOut(),
			want: "False/AgentAvailable", message: "Deployment default/helloworld-agent for cluster cluster1 is available"},
		{name: "the work agent of a new agent has time to report", down: 10 * time.Second, after: 20 * time.Second},
		{name: "its cluster waited for OCM's rollout, so that the configuration was reported before", addOn: waited, down: 10 * time.Second, after: 20 * time.Second},
		{name: "its ManifestWork was created again", addOn: degradedBefore, down: 10 * time.Second, want: "Unknown/NotReported"},
		{name: "the work agent has not reported: the cluster may not be accepted", down: 30 * time.Second,
			want: "Unknown/NotReported", message: "kubectl get managedcluster cluster1"},
		{name: "its pod cannot be created", feedback: hubobjects.With(down(), feedbackFailureMessage, "no PriorityClass with name x was found"),
			want: "True/AgentNotCreated", message: "cannot create its pod: no PriorityClass with name x was found"},
		{name: "a second pod cannot be created, the first one runs", feedback: hubobjects.With(hubobjects.RolledOut(), feedbackFailureMessage, "quota"),
			want: "False/AgentAvailable"},
		{name: "it starts", feedback: down(), down: 10 * time.Second, after: 20 * time.Second},
		{name: "it does not come up", feedback: down(), down: 30 * time.Second, want: "True/AgentNotAvailable",
			message: "has no available pod (ReplicaSet is progressing.): look at it there: kubectl describe deploy,rs,pod -n default"},
		{name: "it was rolled out before: the message about that is none of the cause", down: 30 * time.Second, want: "True/AgentNotAvailable",
			feedback: hubobjects.With(down(), feedbackProgressReason, "NewReplicaSetAvailable"), message: "has no available pod: look at it there"},
		{name: "the work agent may put its Deployment back", feedback: hubobjects.RolledOut(), work: missing, down: 10 * time.Second, after: 20 * time.Second},
		{name: "its Deployment is gone: the values of before stay in the status", feedback: hubobjects.RolledOut(), work: missing, down: 30 * time.Second,
			want: "True/AgentNotAvailable", message: "does not exist"},
		{name: "the cluster is lost: what it reported last is not known to be true", addOn: lost, feedback: hubobjects.RolledOut(), want: "Unknown/NotReported"},
		{name: "the agent has no lease yet", addOn: starts, feedback: hubobjects.RolledOut(), want: "False/AgentAvailable"},
		{name: "the managed cluster is lost, the agent runs on another one", addOn: lostHosted, feedback: hubobjects.RolledOut(), want: "False/AgentAvailable"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			addOn, work := hubobjects.DesiringAddOn(""), hubobjects.AgentWork("", test.feedback)
			if test.addOn != nil {
				test.addOn(addOn)
			}
			if test.work != nil {
				test.work(work)
			}
			state := StateOf([]*workv1.ManifestWork{work})
			after := Conditions(addOn, Inspection{}, state, true, test.down)
			var got, message string
			if c := meta.FindStatusCondition(addOn.Status.Conditions, "Degraded"); c != nil {
				got, message = string(c.Status)+"/"+c.Reason, c.Message
			}
			if got != test.want || after != test.after || !strings.Contains(message, test.message) {
				t.Errorf("got %s, again after %s, want %s, %s; message: %s", got, after, test.want, test.after, message)
			}
			before := addOn.DeepCopy()
			Conditions(addOn, Inspection{}, state, true, test.down+time.Second)
			if diff := cmp.Diff(before, addOn); diff != "" && test.after == 0 {
				t.Errorf("a second look changes it:\n%s", diff)
			}
		})
	}
}

func TestConfigurationValid(t *testing.T) {
	tests := []struct {
		name       string
		inspection Inspection
		want       string
	}{
		{"no config", Inspection{}, ""},
		{"a config", Inspection{Configured: true}, "True/AsExpected: the AddOnDeploymentConfig is used"},
		{"with a misspelt variable", Inspection{Configured: true, Ignored: []string{"customized variable LogVerbositty"}},
			"True/PartlyIgnored: ignored, because this add-on does not use it: customized variable LogVerbositty"},
		{"OCM's rollout has not reached the cluster", Inspection{Configured: true, Pending: "not yet"}, "Unknown/Pending: not yet"},
		{"refused", Inspection{Configured: true, Ignored: []string{"x"}, Refused: errors.New("would\nmove")}, "False/Refused: would move"},
		{"refused without a config: by an annotation", Inspection{Refused: errors.New("set it back")}, "False/Refused: set it back"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			addOn := hubobjects.DesiringAddOn("")
			meta.SetStatusCondition(&addOn.Status.Conditions, metav1.Condition{Type: ConditionConfigurationValid, Status: "True", Reason: "Before"})
			Conditions(addOn, test.inspection, State{}, false, 0)
			got := ""
			if c := meta.FindStatusCondition(addOn.Status.Conditions, ConditionConfigurationValid); c != nil {
				got = string(c.Status) + "/" + c.Reason + ": " + c.Message
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestFirstConditions: on every cluster on which the add-on is enabled, the first Degraded
// and ConfigurationValid are one write.
func TestFirstConditions(t *testing.T) {
	down := hubobjects.With(hubobjects.RolledOut(), feedbackAvailableReplicas, nil)
	tests := []struct {
		name       string
		feedback   map[string]any
		inspection Inspection
		down       time.Duration
		want       []string
	}{
		{name: "the agent is not reported yet"},
		{name: "its pod starts", feedback: down},
		{name: "it is available", feedback: hubobjects.RolledOut(), want: []string{"ConfigurationValid/AsExpected", "Degraded/AgentAvailable"}},
		{name: "its pod cannot be created", feedback: hubobjects.With(down, feedbackFailureMessage, "quota"),
			want: []string{"ConfigurationValid/AsExpected", "Degraded/AgentNotCreated"}},
		{name: "its pod does not start", feedback: down, down: StartGrace, want: []string{"ConfigurationValid/AsExpected", "Degraded/AgentNotAvailable"}},
		{name: "a refused configuration is what a user waits for", feedback: down, inspection: Inspection{Refused: errors.New("x")},
			want: []string{"ConfigurationValid/Refused"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			addOn := hubobjects.DesiringAddOn("")
			test.inspection.Configured = true
			Conditions(addOn, test.inspection, StateOf([]*workv1.ManifestWork{hubobjects.AgentWork("", test.feedback)}), true, test.down)
			var got []string
			for _, c := range addOn.Status.Conditions {
				got = append(got, c.Type+"/"+c.Reason)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestAgentSilent: the last report of a silent agent may be stale. The report of an
// agent that still reports stays.
func TestAgentSilent(t *testing.T) {
	condition := func(kind, status string, minute int) metav1.Condition {
		noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
		return metav1.Condition{Type: kind, Status: metav1.ConditionStatus(status), Reason: "R", Message: "m",
			LastTransitionTime: metav1.NewTime(noon.Add(time.Duration(minute) * time.Minute))}
	}
	synced := func(status string, minute int) metav1.Condition {
		return condition(manifests.ConditionConfigMapsSynced, status, minute)
	}
	available := func(status string, minute int) metav1.Condition { return condition("Available", status, minute) }
	tests := []struct {
		name       string
		conditions []metav1.Condition
		want       string
	}{
		{"the agent works", []metav1.Condition{synced("True", 0), available("True", 1)}, "True/R"},
		{"its lease is late", []metav1.Condition{synced("True", 0), available("False", 9)}, "Unknown/AgentSilent"},
		{"its cluster is lost", []metav1.Condition{synced("True", 0), available("Unknown", 9)}, "Unknown/AgentSilent"},
		{"it has said why it cannot work", []metav1.Condition{synced("False", 0), available("False", 9)}, "False/R"},
		{"it has reported since: only its lease cannot be renewed", []metav1.Condition{synced("True", 10), available("False", 9)}, "True/R"},
		{"it never reported", []metav1.Condition{available("False", 9)}, ""},
		{"OCM has not read its lease yet", []metav1.Condition{synced("True", 0)}, "True/R"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			addOn := hubobjects.DesiringAddOn("")
			addOn.Status.Conditions = test.conditions
			Conditions(addOn, Inspection{}, State{}, false, 0)
			got := ""
			if c := meta.FindStatusCondition(addOn.Status.Conditions, manifests.ConditionConfigMapsSynced); c != nil {
				got = string(c.Status) + "/" + c.Reason
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestNothingIsSaidOfAnAddOnThatGoes(t *testing.T) {
	addOn := hubobjects.DesiringAddOn("new")
	now := metav1.Now()
	addOn.DeletionTimestamp = &now
	Conditions(addOn, Inspection{Refused: errors.New("x")}, State{}, true, 0)
	if diff := cmp.Diff([]metav1.Condition(nil), addOn.Status.Conditions, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
