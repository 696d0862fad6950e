package ocm

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"open-cluster-management.io/helloworld-addon/sandbox/apply"
)

const conversion = `
spec: {conversion: {strategy: Webhook, webhook: {
  clientConfig: {caBundle: CA, service: {name: cluster-manager-addon-webhook, namespace: n, path: /convert, port: 9443}},
  conversionReviewVersions: [v1]}}}`

const admission = `
webhooks:
- name: one
  clientConfig: {caBundle: CA, service: {name: cluster-manager-registration-webhook, namespace: n, path: /mutate, port: 9443}}
- name: two
  clientConfig: {caBundle: CA, service: {name: cluster-manager-addon-webhook, namespace: n, path: /validate, port: 9443}}`

func TestCallByURL(t *testing.T) {
	servers := map[string]netip.AddrPort{
		"addon-webhook":        netip.MustParseAddrPort("10.0.0.2:9443"),
		"registration-webhook": netip.MustParseAddrPort("10.0.0.3:9443"),
	}
	for _, test := range []struct{ name, object, want string }{
		{"conversion", conversion, `
spec: {conversion: {strategy: Webhook, webhook: {
  clientConfig: {caBundle: CA, url: "https://10.0.0.2:9443/convert"},
  conversionReviewVersions: [v1]}}}`},
		{"admission", admission, `
webhooks:
- {name: one, clientConfig: {caBundle: CA, url: "https://10.0.0.3:9443/mutate"}}
- {name: two, clientConfig: {caBundle: CA, url: "https://10.0.0.2:9443/validate"}}`},
		{"a CRD without a webhook", `spec: {scope: Cluster}`, `spec: {scope: Cluster}`},
	} {
		got, want := decodeOne(t, test.object), decodeOne(t, test.want)
		if err := callByURL(got, servers); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		if diff := cmp.Diff(want.Object, got.Object); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
	unknown := strings.ReplaceAll(admission, "cluster-manager-addon-webhook", "cluster-manager-other-webhook")
	if err := callByURL(decodeOne(t, unknown), servers); err == nil || !strings.Contains(err.Error(), "cluster-manager-other-webhook") {
		t.Errorf("a Service without a server: error %v", err)
	}
}

func decodeOne(t *testing.T, document string) *unstructured.Unstructured {
	t.Helper()
	objects, err := apply.Decode([]byte(document))
	if err != nil || len(objects) != 1 {
		t.Fatalf("%d objects, %v", len(objects), err)
	}
	return objects[0]
}
