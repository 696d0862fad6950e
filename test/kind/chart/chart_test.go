package chart

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

const (
	chartDir = "../../../deploy/chart/helloworld-addon"
	baseDir  = "../../../deploy/base"
	// distributionDir adds the component deploy/distribution, monitoredDir deploy/monitoring/scrape as well.
	distributionDir = "testdata/distribution"
	monitoredDir    = "testdata/monitored"
)

// objects are manifests by kind, namespace and name.
type objects map[string]any

func (o objects) add(t *testing.T, text string) {
	t.Helper()
	for document := range strings.SplitSeq("\n"+text, "\n---\n") {
		var object map[string]any
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			t.Fatalf("%v in:\n%s", err, document)
		}
		if len(object) == 0 {
			continue
		}
		metadata, _ := object["metadata"].(map[string]any)
		name := fmt.Sprint(object["kind"], " ", metadata["namespace"], "/", metadata["name"])
		if _, twice := o[name]; twice {
			t.Errorf("%s is there twice", name)
		}
		o[name] = object
	}
}

func kustomized(t *testing.T, dir string) objects {
	t.Helper()
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		t.Fatal(err)
	}
	text, err := resources.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	all := objects{}
	all.add(t, string(text))
	return all
}

func templated(t *testing.T, values map[string]any) (objects, error) {
	t.Helper()
	loaded, err := loader.LoadDir(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	release := chartutil.ReleaseOptions{Name: "helloworld-addon", Namespace: "open-cluster-management", IsInstall: true}
	merged, err := chartutil.ToRenderValues(loaded, values, release, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(loaded, merged)
	if err != nil {
		return nil, err
	}
	all := objects{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if strings.HasSuffix(name, ".yaml") {
			all.add(t, files[name])
		}
	}
	return all, nil
}

// TestChartAndBaseAreTheSame: Helm and kustomize install the same objects.
func TestChartAndBaseAreTheSame(t *testing.T) {
	for dir, values := range map[string]map[string]any{baseDir: nil, distributionDir: distributed, monitoredDir: distributedAndMonitored} {
		chart, err := templated(t, values)
		if err != nil {
			t.Fatal(err)
		}
		base := kustomized(t, dir)
		base.add(t, readFile(t, deployDir+"/clustermanagementaddon.yaml"))
		if diff := cmp.Diff(base, chart); diff != "" {
			t.Errorf("%s (-kustomize +Helm chart):\n%s", dir, diff)
		}
	}
}

var (
	distributed             = map[string]any{"distribution": map[string]any{"enabled": true}}
	distributedAndMonitored = map[string]any{"distribution": map[string]any{"enabled": true},
		"serving": map[string]any{"certSecret": "helloworld-serving"}, "serviceMonitor": map[string]any{"enabled": true}}
)

// TestValues: each value changes what it says, and nothing else comes or goes.
func TestValues(t *testing.T) {
	cases := map[string]struct {
		reason  string
		values  map[string]any
		object  string
		want    string
		without string
	}{
		"an image by digest": {
			reason: "the agents get the controller's image",
			values: map[string]any{"image": map[string]any{"repository": "example.com/a", "digest": "sha256:" + strings.Repeat("0", 64)}},
			object: "Deployment open-cluster-management/helloworld-controller",
			want:   "value: example.com/a@sha256:" + strings.Repeat("0", 64),
		},
		"another image for the agents": {
			reason: "a mirror that the managed clusters reach",
			values: map[string]any{"agentImage": "mirror.example.com/a:v1"},
			object: "Deployment open-cluster-management/helloworld-controller",
			want:   "value: mirror.example.com/a:v1",
		},
		"verbosity": {
			reason: "a flag of the controller",
			values: map[string]any{"verbosity": 4},
			object: "Deployment open-cluster-management/helloworld-controller",
			want:   "- -v=4",
		},
		"metrics of each cluster": {
			reason: "a flag of the controller",
			values: map[string]any{"metricsPerCluster": true},
			object: "Deployment open-cluster-management/helloworld-controller",
			want:   "- --metrics-per-cluster",
		},
		"no ConfigMapReplicaSets": {
			reason:  "a program that is not installed is not scraped",
			values:  monitored(nil),
			without: "ServiceMonitor open-cluster-management/helloworld-replicaset-controller",
		},
		"a certificate of the other controller's own": {
			reason: "OpenShift issues one for each Service",
			values: ownCertificate,
			object: "Deployment open-cluster-management/helloworld-replicaset-controller",
			want:   "secretName: other",
		},
		"the certificate of the other controller by OpenShift": {
			reason: "the service CA operator issues it for an annotated Service",
			values: ownCertificate,
			object: "Service open-cluster-management/helloworld-replicaset-controller-metrics",
			want:   "service.beta.openshift.io/serving-cert-secret-name: other",
		},
		"the port of the API server": {
			reason: "a hub whose API server is at none of the usual ports",
			values: map[string]any{"networkPolicy": map[string]any{"apiServerPorts": []any{16443}}},
			object: "NetworkPolicy open-cluster-management/helloworld-controller",
			want:   "port: 16443",
		},
		"no network policy": {
			reason:  "it can be switched off",
			values:  map[string]any{"networkPolicy": map[string]any{"enabled": false}},
			without: "NetworkPolicy open-cluster-management/helloworld-controller",
		},
		"a serving certificate": {
			reason: "the controller serves with it",
			values: map[string]any{"serving": map[string]any{"certSecret": "cert"}},
			object: "Deployment open-cluster-management/helloworld-controller",
			want:   "- --tls-cert-file=/etc/serving/tls.crt\n        - --tls-private-key-file=/etc/serving/tls.key",
		},
		"the Secret of the certificate": {
			reason: "it is mounted where the flags say",
			values: map[string]any{"serving": map[string]any{"certSecret": "cert"}},
			object: "Deployment open-cluster-management/helloworld-controller",
			want:   "volumes:\n      - name: serving\n        secret:\n          secretName: cert",
		},
		"metrics for Prometheus": {
			reason: "the token goes to a server that Prometheus verifies by the certificate's own CA",
			values: monitored(nil),
			object: "ServiceMonitor open-cluster-management/helloworld-controller",
			want: "tlsConfig:\n      ca:\n        secret:\n          key: ca.crt\n          name: cert\n" +
				"      serverName: helloworld-controller-metrics.open-cluster-management.svc",
		},
		"metrics for Prometheus on OpenShift": {
			reason: "the service CA is in a ConfigMap",
			values: monitored(map[string]any{"caConfigMap": map[string]any{"name": "openshift-service-ca.crt", "key": "service-ca.crt"}}),
			object: "ServiceMonitor open-cluster-management/helloworld-controller",
			want:   "configMap:\n          key: service-ca.crt\n          name: openshift-service-ca.crt",
		},
		"a certificate by OpenShift": {
			reason: "the service CA operator issues it for an annotated Service",
			values: monitored(map[string]any{"serviceAnnotations": map[string]any{"service.beta.openshift.io/serving-cert-secret-name": "cert"}}),
			object: "Service open-cluster-management/helloworld-controller-metrics",
			want:   "service.beta.openshift.io/serving-cert-secret-name: cert",
		},
		"placements": {
			reason: "a label on a cluster installs the add-on",
			values: map[string]any{"clusterManagementAddOn": map[string]any{"installStrategy": map[string]any{
				"type": "Placements", "placements": []any{map[string]any{"name": "p", "namespace": "n"}},
			}}},
			object: "ClusterManagementAddOn <nil>/helloworld",
			want:   "type: Placements",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			all, err := templated(t, c.values)
			if err != nil {
				t.Fatal(err)
			}
			if _, there := all[c.without]; there {
				t.Errorf("%s: %s is there", c.reason, c.without)
			}
			if c.object == "" {
				return
			}
			text, err := yaml.Marshal(all[c.object])
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(text), c.want) {
				t.Errorf("%s: want %q in %s:\n%s", c.reason, c.want, c.object, text)
			}
		})
	}
}

