//go:build doctor

package doctor

// beforeInstalling are faults of a hub without the add-on.
var beforeInstalling = []fault{
	{name: "no hub", ask: "--kubeconfig=$SPOKE", text: "is not a hub of Open Cluster Management"},
	{name: "not installed", want: "NotInstalled", text: "in the way that your hub uses", after: "ControllerMissing", ask: "cluster1"},
	{name: "not installed, all clusters", want: "NotInstalled", ask: "--output=json"},
}

// ofHub are faults that all clusters have in common: one after the other.
var ofHub = []fault{
	{name: "a name that the hub does not know", want: "NoManagedCluster", text: "get managedclusters", ask: "cluster99"},
	{name: "the kubeconfig of another cluster", want: "WrongCluster", text: "cluster2", ask: "cluster1 --managed-kubeconfig=$OTHER"},
	{name: "controller scaled to 0", want: "ControllerNotRunning", text: "--replicas=2",
		begin:  `hub scale deployment -n open-cluster-management helloworld-controller --replicas=0`,
		repair: `hub scale deployment -n open-cluster-management helloworld-controller --replicas=2`},
	{name: "controller's image", want: "ControllerNotRunning", text: "example.com/nothing:v1",
		begin: `hub patch deployment -n open-cluster-management helloworld-controller --type=json -p '[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"example.com/nothing:v1"}]'
			hub delete pod -n open-cluster-management -l app.kubernetes.io/name=helloworld-controller`,
		repair: `hub rollout undo deployment -n open-cluster-management helloworld-controller`},
	{name: "controller's quota", want: "ControllerNotRunning", text: "exceeded quota",
		begin:  `hub create quota doctor -n open-cluster-management --hard=pods=0; hub delete pod -n open-cluster-management -l app.kubernetes.io/name=helloworld-controller`,
		repair: `hub delete quota doctor -n open-cluster-management; hub rollout restart deployment -n open-cluster-management helloworld-controller`},
	{name: "controller's rights", want: "ControllerForbidden", text: "create manifestworks",
		begin: `hub delete clusterrolebinding open-cluster-management:helloworld-controller`, repair: `eval "$DEPLOY"`},
	{name: "agents' rights", want: "HubRoleMissing", text: "open-cluster-management:helloworld-addon:agent",
		begin: `hub delete clusterrole open-cluster-management:helloworld-addon:agent`, repair: `eval "$DEPLOY"`},
	{name: "CRD missing", want: "CRDsMissing", text: "upgrade the chart",
		begin: `hub delete crd configmapmirrors.helloworld.open-cluster-management.io`, repair: `eval "$DEPLOY"; hub rollout restart deployment -n open-cluster-management helloworld-controller; pods`},
	{name: "nobody approves", want: "ControllerNotRunning", after: "SecretMissing",
		begin:  `hub scale deployment -n open-cluster-management helloworld-controller --replicas=0; spoke delete secret -n "$NS" $secret`,
		repair: `hub scale deployment -n open-cluster-management helloworld-controller --replicas=2`},
	{name: "a person denies the request", want: "RequestDenied", text: "delete csr", after: "SecretMissing",
		begin: `hub scale deployment -n open-cluster-management helloworld-controller --replicas=0; spoke delete secret -n "$NS" $secret
			label=open-cluster-management.io/addon-name=helloworld,open-cluster-management.io/cluster-name=$CLUSTER
			for ((i = 0; i < 60; i++)); do
			  request=$(hub get csr -l "$label" -o 'go-template={{range .items}}{{if not .status.certificate}}{{.metadata.name}}{{end}}{{end}}')
			  [[ -z $request ]] || break
			  sleep 1
			done
			hub certificate deny "$request"
			hub scale deployment -n open-cluster-management helloworld-controller --replicas=2`,
		repair: `hub delete csr -l open-cluster-management.io/addon-name=helloworld,open-cluster-management.io/cluster-name=$CLUSTER`},
	{name: "nobody signs", want: "RequestNotSigned", text: "kube-controller-manager", after: "SecretMissing",
		begin: `sandbox stop hub/kube-controller-manager; spoke delete secret -n "$NS" $secret`, repair: `sandbox start hub/kube-controller-manager`},
	{name: "OCM's add-on manager does not run", want: "NotConfigured", text: "addon-manager",
		begin:  `hub delete managedclusteraddon -n "$CLUSTER" helloworld; sandbox stop hub/addon-manager; enable`,
		repair: `sandbox start hub/addon-manager`, ask: "$CLUSTER"},
}

