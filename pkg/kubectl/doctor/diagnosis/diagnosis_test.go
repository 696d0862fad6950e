package diagnosis

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/agent/hubclient/credentials"
	"open-cluster-management.io/helloworld-addon/pkg/agent/report/condition"
	"open-cluster-management.io/helloworld-addon/pkg/kubectl/doctor/registration"
)

func TestWell(t *testing.T) {
	for name, change := range map[string]func(w *world){
		"with the managed cluster": func(*world) {},
		"of the hub alone":         func(w *world) { w.hubOnly() },
		"nothing could be read, so nothing is known to be missing": func(w *world) {
			*w = world{Facts{Now: now, Cluster: "cluster1"}}
			for _, r := range []Resource{AddOnDefinition, Controller, HubRole, ManagedClusters, AddOns, Configs, Works, Requests, Bindings, Mirrors} {
				w.NotRead = append(w.NotRead, NotRead{Resource: r})
			}
		},
	} {
		w := newWorld(t)
		change(w)
		if d := Examine(w.Facts); !d.Well {
			t.Errorf("%s: %v", name, reasonsOf(d.Findings))
		}
	}
}

// TestAdvice: the add-on works, and there is something to look at.
func TestAdvice(t *testing.T) {
	w := newWorld(t)
	w.Managed.Registration.Bootstraps[0].Rejected = "401 Unauthorized"
	if d := Examine(w.Facts); !d.Well || reasonsOf(d.Findings) != "BootstrapInvalid" || d.Registration.Situation.Number != 3 {
		t.Errorf("got %+v", d)
	}
}

// reasonsOf returns the causes, each with its consequences in parentheses.
func reasonsOf(findings []Finding) string {
	var all []string
	for _, f := range findings {
		text := string(f.Reason)
		if len(f.Consequences) > 0 {
			text += "(" + reasonsOf(f.Consequences) + ")"
		}
		all = append(all, text)
	}
	return strings.Join(all, " ")
}

type examined struct {
	name, reason string
	change       func(w *world)
	// want are the causes with their consequences, and message is a part of the first cause's message and of the commands.
	want, message string
}

func TestExamine(t *testing.T) {
	for _, c := range slices.Concat(hubCases, clusterCases, enabledCases, shippedCases, credentialCases, agentCases, copyCases) {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			c.change(w)
			d := Examine(w.Facts)
			if diff := cmp.Diff(c.want, reasonsOf(d.Findings)); diff != "" {
				t.Errorf("%s (-want +got):\n%s\n%+v", c.reason, diff, d.Findings)
			}
			if len(d.Findings) == 0 {
				return
			}
			text := d.Findings[0].Message
			for _, s := range d.Findings[0].Do {
				text += "\n" + s.Text + "\n" + s.Command
			}
			if !strings.Contains(text, c.message) {
				t.Errorf("no %q in:\n%s", c.message, text)
			}
		})
	}
}

// TestEveryReason: each reason is the answer of some case, so that a rule which is taken out is missed.
func TestEveryReason(t *testing.T) {
	var seen []string
	for _, c := range slices.Concat(hubCases, clusterCases, enabledCases, shippedCases, credentialCases, agentCases, copyCases) {
		seen = append(seen, strings.FieldsFunc(c.want, func(r rune) bool { return strings.ContainsRune(" ()", r) })...)
	}
	for _, k := range kinds {
		if !slices.Contains(seen, string(k.reason)) && !slices.Contains(credentialReasons, credentials.Reason(k.reason)) {
			t.Errorf("no case has the reason %s", k.reason)
		}
	}
}

