//go:build sandbox

package integration

import (
	"encoding/base64"
	"fmt"
	"path/filepath"
	"strings"

	"open-cluster-management.io/helloworld-addon/sandbox/pki"
)

// webhookPod is a webhook behind a Service whose port is not that of the pod. It refuses ConfigMaps
// with a label.
const webhookPod = `
apiVersion: v1
kind: Secret
metadata: {name: webhook, namespace: default}
data: {tls.crt: %[2]s, tls.key: %[3]s}
---
apiVersion: v1
kind: Pod
metadata: {name: webhook, namespace: default, labels: {app: webhook}}
spec:
  containers:
  - {name: webhook, image: webhook, command: [/webhook], volumeMounts: [{name: certs, mountPath: /certs}],
     readinessProbe: {tcpSocket: {port: 8443}, periodSeconds: 1}}
  volumes:
  - {name: certs, secret: {secretName: webhook}}
---
apiVersion: v1
kind: Service
metadata: {name: webhook, namespace: default}
spec: {selector: {app: webhook}, ports: [{port: 443, targetPort: 8443}]}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: webhook}
webhooks:
- name: webhook.example.com
  clientConfig: {service: {name: webhook, namespace: default}, caBundle: %[1]s}
  rules: [{apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: [CREATE]}]
  objectSelector: {matchLabels: {refused: "true"}}
  admissionReviewVersions: [v1]
  sideEffects: None
`

const refusedConfigMap = `{apiVersion: v1, kind: ConfigMap, metadata: {name: refused, namespace: default, labels: {refused: "true"}}}`

// requireServiceWebhook checks that the API server calls a webhook behind a Service of the cluster.
func (s *sandbox) requireServiceWebhook(cluster string) {
	s.t.Helper()
	image := s.t.TempDir()
	build(s.t, filepath.Join(image, "webhook"), "./cmd/webhook")
	if out, err := s.run(s.t.Context(), "image", "webhook="+image); err != nil {
		s.t.Fatalf("map the webhook's image: %v\n%s", err, out)
	}
	authority, err := pki.NewAuthority(s.t.TempDir(), "webhook-ca")
	if err != nil {
		s.t.Fatal(err)
	}
	pair, err := authority.Serving("webhook", "webhook.default.svc")
	if err != nil {
		s.t.Fatal(err)
	}
	encode := base64.StdEncoding.EncodeToString
	s.apply(cluster, fmt.Sprintf(webhookPod, encode(authority.PEM()), encode(pair.CertPEM), encode(pair.KeyPEM)))
	s.must(cluster, "wait", "--for=condition=Ready", "pod/webhook", "-n", "default", "--timeout=60s")

	file := s.file(refusedConfigMap)
	eventually(s.t, "the webhook of "+cluster+" is called", func() error {
		out, _ := s.kubectl(cluster, "create", "--dry-run=server", "-f", file)
		if !strings.Contains(out, "denied in a pod") {
			return fmt.Errorf("no denial in %s", out)
		}
		return nil
	})
}
