package peers

// step is something that a peer does on a sandbox, as a row of the table.
type step struct {
	module string // of the peer
	what   string
	// script runs in bash after the preamble, in the directory of the module's sources.
	script string
	// result is what the script shows if it succeeds. Empty: it runs a suite of Ginkgo, whose specs are counted.
	result string
}

const (
	managedServiceAccount = "open-cluster-management.io/managed-serviceaccount"
	addonFramework        = "open-cluster-management.io/addon-framework"
)

// preamble is what the scripts share. KUBECONFIG is the hub's.
const preamble = `set -euo pipefail
export KUBECONFIG=$HUB_KUBECONFIG
# available ADDON CLUSTER...: waits until the add-on is available on each
available() {
  local cluster addon=$1
  for cluster in "${@:2}"; do
    kubectl wait --for=create --timeout=1m -n "$cluster" "managedclusteraddon/$addon"
    kubectl wait --for=condition=Available --timeout=3m -n "$cluster" "managedclusteraddon/$addon"
  done
}
# install NAMESPACE CHART VALUES: what helm install --create-namespace --set=VALUES creates. Helm lets unknown fields pass.
install() {
  kubectl create namespace "$1"
  kubectl apply --server-side -f "$2/crds"
  kubectl wait --for=condition=Established --timeout=1m -f "$2/crds"
  "$PEERS_BIN/render-chart" "-namespace=$1" "-set=$3" "$2" | kubectl apply --validate=warn -f -
}
# deploy EXAMPLE: the framework's target deploy-EXAMPLE. The image that it sets is the one in the file.
deploy() { kubectl kustomize "examples/deploy/addon/$1" | kubectl apply -f -; }
`

// The steps by test. test/peers/run starts a sandbox for each test, test/peers/on-kind kind clusters.
var (
	managedServiceAccountSteps = []step{{
		module: managedServiceAccount,
		what:   "its Helm chart on three clusters, one of them the hub",
		result: "Available; a token is accepted by its cluster",
		// the chart and its flags: .github/workflows/go-presubmit.yml
		script: `install open-cluster-management-addon charts/managed-serviceaccount tag=latest,featureGates.ephemeralIdentity=true
available managed-serviceaccount cluster1 cluster2 loopback
kubectl apply -f - <<'END'
apiVersion: authentication.open-cluster-management.io/v1beta1
kind: ManagedServiceAccount
metadata: {name: reader, namespace: cluster1}
spec: {rotation: {}}
END
kubectl wait --for=condition=TokenReported --timeout=1m -n cluster1 managedserviceaccount/reader
token=$(kubectl get secret -n cluster1 reader -o jsonpath='{.data.token}' | base64 -d)
# the cluster's kubeconfig with the token instead of the administrator's certificate
export KUBECONFIG=$WORK/reader.kubeconfig
cp "$CLUSTER1_KUBECONFIG" "$KUBECONFIG"
kubectl config set-credentials reader --token="$token"
kubectl config set-context --current --user=reader
user=$(kubectl auth whoami -o jsonpath='{.status.userInfo.username}')
[[ $user == system:serviceaccount:*:reader ]] || { echo "the token is that of $user"; exit 1; }
`}, {
		module: managedServiceAccount,
		what:   "its e2e suite",
		script: `"$PEERS_BIN/managed-serviceaccount.test" --test-cluster loopback --ginkgo.no-color --ginkgo.label-filter='!template-install'`,
	}}

	managedServiceAccountTemplateSteps = []step{{
		module: managedServiceAccount,
		what:   "its e2e suite with an AddOnTemplate",
		script: `install open-cluster-management-addon charts/managed-serviceaccount \
  tag=latest,featureGates.ephemeralIdentity=true,hubDeployMode=AddOnTemplate,targetCluster=loopback
# the workflow compiles the suite meanwhile, which takes longer
available managed-serviceaccount loopback
"$PEERS_BIN/managed-serviceaccount.test" --test-cluster loopback --ginkgo.no-color --ginkgo.label-filter='!ephemeral&&!install'`,
	}, {
		module: managedServiceAccount,
		what:   "the same, specs of ephemeral identities",
		script: `"$PEERS_BIN/managed-serviceaccount.test" --test-cluster loopback --ginkgo.no-color --ginkgo.label-filter=ephemeral`,
	}, {
		module: managedServiceAccount,
		what:   "the same, specs of the installation",
		script: `"$PEERS_BIN/managed-serviceaccount.test" --test-cluster loopback --ginkgo.no-color --ginkgo.label-filter=install`,
	}}

	addonFrameworkSteps = []step{{
		module: addonFramework,
		what:   "its e2e suite",
		script: `deploy helloworld
deploy helloworld-helm
MANAGED_CLUSTER_NAME=loopback "$PEERS_BIN/addon-framework.test" -test.v -ginkgo.v -ginkgo.noColor`,
	}}

	addonFrameworkTokenSteps = []step{{
		module: addonFramework,
		what:   "its e2etoken suite, with `--addon-auth=token`",
		script: `deploy helloworld
deploy helloworld-helm
MANAGED_CLUSTER_NAME=loopback "$PEERS_BIN/addon-framework-token.test" -test.v -ginkgo.v -ginkgo.noColor`,
	}}

	exampleSteps = []step{{
		module: addonFramework,
		what:   "helloworld by its placement",
		result: "Available on two clusters",
		script: `deploy helloworld
available helloworld cluster1 cluster2`,
	}, {
		module: addonFramework,
		what:   "helloworld_helm",
		result: "Available",
		script: `deploy helloworld-helm
kubectl apply -f examples/deploy/addon-cr/helloworld_helm_addon_cr.yaml
available helloworldhelm cluster1`,
	}, {
		module: addonFramework,
		what:   "helloworld_hosted, cluster2 from cluster1",
		result: "Available",
		// as the framework's e2ehosted suite gives the agent its kubeconfig
		script: `deploy helloworld-hosted
sed 's/namespace: cluster1/namespace: cluster2/; s/hosting1/cluster1/' examples/deploy/addon-cr/helloworld_hosted_addon_cr.yaml | kubectl apply -f -
hosting() { kubectl --kubeconfig="$CLUSTER1_KUBECONFIG" "$@"; }
hosting get secret -n klusterlet-cluster2 external-managed-kubeconfig -o jsonpath='{.data.kubeconfig}' | base64 -d >"$WORK/cluster2.kubeconfig"
hosting create secret generic -n open-cluster-management-agent-addon helloworldhosted-managed-kubeconfig \
  "--from-file=kubeconfig=$WORK/cluster2.kubeconfig"
available helloworldhosted cluster2`,
	}, {
		module: addonFramework,
		what:   "helloworld-template, an AddOnTemplate",
		result: "Available",
		script: `deploy helloworld-template
available hello-template cluster1`,
	}}
)

// allSteps are the steps of all tests, in the order of the documentation's table.
var allSteps = [][]step{managedServiceAccountSteps, managedServiceAccountTemplateSteps, exampleSteps, addonFrameworkSteps, addonFrameworkTokenSteps, clusterProxySteps}