var hubCases = []examined{
	{"not installed", "nobody ships agents", func(w *world) { w.Hub.Installed, w.Hub.Controller, w.Hub.HasRole = false, nil, false },
		"NotInstalled(ControllerMissing)", "in the way that your hub uses"},
	{"CRDs missing", "the controller ends without them", func(w *world) {
		w.Hub.MirrorsServed, w.Mirror = false, nil
		w.Hub.Controller.crashed("the add-on's CRDs are missing")
	}, "CRDsMissing(ControllerNotRunning)", "upgrade the chart"},
	{"controller scaled down", "", func(w *world) {
		w.Hub.Controller.Deployment.Spec.Replicas = ptr.To(int32(0))
		w.Hub.Controller.unready()
	},
		"ControllerNotRunning", "scale deployment -n open-cluster-management helloworld-controller --replicas=2"},
	{"controller without pods", "a quota", func(w *world) { w.Hub.Controller.refused("exceeded quota") }, "ControllerNotRunning", "exceeded quota"},
	{"controller just started", "a state that passes", func(w *world) { w.Hub.Controller.unready().CreationTimestamp = before(time.Second) }, "", ""},
	{"controller's image", "", func(w *world) { w.Hub.Controller.waiting("ImagePullBackOff", "not found") }, "ControllerNotRunning", "example.com/image"},
	{"controller's rights", "someone changed its ClusterRole", func(w *world) { w.Hub.ControllerDenied = []string{"create manifestworks"} }, "ControllerForbidden", "may not create manifestworks"},
	{"controller does not lead", "ready and idle", func(w *world) { w.Hub.Lease.Spec.RenewTime.Time = now.Add(-time.Hour) }, "ControllerNotLeading", "was renewed 1h0m0s ago"},
	{"controller down, new cluster", "what it does not do is a consequence", func(w *world) {
		w.hubOnly()
		w.Hub.Controller.crashed("panic")
		w.Works, w.Binding, w.Mirror, w.Requests = nil, nil, nil, []*certificatesv1.CertificateSigningRequest{request(time.Hour)}
		w.unset("Available")
		w.unset("ConfigMapsSynced")
		w.unset("ClusterCertificateRotated")
	}, "ControllerNotRunning(WorkMissing BindingMissing RequestPending)", "panic"},
	{"agents' role", "no agent may read", func(w *world) { w.Hub.HasRole = false }, "HubRoleMissing", "may read its namespace"},
}

var clusterCases = []examined{
	{"no cluster", "", func(w *world) { w.hubOnly(); w.ManagedCluster, w.AddOn = nil, nil }, "NoManagedCluster", "get managedclusters"},
	{"left over", "its cluster is gone", func(w *world) { w.hubOnly(); w.ManagedCluster = nil }, "NoManagedCluster", `{"metadata":{"finalizers":null}}`},
	{"detaching", "", func(w *world) { w.hubOnly(); w.ManagedCluster.DeletionTimestamp = ptr.To(before(time.Hour)) }, "ClusterDetaching", "being deleted"},
	{"not accepted", "OCM takes its agents' rights", func(w *world) {
		w.hubOnly()
		w.ManagedCluster.Spec.HubAcceptsClient = false
		w.ManagedCluster.Status.Conditions[1].Status = metav1.ConditionUnknown
		w.set("ConfigMapsSynced", metav1.ConditionUnknown, "AgentSilent", "")
	}, "NotAccepted(ClusterUnavailable AgentSilent)", `{"spec":{"hubAcceptsClient":true}}`},
	{"lost", "", func(w *world) { w.hubOnly(); w.ManagedCluster.Status.Conditions[1].Status = metav1.ConditionUnknown }, "ClusterUnavailable", "--managed-kubeconfig=FILE"},
	{"not joined", "", func(w *world) { w.hubOnly(); w.ManagedCluster.Status.Conditions = nil }, "NotJoined", "has not joined"},
	{"clock", "OCM measures it", func(w *world) {
		w.ManagedCluster.Status.Conditions = append(w.ManagedCluster.Status.Conditions, is(clusterv1.ManagedClusterConditionClockSynced, metav1.ConditionFalse, "", "5m off"))
	}, "ClockDiffers", "5m off"},
	{"another cluster's kubeconfig", "what is there is not this one's", func(w *world) { w.Managed.Registration.ClusterName = "cluster9"; w.Managed.Agent = nil },
		"WrongCluster", "cluster9 on the hub"},
	{"registration agent does not run", "", func(w *world) {
		w.Managed.OCM[0].crashed("bang")
		w.ManagedCluster.Status.Conditions[1].Status = metav1.ConditionUnknown
	}, "RegistrationAgentNotRunning(ClusterUnavailable)", "bang"},
	{"registration agent scaled down", "", func(w *world) {
		w.Managed.OCM[0].unready()
		w.Managed.OCM[0].Deployment.Spec.Replicas = ptr.To(int32(0))
	}, "RegistrationAgentNotRunning", "--replicas=1"},
	{"bootstrap kubeconfig does not parse", "it exits", func(w *world) {
		w.Managed.Registration.Bootstraps[0].Data = map[string][]byte{"kubeconfig": []byte("{")}
	},
		"RegistrationExits", "(BootstrapInvalid)"},
	{"bootstrap kubeconfig missing", "a new pod waits", func(w *world) { w.Managed.Registration.Bootstraps[0].Exists = false }, "RegistrationPodWaits", "BootstrapMissing"},
	{"hub rejects the bootstrap kubeconfig", "the hub kubeconfig is valid: nothing depends on it", func(w *world) {
		w.Managed.Registration.Bootstraps[0].Rejected = "401 Unauthorized"
		w.Managed.Agent.crashed("bang")
	}, "BootstrapInvalid AgentCrashes", "situation 3"},
	{"joined another hub", "this one has lost it", func(w *world) {
		w.Managed.OtherHub = "https://hub2"
		w.ManagedCluster.Status.Conditions[1].Status = metav1.ConditionUnknown
	}, "JoinedAnotherHub(ClusterUnavailable)", "https://hub2"},
	{"another address of a hub that has the cluster", "a proxy, for example", func(w *world) { w.Managed.OtherHub = "https://hub2"; w.Managed.Agent.crashed("bang") }, "AgentCrashes", "bang"},
	{"neither is valid", "", func(w *world) {
		w.Managed.Registration.Bootstraps[0].Rejected, w.Managed.Registration.Hub = "401 Unauthorized", registration.Secret{}
	}, "RegistrationRetries", "situation 4"},
	{"no hub kubeconfig", "it joins", func(w *world) {
		w.Managed.Registration.Hub = registration.Secret{}
		w.ManagedCluster.Status.Conditions[1].Status = metav1.ConditionUnknown
	}, "RegistrationJoins(ClusterUnavailable)", "situation 1"},
	{"key of another certificate", "OCM overlooks it", func(w *world) { w.Managed.Registration.Hub.Data["tls.key"] = w.Managed.Secret.Data["tls.key"] }, "RegistrationStuck", "KeyMismatch"},
	{"no key", "OCM waits without an error", func(w *world) { delete(w.Managed.Registration.Hub.Data, "tls.key") }, "RegistrationWaits", "KeyMissing"},
	{"several hubs, the own one's kubeconfig is rejected", "it moves", func(w *world) {
		r := w.Managed.Registration
		second := r.Bootstraps[0]
		second.Secret = registration.Secret{Name: "second", Exists: true, Data: map[string][]byte{
			"kubeconfig": []byte(strings.ReplaceAll(string(second.Data["kubeconfig"]), "hub.example.com", "hub2.example.com")),
			"tls.crt":    second.Data["tls.crt"], "tls.key": second.Data["tls.key"]}}
		r.SeveralHubs, r.Bootstraps[0].Rejected = true, "401"
		r.Bootstraps = append(r.Bootstraps, second)
	}, "RegistrationMoves", "hub2.example.com"},
}

