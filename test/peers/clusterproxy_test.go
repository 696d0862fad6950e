package peers

const clusterProxy = "open-cluster-management.io/cluster-proxy"

// clusterProxySteps send a request to a managed cluster's API server by the URL of the hub's user server. The names of
// the proxy server and, on the cluster, of the service proxy and the API server are resolved in pods. The token is one
// of the managed cluster, which the hub does not accept.
var clusterProxySteps = []step{{
	module: clusterProxy,
	what:   "its Helm chart; a request through the tunnel",
	result: "Available; answered by the managed cluster",
	script: `namespace=open-cluster-management-addon
install $namespace charts/cluster-proxy enableServiceProxy=true,userServer.enabled=true
available cluster-proxy cluster1
kubectl wait --for=condition=Available --timeout=2m -n $namespace deployment/cluster-proxy-addon-user
kubectl port-forward -n $namespace service/cluster-proxy-addon-user :9092 >"$WORK/forward" &
trap "kill $!" EXIT
for _ in {1..60}; do grep -q Forwarding "$WORK/forward" && break; sleep 0.5; done
port=$(sed -nE 's/.* 127\.0\.0\.1:([0-9]+) .*/\1/p' "$WORK/forward")
token=$(kubectl --kubeconfig="$CLUSTER1_KUBECONFIG" create token -n default default)
through() { kubectl --kubeconfig=/dev/null --server="https://localhost:$port/cluster1" --insecure-skip-tls-verify --token="$token" "$@"; }
for _ in {1..60}; do user=$(through auth whoami -o jsonpath='{.status.userInfo.username}') && break; sleep 1; done
[[ $user == system:serviceaccount:default:default ]] || { echo "through the tunnel the token is that of '$user'"; exit 1; }
`,
}}
