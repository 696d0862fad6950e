//go:build sandbox

package integration

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// namesPods are two servers behind Services of each kind, one of them with a hostname, and one that is
// never ready.
const namesPods = `
apiVersion: v1
kind: Pod
metadata: {name: one, namespace: default, labels: {app: web}}
spec:
  hostname: first
  subdomain: headless
  containers:
  - {name: c, image: names, command: [/names, serve, one], ports: [{name: web, containerPort: 8080}],
     readinessProbe: {httpGet: {path: /ready, port: web}, periodSeconds: 1, failureThreshold: 1}}
---
apiVersion: v1
kind: Pod
metadata: {name: two, namespace: default, labels: {app: web}}
spec:
  containers:
  - {name: c, image: names, command: [/names, serve, two], ports: [{name: web, containerPort: 8080}],
     readinessProbe: {httpGet: {path: /ready, port: web}, periodSeconds: 1, failureThreshold: 1}}
---
apiVersion: v1
kind: Pod
metadata: {name: never, namespace: default, labels: {app: never}}
spec:
  containers:
  - {name: c, image: names, command: [/names, serve, never], readinessProbe: {tcpSocket: {port: 1}, periodSeconds: 1}}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: default}
spec:
  selector: {app: web}
  ports: [{name: http, port: 80, targetPort: web}, {name: log, port: 514, targetPort: 8081, protocol: UDP}]
---
apiVersion: v1
kind: Service
metadata: {name: sticky, namespace: default}
spec: {selector: {app: web}, sessionAffinity: ClientIP, ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: v1
kind: Service
metadata: {name: headless, namespace: default}
spec: {selector: {app: web}, clusterIP: None, ports: [{name: http, port: 8080}]}
---
apiVersion: v1
kind: Service
metadata: {name: early, namespace: default}
spec: {selector: {app: never}, clusterIP: None, publishNotReadyAddresses: true}
---
apiVersion: v1
kind: Service
metadata: {name: never, namespace: default}
spec: {selector: {app: never}, ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: v1
kind: Service
metadata: {name: alias, namespace: default}
spec: {type: ExternalName, externalName: web.default.svc.cluster.local}
`

const namesClient = `
apiVersion: v1
kind: Pod
metadata: {name: client, namespace: default}
spec:
  containers: [{name: c, image: names, command: [/names, serve, client]}]
`

// TestServices reaches Services by their names and addresses from pods.
func TestServices(t *testing.T) {
	image := t.TempDir()
	build(t, filepath.Join(image, "names"), "./cmd/names")
	s := newSandbox(t)
	s.up("--clusters=1", "--image=names="+image)
	s.apply("cluster1", namesPods)
	s.apply("cluster1", namesClient)
	s.apply("hub", namesClient)
	s.must("hub", "wait", "--for=condition=Ready", "pod/client", "--timeout=30s")
	s.must("cluster1", "wait", "--for=condition=Ready", "pod/one", "pod/two", "pod/client", "--timeout=30s")
	eventually(t, "the pod that is never ready runs", func() error {
		out, err := s.kubectl("cluster1", "get", "pod", "never", "-o", "jsonpath={.status.podIP}{.status.phase}")
		return requireParts(out, err, "Running")
	})
	one, never := s.must("cluster1", "get", "pod", "one", "-o", "jsonpath={.status.podIP}"), s.must("cluster1", "get", "pod", "never", "-o", "jsonpath={.status.podIP}")
	two := s.must("cluster1", "get", "pod", "two", "-o", "jsonpath={.status.podIP}")
	web := s.must("cluster1", "get", "service", "web", "-o", "jsonpath={.spec.clusterIP}")
	addresses := one + " " + two
	if two < one {
		addresses = two + " " + one
	}
	for _, tt := range []struct{ want, args string }{
		{"one two", "get http://web 4"},
		{"one two", "get http://web.default.svc.cluster.local:80 4"},
		{"one two", "get http://" + web + " 4"},
		{"one two", "udp web:514 4"},
		{"one two", "get http://alias.default 4"},
		{web, "address web.default"},
		{addresses, "address headless"},
		{one, "address first.headless.default.svc"},
		{never, "address early"},
		{strings.ReplaceAll(two, ".", "-") + ".headless.default.svc.cluster.local.", "name " + two},
		{"web.default.svc.cluster.local.", "name " + web},
		{"web.default.svc.cluster.local.:80", "port http tcp web.default.svc.cluster.local"},
		{"web.default.svc.cluster.local.", "alias alias"},
		{"10.96.0.10", "address kube-dns.kube-system"},
	} {
		s.requireNames("cluster1", tt.want, tt.args)
	}
	if out, err := s.kubectl("cluster1", "exec", "client", "--", "/names", "get", "http://sticky", "4"); err != nil || strings.Contains(out, " ") {
		t.Errorf("a Service with affinity: got %q, %v, want one server", out, err)
	}
	if out, err := s.kubectl("cluster1", "exec", "client", "--", "/names", "api"); err != nil || !strings.Contains(out, "APIGroupList") {
		t.Errorf("kubernetes.default.svc: %v\n%s", err, out)
	}
	s.requireNoNames("cluster1", "connection refused", "get http://never 1")
	s.requireNoNames("cluster1", "no such host", "address www.example.com")
	s.requireNoNames("hub", "no such host", "address web")
	s.requireNoNames("hub", "connection refused", "get http://"+web+" 1")

	s.must("cluster1", "exec", "client", "--", "/names", "get", "http://"+one+":8080/unready", "1")
	s.requireNames("cluster1", "two", "get http://web 4")
	s.requireNames("cluster1", "two", "udp web:514 4")
	s.requireNames("cluster1", two, "address headless")
	s.must("cluster1", "delete", "pod", "two", "--wait=false")
	eventually(t, "no server is left", func() error { return s.noNames("cluster1", "connection refused", "get http://web 1") })
}

// requireNames waits until a client of the cluster prints the answer.
func (s *sandbox) requireNames(cluster, want, args string) {
	s.t.Helper()
	eventually(s.t, cluster+": "+args, func() error {
		out, err := s.kubectl(cluster, append([]string{"exec", "client", "--", "/names"}, strings.Fields(args)...)...)
		if err != nil || out != want {
			return fmt.Errorf("got %q, %w, want %q", out, err, want)
		}
		return nil
	})
}

// requireNoNames checks that a client of the cluster fails with the text at once: its own time-out has another one.
func (s *sandbox) requireNoNames(cluster, want, args string) {
	s.t.Helper()
	if err := s.noNames(cluster, want, args); err != nil {
		s.t.Error(err)
	}
}

// noNames returns an error unless a client of the cluster fails with the text.
func (s *sandbox) noNames(cluster, want, args string) error {
	out, err := s.kubectl(cluster, append([]string{"exec", "client", "--", "/names"}, strings.Fields(args)...)...)
	if err == nil || !strings.Contains(out, want) {
		return fmt.Errorf("%s: %s: got %q, %w, want %q", cluster, args, out, err, want)
	}
	return nil
}