var enabledCases = []examined{
	{"not enabled", "", func(w *world) {
		w.AddOn, w.Works, w.Binding, w.Mirror = nil, nil, nil, nil
		w.Managed.Secret = nil
	}, "NotEnabled", "namespace: cluster1"},
	{"a Secret that an uninstall left", "the registration agent was restarted meanwhile", func(w *world) { w.uninstalled() }, "NotEnabled SecretLeft", "namespace: cluster1"},
	{"a Secret that an agent uses", "the add-on may be enabled on another hub", func(w *world) {
		w.uninstalled()
		w.Managed.Agent = running("default", manifests.AgentDeployment)
	}, "NotEnabled", ""},
	{"a Secret that an agent may use", "the Deployment could not be read", func(w *world) {
		w.uninstalled()
		w.NotRead = []NotRead{{Resource: AgentDeployment}}
	}, "NotEnabled", ""},
	{"a Secret for another hub, or for one that is not known", "its agent may be about to come", func(w *world) {
		w.uninstalled()
		w.Managed.SecretOfHub = false
	}, "NotEnabled", ""},
	{"a Secret of a cluster that has joined another hub", "the hubs may have one address for the cluster", func(w *world) {
		w.uninstalled()
		w.Managed.OtherHub = "https://hub2"
	}, "NotEnabled", ""},
	{"a Secret of an add-on that may not be read", "", func(w *world) { w.AddOn, w.NotRead = nil, []NotRead{{Resource: AddOns}} }, "", ""},
	{"not selected", "a Placement enables it", func(w *world) {
		w.AddOn, w.Works, w.Binding, w.Mirror, w.Hub.Placements = nil, nil, nil, nil, []string{"default/all"}
		w.Managed.Secret = nil
	}, "NotEnabled", "describe placement -n default all"},
	{"hosting cluster missing", "", func(w *world) {
		w.hubOnly()
		w.AddOn.Annotations[addonv1beta1.HostingClusterNameAnnotationKey] = "host"
	}, "HostingClusterMissing(WorkMissing)", "host"},
	{"hosting cluster lost", "", func(w *world) {
		w.hubOnly()
		w.AddOn.Annotations[addonv1beta1.HostingClusterNameAnnotationKey] = "host"
		w.Hosting = joinedCluster("host")
		w.Hosting.Status.Conditions[1].Status = metav1.ConditionUnknown
	}, "HostingClusterUnavailable(WorkMissing)", "doctor host"},
	{"configuration refused", "", func(w *world) {
		w.set("ConfigurationValid", metav1.ConditionFalse, "Refused", "spec.agentInstallNamespace: no")
	}, "ConfigurationRefused", "spec.agentInstallNamespace"},
	{"configuration missing", "", func(w *world) {
		w.AddOn.Status.ConfigReferences = []addonv1beta1.ConfigReference{{ConfigGroupResource: addonv1beta1.ConfigGroupResource{Resource: "addondeploymentconfigs"},
			DesiredConfig: &addonv1beta1.ConfigSpecHash{ConfigReferent: addonv1beta1.ConfigReferent{Namespace: "a", Name: "b"}}}}
	}, "ConfigMissing", "a/b"},
	{"configuration pending", "the rollout has not come", func(w *world) { w.set("ConfigurationValid", metav1.ConditionUnknown, "Pending", "later") }, "ConfigurationPending", "later"},
	{"configuration partly ignored", "", func(w *world) { w.set("ConfigurationValid", metav1.ConditionTrue, "PartlyIgnored", "Colour") }, "ConfigurationIgnored", "Colour"},
	{"registration refused", "", func(w *world) { w.set("RegistrationApplied", metav1.ConditionFalse, "", "namespace is taken") }, "RegistrationRefused", "namespace is taken"},
	{"not configured", "OCM's add-on manager", func(w *world) {
		w.hubOnly()
		w.unset("Configured")
		w.unset("Available")
		w.Works, w.Binding = nil, nil
	}, "NotConfigured", "cluster-manager-addon-manager-controller"},
}

