//go:build sandbox || pictures

package monitoring

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// serviceMonitor is what deploy/monitoring/scrape uses of a ServiceMonitor. A field that is not here fails the test, since it
// would be left out.
type serviceMonitor struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name, Namespace string
		Labels          map[string]string
	} `json:"metadata"`
	Spec struct {
		Selector  selector
		Endpoints []endpoint
	} `json:"spec"`
}

type selector struct{ MatchLabels map[string]string }

func (s selector) String() string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(s.MatchLabels)) {
		all = append(all, key+"="+s.MatchLabels[key])
	}
	return strings.Join(all, ",")
}

type endpoint struct {
	HonorLabels                         bool
	Port, Path, Scheme, BearerTokenFile string
	TLSConfig                           struct {
		ServerName string
		CA         struct{ Secret struct{ Name, Key string } }
	}
}

// monitored returns the targets of the ServiceMonitors, which Prometheus scrapes as the operator would let it: by the Services that
// they select, and the pods that those select.
func (l *live) monitored(t *testing.T) []target {
	t.Helper()
	var targets []target
	l.options = map[string]map[string]any{}
	for _, document := range strings.Split(read(t, top, "deploy/monitoring/scrape/servicemonitors.yaml"), "\n---\n") {
		var monitor serviceMonitor
		if err := yaml.UnmarshalStrict([]byte(document), &monitor); err != nil {
			t.Fatal(err)
		}
		for _, endpoint := range monitor.Spec.Endpoints {
			targets = append(targets, l.endpoints(t, monitor.Metadata.Namespace, monitor.Spec.Selector, endpoint)...)
		}
	}
	if want := 4; len(targets) != want {
		t.Fatalf("the ServiceMonitors select %d pods, want %d: %v", len(targets), want, targets)
	}
	return targets
}

func (l *live) endpoints(t *testing.T, namespace string, selected selector, e endpoint) []target {
	t.Helper()
	var services struct {
		Items []struct {
			Metadata struct{ Name string }
			Spec     struct {
				Selector map[string]string
				Ports    []struct{ Name, TargetPort string }
			}
		}
	}
	l.object(t, &services, "get", "services", "-n", namespace, "-l", selected.String())
	var targets []target
	for _, service := range services.Items {
		for _, port := range service.Spec.Ports {
			if port.Name != e.Port {
				continue
			}
			pods := l.kubectl(t, "hub", "get", "pods", "-n", namespace, "-l", selector{service.Spec.Selector}.String(), "-o", "name")
			for _, pod := range strings.Fields(pods) {
				address := l.forward(t, "hub", namespace, pod, port.TargetPort)
				name := strings.TrimPrefix(pod, "pod/")
				targets = append(targets, target{service.Metadata.Name, namespace, name, e.Scheme + "://" + address + e.Path})
				l.options[name] = l.optionsOf(t, namespace, e)
			}
		}
	}
	return targets
}

// optionsOf returns how Prometheus scrapes the endpoint. The token is that of the ServiceAccount in its pod.
func (l *live) optionsOf(t *testing.T, namespace string, e endpoint) map[string]any {
	t.Helper()
	var secret struct{ Data map[string]string }
	l.object(t, &secret, "get", "secret", "-n", namespace, e.TLSConfig.CA.Secret.Name)
	ca, err := base64.StdEncoding.DecodeString(secret.Data[e.TLSConfig.CA.Secret.Key])
	if err != nil || len(ca) == 0 {
		t.Fatalf("the Secret %s has no key %s, error %v", e.TLSConfig.CA.Secret.Name, e.TLSConfig.CA.Secret.Key, err)
	}
	if e.BearerTokenFile != "/var/run/secrets/kubernetes.io/serviceaccount/token" {
		t.Errorf("the token is in %q", e.BearerTokenFile)
	}
	return map[string]any{"honor_labels": e.HonorLabels, "authorization": map[string]any{"credentials": l.token},
		"tls_config": map[string]any{"ca": string(ca), "server_name": e.TLSConfig.ServerName}}
}

func (l *live) object(t *testing.T, object any, args ...string) {
	t.Helper()
	if err := json.Unmarshal([]byte(l.kubectl(t, "hub", append(args, "-o", "json")...)), object); err != nil {
		t.Fatalf("kubectl %s: %v", strings.Join(args, " "), err)
	}
}