// monitored returns values with a ServiceMonitor and a serving certificate.
func monitored(more map[string]any) map[string]any {
	monitor := map[string]any{"enabled": true}
	maps.Copy(monitor, more)
	return map[string]any{"serviceMonitor": monitor, "serving": map[string]any{"certSecret": "cert"}}
}

// ownCertificate are values with a certificate for each controller.
var ownCertificate = func() map[string]any {
	values := monitored(nil)
	values["distribution"] = map[string]any{"enabled": true, "serving": map[string]any{"certSecret": "other"},
		"serviceAnnotations": map[string]any{"service.beta.openshift.io/serving-cert-secret-name": "other"}}
	return values
}()

// TestMonitorNeedsCertificate: without one Prometheus would have to send its
// token to anyone.
func TestMonitorNeedsCertificate(t *testing.T) {
	_, err := templated(t, map[string]any{"serviceMonitor": map[string]any{"enabled": true}})
	if err == nil || !strings.Contains(err.Error(), "serviceMonitor.enabled needs serving.certSecret: name a Secret") {
		t.Errorf("got %v, want what to set", err)
	}
}

// TestNothingSkipsVerification: no value makes Prometheus skip it.
func TestNothingSkipsVerification(t *testing.T) {
	all, err := templated(t, monitored(nil))
	if err != nil {
		t.Fatal(err)
	}
	text, err := yaml.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "insecureSkipVerify") {
		t.Error("the chart sets insecureSkipVerify")
	}
}

// TestWrongValues: the schema refuses what could not work.
func TestWrongValues(t *testing.T) {
	cases := map[string]map[string]any{
		"a key that does not exist":    {"replica": 2},
		"a number as text":             {"replicas": "two"},
		"a strategy that is not there": {"clusterManagementAddOn": map[string]any{"installStrategy": map[string]any{"type": "All"}}},
		"an image with a blank":        {"agentImage": "a b"},
		"a port out of range":          {"networkPolicy": map[string]any{"apiServerPorts": []any{70000}}},
	}
	for name, values := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := templated(t, values); err == nil {
				t.Error("the chart takes it")
			}
		})
	}
}