var shippedCases = []examined{
	{"no ManifestWork", "", func(w *world) { w.hubOnly(); w.Works = nil }, "WorkMissing", "in the namespace cluster1"},
	{"work agent does not run", "", func(w *world) {
		w.Managed.OCM[1].crashed("bang")
		w.Works[0].Status = workv1.ManifestWorkStatus{}
	}, "WorkAgentNotRunning(WorkNotReported)", "bang"},
	{"not looked at", "", func(w *world) { w.hubOnly(); w.Works[0].Status = workv1.ManifestWorkStatus{} }, "WorkNotReported", "no status"},
	{"an older generation", "", func(w *world) { w.Works[0].Generation = 2 }, "WorkNotReported", "generation 2, applied 1"},
	{"refused by the cluster", "", func(w *world) {
		w.refuses("addon-helloworld-deploy-0", "Deployment", "denied by policy")
	}, "WorkNotApplied", "Deployment default/helloworld: denied by policy"},
	{"refused at length", "the reason is at the beginning", func(w *world) {
		w.refuses("addon-helloworld-deploy-0", "Deployment", "invalid: "+strings.Repeat("x", 4000)+" END")
	}, "WorkNotApplied", "xxx …"},
	{"refused by a policy", "the command shows the policy on the managed cluster", func(w *world) {
		w.hubOnly()
		w.refuses("addon-helloworld-deploy-0", "Deployment", "ValidatingAdmissionPolicy 'rules' with binding 'b' denied request: no")
	}, "WorkNotApplied", "kubectl --kubeconfig=FILE get validatingadmissionpolicy rules -o yaml"},
	{"the hook does not run", "", func(w *world) {
		w.AddOn.DeletionTimestamp = ptr.To(before(time.Hour))
		w.Managed.Hook = running("default", "hook")
		w.Managed.Hook.waiting("ImagePullBackOff", "")
	}, "UninstallNotStarted", "cannot pull the image"},
}