// perCluster are faults of single clusters, which are brought about on three clusters side by side.
var perCluster = [3][]fault{
	// The agent's credentials, with OCM's registration agent stopped, so that it does not repair them.
	{
		{name: "no Secret", want: "SecretMissing", begin: `alone; spoke delete secret -n "$NS" $secret`, repair: `renew`},
		{name: "no kubeconfig", want: "KubeconfigMissing", begin: `alone; drop kubeconfig`, repair: `renew`},
		{name: "kubeconfig does not parse", want: "KubeconfigInvalid", begin: `alone; put kubeconfig '{'`, repair: `renew`},
		{name: "server without TLS", want: "ServerInvalid", text: "bootstrap-hub-kubeconfig", repair: `renew`,
			begin: `alone; put kubeconfig '{clusters: [{name: a, cluster: {server: http://hub}}], users: [{name: a, user: {client-certificate: tls.crt, client-key: tls.key}}], contexts: [{name: a, context: {cluster: a, user: a}}], current-context: a}'`},
		{name: "proxy of another kind", want: "ProxyInvalid", repair: `renew`,
			begin: `alone; put kubeconfig '{clusters: [{name: a, cluster: {server: https://hub, proxy-url: ftp://proxy}}], users: [{name: a, user: {client-certificate: tls.crt, client-key: tls.key}}], contexts: [{name: a, context: {cluster: a, user: a}}], current-context: a}'`},
		{name: "CA bundle without certificate", want: "CAInvalid", repair: `renew`,
			begin: `alone; put kubeconfig '{clusters: [{name: a, cluster: {server: https://hub, certificate-authority-data: eA==}}], users: [{name: a, user: {client-certificate: tls.crt, client-key: tls.key}}], contexts: [{name: a, context: {cluster: a, user: a}}], current-context: a}'`},
		{name: "no credentials", want: "CredentialsMissing", repair: `renew`,
			begin: `alone; put kubeconfig '{clusters: [{name: a, cluster: {server: https://hub}}], users: [{name: a, user: {}}], contexts: [{name: a, context: {cluster: a, user: a}}], current-context: a}'`},
		{name: "credentials of a program", want: "CredentialsUnsupported", repair: `renew`,
			begin: `alone; put kubeconfig '{clusters: [{name: a, cluster: {server: https://hub}}], users: [{name: a, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: x, interactiveMode: Never}}}], contexts: [{name: a, context: {cluster: a, user: a}}], current-context: a}'`},
		{name: "no key", want: "KeyMissing", text: "delete secret", begin: `alone; drop tls.key`, repair: `renew`},
		{name: "damaged key", want: "KeyInvalid", begin: `alone; put tls.key x`, repair: `renew`},
		{name: "key of another certificate", want: "KeyMismatch", text: "delete secret", repair: `renew`,
			begin: `alone; key=$(spoke get secret -n $ocm hub-kubeconfig-secret -o 'jsonpath={.data.tls\.key}')
				spoke patch secret -n "$NS" $secret --type=merge -p '{"data":{"tls.key":"'"$key"'"}}'`},
		{name: "no certificate", want: "CertificateMissing", begin: `alone; drop tls.crt`, repair: `renew`},
		{name: "damaged certificate", want: "CertificateInvalid", begin: `alone; put tls.crt x`, repair: `renew`},
		{name: "certificate of another", want: "CertificateForOther", repair: `renew`,
			begin: `alone; data=$(printf '{"data":{"tls.crt":"%s","tls.key":"%s"}}' "$(spoke get secret -n $ocm hub-kubeconfig-secret -o 'jsonpath={.data.tls\.crt}')" "$(spoke get secret -n $ocm hub-kubeconfig-secret -o 'jsonpath={.data.tls\.key}')")
				spoke patch secret -n "$NS" $secret --type=merge -p "$data"`},
		{name: "ten requests of somebody", want: "TooManyRequests", text: "delete csr -l", after: "SecretMissing", repair: `hub delete csr -l doctor=requests`,
			begin: `request=$(openssl req -new -newkey rsa:2048 -nodes -keyout /dev/null -subj /CN=x 2>/dev/null | base64 -w0)
				for i in {1..10}; do hub create -f - <<END
{"apiVersion":"certificates.k8s.io/v1","kind":"CertificateSigningRequest","metadata":{"generateName":"doctor-","labels":{"doctor":"requests",
"open-cluster-management.io/addon-name":"helloworld","open-cluster-management.io/cluster-name":"$CLUSTER"}},
"spec":{"request":"$request","signerName":"example.com/none","usages":["client auth"]}}
END
				done
				spoke delete secret -n "$NS" $secret`},
	},
	// OCM's registration agent in its situations, and the cluster.
	{
		{name: "not accepted", want: "NotAccepted", text: `"hubAcceptsClient":true`,
			begin:  `hub patch managedcluster "$CLUSTER" --type=merge -p '{"spec":{"hubAcceptsClient":false}}'`,
			repair: `hub patch managedcluster "$CLUSTER" --type=merge -p '{"spec":{"hubAcceptsClient":true}}'`},
		{name: "bootstrap kubeconfig does not parse", want: "RegistrationExits", text: "BootstrapInvalid", repair: `bootstrap`,
			begin: `spoke patch secret -n $ocm bootstrap-hub-kubeconfig --type=merge -p '{"stringData":{"kubeconfig":"{"}}'`},
		{name: "bootstrap kubeconfig missing", want: "RegistrationPodWaits", text: "situation 3", repair: `bootstrap`,
			begin: `spoke delete secret -n $ocm bootstrap-hub-kubeconfig`},
		{name: "situation 3: bootstrap kubeconfig expired", want: "BootstrapInvalid", advice: true, text: "situation 3", repair: `bootstrap`, begin: `bootstrap --expired`},
		{name: "situation 4: neither valid", want: "RegistrationRetries", text: "situation 4",
			begin:  `sandbox stop "$CLUSTER/registration-agent"; bootstrap --expired; spoke delete secret -n $ocm hub-kubeconfig-secret; sandbox start "$CLUSTER/registration-agent"`,
			repair: `bootstrap; joined`},
		{name: "situation 1: no hub kubeconfig", want: "RegistrationJoins", text: "situation 1", after: "ClusterUnavailable",
			begin: `hub patch managedcluster "$CLUSTER" --type=merge -p '{"spec":{"leaseDurationSeconds":5}}'
				sandbox stop "$CLUSTER/registration-agent"; spoke delete secret -n $ocm hub-kubeconfig-secret`,
			repair: `hub patch managedcluster "$CLUSTER" --type=merge -p '{"spec":{"leaseDurationSeconds":60}}'; sandbox start "$CLUSTER/registration-agent"`},
		{name: "hub kubeconfig without key", want: "RegistrationWaits", text: "delete secret", repair: `rejoin`,
			begin: `sandbox stop "$CLUSTER/registration-agent"; spoke patch secret -n $ocm hub-kubeconfig-secret --type=json -p '[{"op":"remove","path":"/data/tls.key"}]'`},
		{name: "hub kubeconfig with another key", want: "RegistrationStuck", text: "KeyMismatch", repair: `rejoin`,
			begin: `sandbox stop "$CLUSTER/registration-agent"; spoke patch secret -n $ocm hub-kubeconfig-secret --type=merge -p '{"data":{"tls.key":"'$(spoke get secret -n "$NS" $secret -o 'jsonpath={.data.tls\.key}')'"}}'`},
		{name: "hub kubeconfig does not parse", want: "RegistrationExits", text: "KubeconfigInvalid", repair: `rejoin`,
			begin: `sandbox stop "$CLUSTER/registration-agent"; spoke patch secret -n $ocm hub-kubeconfig-secret --type=merge -p '{"stringData":{"kubeconfig":"{"}}'`},
		{name: "cut off, seen from the hub", want: "ClusterUnavailable", text: "--managed-kubeconfig=FILE", ask: "$CLUSTER",
			begin:  `hub patch managedcluster "$CLUSTER" --type=merge -p '{"spec":{"leaseDurationSeconds":5}}'; sandbox cut "$CLUSTER"`,
			repair: `sandbox mend "$CLUSTER"; hub patch managedcluster "$CLUSTER" --type=merge -p '{"spec":{"leaseDurationSeconds":60}}'`},
		{name: "cut off while it is disabled", want: "ClusterUnavailable", after: "UninstallWaits", ask: "$CLUSTER",
			begin: `hub patch managedcluster "$CLUSTER" --type=merge -p '{"spec":{"leaseDurationSeconds":5}}'; sandbox cut "$CLUSTER"
				hub delete managedclusteraddon -n "$CLUSTER" helloworld --wait=false`,
			repair: `sandbox mend "$CLUSTER"; hub patch managedcluster "$CLUSTER" --type=merge -p '{"spec":{"leaseDurationSeconds":60}}'
				hub wait --for=delete managedclusteraddon/helloworld -n "$CLUSTER" --timeout=170s; enable`},
		{name: "agent cut off, seen from the cluster", want: "HubUnreachable", begin: `sandbox cut "$CLUSTER"`, repair: `sandbox mend "$CLUSTER"`},
	},
	// What is shipped, the agent, the copies, and the uninstall.
	{
		{name: "install namespace refused", want: "ConfigurationRefused", text: "agentInstallNamespace", begin: `configure '{"agentInstallNamespace":"'"$CLUSTER"'"}'`, repair: `unconfigure`},
		{name: "no such configuration", want: "ConfigurationRefused", text: "nothing",
			begin:  `hub patch managedclusteraddon -n "$CLUSTER" helloworld --type=merge -p '{"spec":{"configs":[{"group":"addon.open-cluster-management.io","resource":"addondeploymentconfigs","namespace":"default","name":"nothing"}]}}'`,
			repair: `unconfigure`},
		{name: "misspelt variable", want: "ConfigurationIgnored", advice: true, text: "DeletionHolt", begin: `configure '{"agentInstallNamespace":"'"$NS"'","customizedVariables":[{"name":"DeletionHolt","value":"1m"}]}'`, repair: `unconfigure`},
		{name: "no node", want: "AgentNotScheduled", begin: `configure '{"agentInstallNamespace":"'"$NS"'","nodePlacement":{"nodeSelector":{"doctor":"nowhere"}}}'; pods`, repair: `unconfigure`},
		{name: "no image", want: "AgentImageNotPulled", text: "example.com", begin: `configure '{"agentInstallNamespace":"'"$NS"'","registries":[{"source":"quay.io/open-cluster-management","mirror":"example.com/nothing"}]}'; pods`, repair: `unconfigure`},
		{name: "quota", want: "AgentNotCreated", text: "get resourcequotas", begin: `quota; pods`, repair: `spoke delete quota -n "$NS" doctor; spoke rollout restart deployment -n "$NS" helloworld-agent`},
		{name: "LimitRange", want: "AgentNotCreated", text: "get limitranges",
			begin: `spoke apply -f - <<END
{"apiVersion":"v1","kind":"LimitRange","metadata":{"name":"doctor","namespace":"$NS"},"spec":{"limits":[{"type":"Container","max":{"memory":"1Mi"},"default":{"memory":"1Mi"},"defaultRequest":{"memory":"1Mi"}}]}}
END
pods`, repair: `spoke delete limitrange -n "$NS" doctor; spoke rollout restart deployment -n "$NS" helloworld-agent`},
		{name: "Lease denied", want: "LeaseNotRenewed", text: "get validatingadmissionpolicy doctor",
			begin: `deny coordination.k8s.io leases "object.metadata.name != 'helloworld'"`, repair: `allow`},
		{name: "Deployment deleted", want: "AgentMissing", begin: `sandbox stop "$CLUSTER/work-agent"; spoke delete deployment -n "$NS" helloworld-agent`, repair: `sandbox start "$CLUSTER/work-agent"`},
		{name: "scaled to 0", want: "AgentScaledDown", text: "--replicas=1", begin: `sandbox stop "$CLUSTER/work-agent"; spoke scale deployment -n "$NS" helloworld-agent --replicas=0`, repair: `sandbox start "$CLUSTER/work-agent"`},
		{name: "crashes", want: "AgentCrashes", repair: `sandbox start "$CLUSTER/work-agent"`,
			begin: `sandbox stop "$CLUSTER/work-agent"; spoke patch deployment -n "$NS" helloworld-agent --type=json -p '[{"op":"replace","path":"/spec/template/spec/containers/0/args","value":["--nonsense"]}]'; pods`},
		{name: "rights on the cluster", want: "AgentForbidden", text: "list configmaps", repair: `sandbox start "$CLUSTER/work-agent"`,
			begin: `sandbox stop "$CLUSTER/work-agent"; spoke delete rolebinding -n "$NS" helloworld-addon`},
		{name: "work agent does not run", want: "WorkNotReported", begin: `sandbox stop "$CLUSTER/work-agent"; hub delete manifestwork -n "$CLUSTER" addon-helloworld-deploy-0 --wait=false
				hub patch manifestwork -n "$CLUSTER" addon-helloworld-deploy-0 --type=merge -p '{"metadata":{"finalizers":null}}'`, repair: `sandbox start "$CLUSTER/work-agent"`},
		{name: "admission policy", want: "WorkNotApplied", text: "doctor forbids it", begin: `deny apps deployments "object.metadata.name != 'helloworld-agent'"; sleep 2; spoke delete deployment -n "$NS" helloworld-agent; sandbox restart "$CLUSTER/work-agent"`,
			repair: `allow; sandbox restart "$CLUSTER/work-agent"`}, // it looks at each object again after some minutes
		{name: "left-over marker", want: "AgentStopped", text: "delete configmap",
			begin: `spoke create configmap helloworld-agent-uninstall -n "$NS"
				spoke label configmap helloworld-agent-uninstall -n "$NS" "helloworld.open-cluster-management.io/uninstall=$(hub get managedclusteraddon -n "$CLUSTER" helloworld -o 'jsonpath={.metadata.uid}')"`,
			repair: `spoke delete configmap -n "$NS" helloworld-agent-uninstall; pods`},
		{name: "conflict", want: "Conflict", text: "adopt=true", begin: `spoke create configmap doctor2 -n "$NS"; hub create configmap doctor2 -n "$CLUSTER" --from-literal=a=b`, repair: `hub delete configmap doctor2 -n "$CLUSTER"; spoke delete configmap doctor2 -n "$NS" --ignore-not-found`},
		{name: "copy refused", want: "Failed", text: "doctor forbids it", begin: `deny '' configmaps "object.metadata.name != 'doctor3'"; sleep 2; hub create configmap doctor3 -n "$CLUSTER"`, repair: `allow; hub delete configmap doctor3 -n "$CLUSTER"`},
		{name: "another writer", want: "Contested", text: "keeps changing", repair: `true`,
			begin: `for i in {1..40}; do spoke patch configmap doctor -n "$NS" --field-manager=injector --type=merge -p '{"data":{"a":"'$i'"}}'; sleep 0.2; done`},
		{name: "deletions held", want: "DeletionHeld", text: "release-deletions=true",
			begin: `for i in 1 2 3 4 5 6; do hub create configmap "held$i" -n "$CLUSTER"; done
				for ((i = 0; i < 60; i++)); do spoke get configmap -n "$NS" held6 >/dev/null 2>&1 && break; sleep 1; done
				sandbox stop "$CLUSTER/work-agent"; spoke scale deployment -n "$NS" helloworld-agent --replicas=0
				spoke wait --for=delete pod -n "$NS" -l app.kubernetes.io/name=helloworld-agent --timeout=60s
				for i in 1 2 3 4 5 6; do hub delete configmap "held$i" -n "$CLUSTER"; done
				sandbox start "$CLUSTER/work-agent"`,
			repair: `hub annotate managedclusteraddon helloworld -n "$CLUSTER" helloworld.open-cluster-management.io/release-deletions=true
				for ((i = 0; i < 60; i++)); do spoke get configmap -n "$NS" held6 >/dev/null 2>&1 || break; sleep 1; done
				hub annotate managedclusteraddon helloworld -n "$CLUSTER" helloworld.open-cluster-management.io/release-deletions-`},
		{name: "uninstall is blocked", want: "UninstallBlocked", text: "example.com/hold", ask: "$CLUSTER",
			begin: `spoke patch configmap doctor -n "$NS" --type=merge -p '{"metadata":{"finalizers":["example.com/hold"]}}'
				hub delete managedclusteraddon -n "$CLUSTER" helloworld --wait=false`,
			repair: `spoke patch configmap doctor -n "$NS" --type=merge -p '{"metadata":{"finalizers":null}}'
				hub wait --for=delete managedclusteraddon/helloworld -n "$CLUSTER" --timeout=170s; enable`},
		{name: "uninstall is denied", want: "UninstallBlocked", text: "get validatingadmissionpolicy doctor", ask: "$CLUSTER",
			begin: `deny '' configmaps "oldObject.metadata.name != 'doctor'" DELETE; sleep 2
				hub delete managedclusteraddon -n "$CLUSTER" helloworld --wait=false`,
			repair: `allow; hub wait --for=delete managedclusteraddon/helloworld -n "$CLUSTER" --timeout=170s; enable`},
		{name: "uninstall does not start", want: "UninstallNotStarted", begin: `quota; hub delete managedclusteraddon -n "$CLUSTER" helloworld --wait=false`,
			repair: `spoke delete quota -n "$NS" doctor; hub wait --for=delete managedclusteraddon/helloworld -n "$CLUSTER" --timeout=170s; enable`},
		{name: "a hosting cluster that is none", want: "HostingClusterMissing", text: "nowhere", ask: "$CLUSTER",
			begin: `hub delete managedclusteraddon -n "$CLUSTER" helloworld
				hub apply -f - <<END
{"apiVersion":"addon.open-cluster-management.io/v1alpha1","kind":"ManagedClusterAddOn","metadata":{"name":"helloworld","namespace":"$CLUSTER",
"annotations":{"addon.open-cluster-management.io/hosting-cluster-name":"nowhere"}},"spec":{"installNamespace":"$NS"}}
END`,
			repair: `hub delete managedclusteraddon -n "$CLUSTER" helloworld; enable`},
		{name: "install namespace goes", want: "NamespaceTerminating",
			begin: `spoke create configmap keep -n "$NS"; spoke patch configmap keep -n "$NS" --type=merge -p '{"metadata":{"finalizers":["example.com/hold"]}}'
				spoke delete namespace "$NS" --wait=false`,
			// OCM's registration agent looks for the missing Secret again after 5 minutes, or when it starts.
			repair: `before=$(spoke get namespace "$NS" -o 'jsonpath={.metadata.uid}')
				spoke patch configmap keep -n "$NS" --type=merge -p '{"metadata":{"finalizers":null}}'
				for ((i = 0; i < 120; i++)); do
				  now=$(spoke get namespace "$NS" --ignore-not-found -o 'jsonpath={.metadata.uid}')
				  [[ -z $now || $now == "$before" ]] || break
				  sleep 1
				done
				sandbox restart "$CLUSTER/registration-agent"`},
	},
}