var credentialCases = []examined{
	{"no binding", "", func(w *world) { w.Binding = nil }, "BindingMissing", "has no RoleBinding"},
	{"a changed binding", "", func(w *world) { w.Binding.Subjects = nil }, "BindingMissing", "someone changed the RoleBinding"},
	{"ten requests", "OCM stops", func(w *world) {
		for range 10 {
			w.Requests = append(w.Requests, request(time.Hour, certificatesv1.CertificateApproved))
			w.Requests[len(w.Requests)-1].Status.Certificate = []byte("x")
		}
	}, "TooManyRequests", "delete csr -l"},
	{"denied", "", func(w *world) {
		w.Requests = []*certificatesv1.CertificateSigningRequest{request(time.Hour, certificatesv1.CertificateDenied)}
	}, "RequestDenied", "ByHand no"},
	{"rejected by the signer", "", func(w *world) {
		w.Requests = []*certificatesv1.CertificateSigningRequest{request(time.Hour, certificatesv1.CertificateApproved, certificatesv1.CertificateFailed)}
	}, "RequestFailed", "ByHand no"},
	{"not signed", "", func(w *world) {
		w.Requests = []*certificatesv1.CertificateSigningRequest{request(time.Hour, certificatesv1.CertificateApproved)}
	}, "RequestNotSigned", "kube-controller-manager"},
	{"not what the add-on asks for", "", func(w *world) { w.Requests = []*certificatesv1.CertificateSigningRequest{request(time.Second)} }, "RequestPending", "usages are"},
	{"someone else's", "anyone can set the labels", func(w *world) {
		w.Requests = []*certificatesv1.CertificateSigningRequest{request(time.Hour)}
		w.Requests[0].Spec.Username = "system:open-cluster-management:cluster2:agent1"
	}, "", ""},
	{"a token that is not renewed", "the later condition counts", func(w *world) {
		w.set("TokenRefreshed", metav1.ConditionFalse, "", "no such account")
		w.AddOn.Status.Conditions[len(w.AddOn.Status.Conditions)-1].LastTransitionTime = before(time.Minute)
	}, "CertificateNotRenewed", "no such account"},
	{"none", "", func(w *world) { w.hubOnly(); w.unset("ClusterCertificateRotated") }, "NoRequest", "has created no certificate signing request"},
	{"not renewed", "", func(w *world) { w.set("ClusterCertificateRotated", metav1.ConditionFalse, "", "too many") }, "CertificateNotRenewed", "too many"},
	{"a policy denies the request", "the command shows the policy on the hub", func(w *world) {
		w.hubOnly()
		w.set("ClusterCertificateRotated", metav1.ConditionFalse, "", `certificatesigningrequests is forbidden: ValidatingAdmissionPolicy 'rules' with binding 'b' denied request: no`)
	}, "CertificateNotRenewed", "kubectl get validatingadmissionpolicy rules -o yaml"},
	{"a policy of a hostile name", "it is no part of a command", func(w *world) {
		w.hubOnly()
		w.set("ClusterCertificateRotated", metav1.ConditionFalse, "", `ValidatingAdmissionPolicy '--all; x' denied request`)
	}, "CertificateNotRenewed", "denied request"},
}

var agentCases = []examined{
	{"namespace goes", "", func(w *world) { w.Managed.Namespace.DeletionTimestamp = ptr.To(before(time.Hour)) }, "NamespaceTerminating", "someone deletes the namespace default"},
	{"namespace gone", "", func(w *world) {
		w.Managed.Namespace, w.Managed.Agent, w.Managed.Secret, w.Managed.Lease = nil, nil, nil, nil
	}, "NamespaceMissing(SecretMissing)", "no namespace default"},
	{"no Deployment", "", func(w *world) { w.Managed.Agent = nil }, "AgentMissing", "no Deployment default/helloworld-agent"},
	{"scaled down", "", func(w *world) { w.Managed.Agent.Deployment.Spec.Replicas = ptr.To(int32(0)); w.Managed.Agent.unready() }, "AgentScaledDown", "--replicas=1"},
	{"no rights", "", func(w *world) { w.Managed.Denied = []string{"list configmaps"} }, "AgentForbidden", "may not list configmaps"},
	{"stopped", "", func(w *world) {
		w.Managed.Marker = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: manifests.UninstallMarker, Labels: map[string]string{manifests.UninstallLabel: "1"}}}
	}, "AgentStopped", "delete configmap -n default helloworld-agent-uninstall"},
	{"stopped, seen from the hub", "it stays stopped without the marker", func(w *world) {
		w.hubOnly()
		w.set("ConfigMapsSynced", metav1.ConditionFalse, "Uninstalling", condition.Stopped)
	}, "AgentStopped", "rollout restart deployment -n default helloworld-agent"},
	{"a marker of an earlier add-on", "it stops no agent", func(w *world) {
		w.Managed.Marker = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{manifests.UninstallLabel: "0"}}}
	}, "", ""},
	{"just enabled", "nothing has to be there yet", func(w *world) {
		w.AddOn.CreationTimestamp = before(time.Second)
		w.AddOn.Status.Conditions, w.Works, w.Binding, w.Mirror = nil, nil, nil, nil
		w.Managed.Agent, w.Managed.Secret, w.Managed.Lease = nil, nil, nil
	}, "Starting", ""},
	{"a pod that was just created", "it starts", func(w *world) {
		w.Managed.Agent.unready()
		w.Managed.Agent.Pods[0].CreationTimestamp = before(time.Second)
	}, "", ""},
	{"pods that may not be read", "they are not missing", func(w *world) {
		w.Managed.Agent.unready()
		w.Managed.Agent.Pods = nil
		w.NotRead = []NotRead{{Resource: AgentPods}}
	}, "", ""},
	{"the last good credentials stay in use", "the hub tells it", func(w *world) {
		w.hubOnly()
		w.set("ConfigMapsSynced", metav1.ConditionTrue, "Synced", "3 of 3 ConfigMaps synced; secret a/b cannot be used, "+credentials.StayInUse+" until 2027-01-01T00:00:00Z: KeyMismatch: of another")
	}, "KeyMismatch", "kubectl --kubeconfig=FILE delete secret"},
	{"quota", "", func(w *world) {
		w.Managed.Agent.refused("exceeded quota: pods=0")
		w.set("Degraded", metav1.ConditionTrue, "AgentNotCreated", "exceeded quota: pods=0")
	}, "AgentNotCreated(AgentNotAvailable)", "get resourcequotas"},
	{"admission webhook", "its server does not answer", func(w *world) {
		w.Managed.Agent.refused(`Internal error occurred: failed calling webhook "inject.example.com": connection refused`)
	}, "AgentNotCreated", "get mutatingwebhookconfigurations,validatingwebhookconfigurations"},
	{"LimitRange", "its limits are in the way", func(w *world) {
		w.Managed.Agent.refused("pods is forbidden: maximum memory usage per Container is 8Mi, but limit is 64Mi")
	}, "AgentNotCreated", "get limitranges -n default -o yaml"},
	{"no ServiceAccount", "OCM's work agent restores it", func(w *world) {
		w.Managed.Agent.refused("error looking up service account default/helloworld-agent-sa: not found")
	}, "AgentNotCreated", "work agent's log"},
	{"cannot be scheduled", "", func(w *world) {
		w.Managed.Agent.unready().Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/3 nodes"}}
	}, "AgentNotScheduled", "0/3 nodes"},
	{"image", "", func(w *world) { w.Managed.Agent.waiting("ErrImagePull", "not found") }, "AgentImageNotPulled", "example.com/image"},
	{"a missing Secret of its volume", "", func(w *world) {
		w.Managed.Agent.unready().Status.Phase = corev1.PodPending
		w.Managed.Agent.event("FailedMount", "no such secret")
	}, "AgentNotStarted", "no such secret"},
	{"no managed kubeconfig", "in hosted mode a person provides it", func(w *world) {
		w.AddOn.Annotations = map[string]string{addonv1beta1.HostingClusterNameAnnotationKey: "cluster2"}
		w.Hosting = w.ManagedCluster
		w.Works[0].Namespace = "cluster2"
		w.Managed.Agent.unready().Status.Phase = corev1.PodPending
		w.Managed.Agent.event("FailedMount", `secret "helloworld-managed-kubeconfig" not found`)
	}, "AgentNotStarted", "Create the Secret"},
	{"crashes", "", func(w *world) { w.Managed.Agent.crashed("a\npanic: b\n") }, "AgentCrashes", "panic: b"},
	{"hub unreachable", "its own event", func(w *world) {
		w.Managed.Agent.unready()
		w.Managed.Agent.event("HubUnreachable", "no route")
		w.Managed.Lease.Spec.RenewTime.Time = now.Add(-time.Hour)
		w.set("ConfigMapsSynced", metav1.ConditionUnknown, "AgentSilent", "")
	}, "HubUnreachable(LeaseNotRenewed AgentSilent)", "no route"},
	{"hub forbids, without the binding", "the binding is the cause", func(w *world) {
		w.Binding = nil
		w.Managed.Agent.unready()
		w.Managed.Agent.event("HubForbids", "forbidden")
	}, "BindingMissing(HubForbids)", ""},
	{"not ready", "", func(w *world) { w.Managed.Agent.unready() }, "AgentNotReady", "readyz"},
	{"no Secret", "", func(w *world) { w.Managed.Secret = nil }, "SecretMissing", "klusterlet-registration-agent"},
	{"key of another certificate", "", func(w *world) { w.Managed.Secret.Data["tls.key"] = w.Managed.Registration.Hub.Data["tls.key"] }, "KeyMismatch", "delete secret -n default helloworld-hub-kubeconfig"},
	{"a CA bundle without certificates", "", func(w *world) { w.Managed.Secret.Data["kubeconfig"] = caless(w.Managed.Secret.Data["kubeconfig"]) }, "CAInvalid", "bootstrap-hub-kubeconfig"},
	{"copied from another cluster", "", func(w *world) {
		w.Managed.Secret.Data["tls.crt"], w.Managed.Secret.Data["tls.key"] = w.Managed.Registration.Hub.Data["tls.crt"], w.Managed.Registration.Hub.Data["tls.key"]
	}, "CertificateForOther", ""},
	{"expired", "as the hub has it", func(w *world) {
		w.hubOnly()
		w.set("ClusterCertificateRotated", metav1.ConditionTrue, "", "client certificate rotated starting from x to "+now.Add(-time.Hour).UTC().Format("2006-01-02 15:04:05 -0700 MST"))
		w.set("Available", metav1.ConditionFalse, "", "")
	}, "CertificateExpired(AgentSilent)", "expired at"},
	{"not available", "", func(w *world) {
		w.hubOnly()
		w.set("Degraded", metav1.ConditionTrue, "AgentNotAvailable", "no ready pod")
	}, "AgentNotAvailable", "no ready pod"},
	{"lease", "ready and silent", func(w *world) { w.Managed.Lease = nil; w.set("Available", metav1.ConditionFalse, "", "") }, "LeaseNotRenewed(AgentSilent)", "no Lease default/helloworld"},
	{"lease late", "the agent renews it each minute", func(w *world) { w.Managed.Lease.Spec.RenewTime.Time = now.Add(-3 * time.Minute) }, "LeaseNotRenewed", "cannot write the Lease"},
	{"lease denied", "the log tells it", func(w *world) {
		w.Managed.Lease.Spec.RenewTime.Time = now.Add(-3 * time.Minute)
		w.Managed.AgentLog = `E1125 09:17:31.000000 1 renewer.go:143] "Failed to renew lease, retrying" err="update lease: leases.coordination.k8s.io \"helloworld\" is forbidden: ValidatingAdmissionPolicy 'rules' with binding 'b' denied request: no" lease="default/helloworld"` + "\n"
	}, "LeaseNotRenewed", "get validatingadmissionpolicy rules -o yaml"},
	{"lease a bit late", "one renewal failed, and is tried again", func(w *world) { w.Managed.Lease.Spec.RenewTime.Time = now.Add(-2 * time.Minute) }, "", ""},
	{"lease not read", "", func(w *world) { w.set("Available", metav1.ConditionUnknown, "", "") }, "LeaseNotRead(Starting)", "renews its Lease"},
	{"starting", "", func(w *world) { w.hubOnly(); w.unset("Available") }, "Starting", "every 30 s"},
}

var bundle = regexp.MustCompile(`certificate-authority-data: *[A-Za-z0-9+/=]+`)

// caless returns a kubeconfig whose CA bundle has no certificate.
func caless(kubeconfig []byte) []byte {
	return bundle.ReplaceAll(kubeconfig, []byte("certificate-authority-data: eA=="))
}

var copyCases = []examined{
	{"uninstall is blocked", "", func(w *world) {
		w.AddOn.DeletionTimestamp = ptr.To(before(time.Hour))
		w.set("ConfigMapsSynced", metav1.ConditionFalse, "Uninstalling", "1 of 3 left: settings (held by finalizers example.com/hold)")
	}, "UninstallBlocked", "example.com/hold"},
	{"a policy denies the deletion of a copy", "the command shows the policy on the managed cluster", func(w *world) {
		w.hubOnly()
		w.AddOn.DeletionTimestamp = ptr.To(before(time.Hour))
		w.set("ConfigMapsSynced", metav1.ConditionFalse, "Uninstalling", "1 of 1 left: app: ValidatingAdmissionPolicy 'rules' with binding 'b' denied request: no")
	}, "UninstallBlocked", "kubectl --kubeconfig=FILE get validatingadmissionpolicy rules -o yaml"},
	{"a policy denies it from the start", "it will not change its mind", func(w *world) {
		w.AddOn.DeletionTimestamp = ptr.To(before(time.Second))
		w.set("ConfigMapsSynced", metav1.ConditionFalse, "Uninstalling", "1 of 1 left: app: ValidatingAdmissionPolicy 'rules' with binding 'b' denied request: no")
	}, "UninstallBlocked", "for 1s"},
	{"the hook's Job is applied again", "OCM's work agent fails at that, and the Job runs on", func(w *world) {
		w.AddOn.DeletionTimestamp = ptr.To(before(time.Hour))
		w.set("ConfigMapsSynced", metav1.ConditionFalse, "Uninstalling", "1 of 3 left: settings")
		w.refuses("addon-helloworld-pre-delete", "Job", "spec.template: Invalid value: {}: field is immutable")
	}, "UninstallBlocked", ""},
	{"the hook's Job is denied", "it cannot report", func(w *world) {
		w.AddOn.DeletionTimestamp = ptr.To(before(time.Hour))
		w.refuses("addon-helloworld-pre-delete", "Job", "denied by policy")
	}, "WorkNotApplied(UninstallNotStarted)", "Job default/helloworld: denied by policy"},
	{"uninstall of a lost cluster", "", func(w *world) {
		w.hubOnly()
		w.AddOn.DeletionTimestamp = ptr.To(before(time.Hour))
		w.ManagedCluster.Status.Conditions[1].Status = metav1.ConditionUnknown
	}, "ClusterUnavailable(UninstallWaits)", ""},
	{"no report", "", func(w *world) { w.Mirror = nil }, "NotReported", "no ConfigMapMirror"},
	{"held", "", func(w *world) { w.set("ConfigMapsSynced", metav1.ConditionFalse, "DeletionHeld", "5 of 6") }, "DeletionHeld", "release-deletions=true"},
	{"failed", "the event tells why", func(w *world) {
		w.set("ConfigMapsSynced", metav1.ConditionFalse, "Failed", "failed: a")
		w.Events = []corev1.Event{{Reason: "CopyFailed", Message: "too large", InvolvedObject: corev1.ObjectReference{Name: "a"}}}
	}, "Failed", `about a: "too large"`},
	{"failed by a quota", "the command shows the quotas there", func(w *world) {
		w.set("ConfigMapsSynced", metav1.ConditionFalse, "Failed", `failed: a (configmaps "a" is forbidden: exceeded quota: team)`)
	}, "Failed", "get resourcequotas -n default"},
	{"conflict and others", "the ConfigMapMirror has all", func(w *world) {
		w.set("ConfigMapsSynced", metav1.ConditionFalse, "Conflict", "conflict: a")
		w.Mirror.Status.ConfigMaps = []v1alpha1.MirroredConfigMap{{Name: "a", State: v1alpha1.MirrorConflict, Message: "is not a copy"}, {Name: "b", State: v1alpha1.MirrorContested, Message: "x"}}
	}, "Conflict Contested", "kubectl annotate configmap -n default a helloworld.open-cluster-management.io/adopt=true"},
	{"syncing", "", func(w *world) { w.set("ConfigMapsSynced", metav1.ConditionFalse, "Syncing", "1 of 3") }, "Syncing", "1 of 3"},
	{"no status", "someone deleted the object", func(w *world) { w.Mirror.Status = nil }, "NotReported", "rollout restart deployment -n default helloworld-agent"},
	{"hostile names", "they are no part of a command", func(w *world) {
		w.hubOnly()
		w.AddOn.Status.Namespace = "x; curl example.com"
		w.set("ConfigMapsSynced", metav1.ConditionFalse, "Conflict", "conflict: a")
		w.Mirror.Status.ConfigMaps = []v1alpha1.MirroredConfigMap{{Name: "--all", State: v1alpha1.MirrorConflict}, {Name: "a;b", State: v1alpha1.MirrorConflict}}
	}, "Conflict", "kubectl --kubeconfig=FILE annotate configmap -n open-cluster-management-agent-addon NAME helloworld.open-cluster-management.io/adopt=true"},
	{"an uninstall that goes on", "the agent has stopped, and the hook has not begun", func(w *world) {
		w.AddOn.DeletionTimestamp = ptr.To(before(10 * time.Second))
		w.set("ConfigMapsSynced", metav1.ConditionFalse, "Uninstalling", condition.Stopped)
	}, "", ""},
	{"a hook that does not come", "the agent's own message is none of the hook's", func(w *world) {
		w.hubOnly()
		w.AddOn.DeletionTimestamp = ptr.To(before(time.Hour))
		w.set("ConfigMapsSynced", metav1.ConditionFalse, "Uninstalling", condition.Stopped)
	}, "UninstallNotStarted", "addon-helloworld-pre-delete"},
	{"uninstalled", "OCM needs a minute to notice", func(w *world) {
		w.AddOn.DeletionTimestamp = ptr.To(before(2 * time.Minute))
		w.set("ConfigMapsSynced", metav1.ConditionFalse, "Uninstalled", "")
	}, "", ""},
}
