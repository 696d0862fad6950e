package status

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/yaml"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/internal/testing/hubobjects"
	"open-cluster-management.io/helloworld-addon/pkg/fleet/report"
	"open-cluster-management.io/helloworld-addon/pkg/kubectl/terminal"
)

// ask returns what the command prints.
func ask(t *testing.T, h *hub, o Options) (out, errOut string, err error) {
	t.Helper()
	streams, _, stdout, stderr := genericiooptions.NewTestIOStreams()
	err = show(t.Context(), o, h, clocktesting.NewFakeClock(now), streams)
	return stdout.String(), stderr.String(), err
}

// TestOutput compares each format with its golden file. docs/kubectl.md shows the table and the JSON.
func TestOutput(t *testing.T) {
	page, err := os.ReadFile("../../../docs/kubectl.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		file    string
		options Options
		inPage  bool
	}{
		{"table.txt", Options{}, true}, {"wide.txt", Options{Output: "wide"}, false},
		{"all.json", Options{Output: "json"}, false}, {"all.yaml", Options{Output: "yaml"}, false},
		{"one.json", Options{Clusters: []string{"cluster2"}, Output: "json"}, true},
	} {
		t.Run(c.file, func(t *testing.T) {
			out, errOut, err := ask(t, newFleet(t).serve(t), c.options)
			if !errors.Is(err, terminal.ErrNotWell) || errOut != "" {
				t.Errorf("got error %v, and %q; want only that an add-on is not well", err, errOut)
			}
			hubobjects.CheckGolden(t, c.file, out)
			if c.inPage && !strings.Contains(string(page), out) {
				t.Errorf("docs/kubectl.md does not show the output of testdata/%s", c.file)
			}
		})
	}
}

// TestDocuments: JSON and YAML hold the same, and both can be read into the Go type.
func TestDocuments(t *testing.T) {
	var fromJSON, fromYAML report.Report
	h := newFleet(t).serve(t)
	out, _, _ := ask(t, h, Options{Output: "json"})
	decoder := json.NewDecoder(strings.NewReader(out))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&fromJSON); err != nil {
		t.Fatal(err)
	}
	out, _, _ = ask(t, h, Options{Output: "yaml"})
	if err := yaml.UnmarshalStrict([]byte(out), &fromYAML); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fromJSON, fromYAML); diff != "" {
		t.Error("JSON and YAML differ:\n" + diff)
	}
	if fromJSON.APIVersion != "status.helloworld.open-cluster-management.io/v1alpha1" || fromJSON.Kind != "FleetStatus" || len(fromJSON.Clusters) != 6 {
		t.Errorf("got %s, %s with %d clusters", fromJSON.APIVersion, fromJSON.Kind, len(fromJSON.Clusters))
	}
}

// names returns the clusters of a JSON document.
func names(t *testing.T, out string) []string {
	t.Helper()
	var r report.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("%v in %q", err, out)
	}
	all := []string{}
	for _, row := range r.Clusters {
		all = append(all, row.Name)
	}
	slices.Sort(all)
	return all
}

func TestSelection(t *testing.T) {
	for _, c := range []struct {
		name, reason string
		options      Options
		want         []string
		err          string
	}{
		{"all", "also a cluster with the add-on alone", Options{}, []string{"cluster1", "cluster2", "cluster3", "cluster4", "cluster5", "cluster6"}, terminal.ErrNotWell.Error()},
		{"names", "", Options{Clusters: []string{"cluster4", "cluster1"}}, []string{"cluster1", "cluster4"}, ""},
		{"a name without ManagedCluster", "it has the add-on", Options{Clusters: []string{"cluster6"}}, []string{"cluster6"}, terminal.ErrNotWell.Error()},
		{"a name that is not there", "the others are reported", Options{Clusters: []string{"cluster1", "claster"}}, []string{"cluster1"}, `cluster "claster" not found`},
		{"labels", "a cluster without ManagedCluster has none", Options{Selector: "region in (eu,us),region!=us"}, []string{"cluster1", "cluster2"}, terminal.ErrNotWell.Error()},
		{"labels that none has", "it is not an error", Options{Selector: "region=mars"}, []string{}, ""},
		{"a set by its label", "OCM's default", Options{ClusterSet: "prod"}, []string{"cluster1"}, ""},
		{"a set by a label selector", "OCM's other kind", Options{ClusterSet: "us"}, []string{"cluster3", "cluster4"}, terminal.ErrNotWell.Error()},
		{"the global set", "an empty label selector selects all", Options{ClusterSet: "global"},
			[]string{"cluster1", "cluster2", "cluster3", "cluster4", "cluster5"}, terminal.ErrNotWell.Error()},
		{"a set and labels", "both", Options{ClusterSet: "us", Selector: "region!=us"}, []string{}, ""},
		{"a set that is not there", "a spelling mistake", Options{ClusterSet: "prof"}, nil, "there is no such ManagedClusterSet"},
		{"a set that selects nothing", "it has no label selector", Options{ClusterSet: "nothing"}, nil, "selects no cluster"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.options.Output = "json"
			out, _, err := ask(t, newFleet(t).serve(t), c.options)
			hubobjects.CheckError(t, err, c.err)
			if c.want == nil {
				if out != "" {
					t.Errorf("got %q, want nothing", out)
				}
				return
			}
			if diff := cmp.Diff(c.want, names(t, out)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// TestUnreadable: what may not be read is told, and the rest is reported.
func TestUnreadable(t *testing.T) {
	slow := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	cut := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(text)) }
	}
	for _, c := range []struct {
		name, reason string
		refuse       map[string]http.HandlerFunc
		row          string // of cluster1, without its times
		warning, err string
	}{
		{"ManagedClusters forbidden", "the add-ons' clusters are reported", map[string]http.HandlerFunc{clustersPath: forbidden("managedclusters")},
			"cluster1 Synced true True 3/3 - v0.1.0", "warning: cannot read ManagedClusters, so clusters without the add-on are missing: managedclusters is forbidden", terminal.ErrNotWell.Error()},
		{"ManagedClusterAddOns forbidden", "the rest is known", map[string]http.HandlerFunc{addOnsPath: forbidden("managedclusteraddons")},
			"cluster1 Unknown false - 3/3 - v0.1.0", "warning: cannot read ManagedClusterAddOns, so how the add-on is on the clusters is not known: managedclusteraddons is forbidden",
			"whether the add-on is well is not known"},
		{"ConfigMapMirrors forbidden", "the condition has numbers", map[string]http.HandlerFunc{mirrorsPath: forbidden("configmapmirrors")},
			"cluster1 Synced true True 3/3 - v0.1.0", "warning: cannot read ConfigMapMirrors, so SYNCED is from the condition ConfigMapsSynced: configmapmirrors is forbidden", terminal.ErrNotWell.Error()},
		{"ConfigMapMirrors not served", "an older version of the add-on", map[string]http.HandlerFunc{mirrorsPath: notServed},
			"cluster1 Synced true True 3/3 - v0.1.0", "", terminal.ErrNotWell.Error()},
		{"ManifestWorks forbidden", "they hold more than the add-on's", map[string]http.HandlerFunc{worksPath: forbidden("manifestworks")},
			"cluster1 Synced true True 3/3 - -", "warning: cannot read ManifestWorks, so AGENT is not known: manifestworks is forbidden", terminal.ErrNotWell.Error()},
		{"ManifestWorks too slow", "each request has a timeout", map[string]http.HandlerFunc{worksPath: slow},
			"cluster1 Synced true True 3/3 - -", "warning: cannot read ManifestWorks, so AGENT is not known: no answer within 3s", terminal.ErrNotWell.Error()},
		{"an answer that is cut off", "half a list is none", map[string]http.HandlerFunc{mirrorsPath: cut(`{"items":[{"metadata":{"name":"helloworld"}}`)},
			"cluster1 Synced true True 3/3 - v0.1.0", "warning: cannot read ConfigMapMirrors, so SYNCED is from the condition ConfigMapsSynced: decode a list", terminal.ErrNotWell.Error()},
		{"an answer without its end", "the next page would be missing", map[string]http.HandlerFunc{mirrorsPath: cut(`{"items":[]`)},
			"cluster1 Synced true True 3/3 - v0.1.0", "warning: cannot read ConfigMapMirrors, so SYNCED is from the condition ConfigMapsSynced: decode a list", terminal.ErrNotWell.Error()},
		{"ClusterManagementAddOn forbidden", "it is not needed", map[string]http.HandlerFunc{managingPath + "/helloworld": forbidden("clustermanagementaddons")},
			"cluster1 Synced true True 3/3 - v0.1.0", "", terminal.ErrNotWell.Error()},
		{"only v1beta1 is served", "a later OCM", map[string]http.HandlerFunc{addOnsPath: notServed},
			"cluster1 Synced true True 3/3 - v0.1.0", "", terminal.ErrNotWell.Error()},
		{"all forbidden", "there is nothing to report", map[string]http.HandlerFunc{clustersPath: forbidden("managedclusters"), addOnsPath: forbidden("managedclusteraddons"),
			mirrorsPath: forbidden("configmapmirrors"), worksPath: forbidden("manifestworks")}, "", "", "managedclusteraddons is forbidden"},
		{"no hub", "another cluster's kubeconfig", map[string]http.HandlerFunc{clustersPath: notServed, addOnsPath: notServed, newAddOns: notServed, worksPath: notServed},
			"", "", "is not a hub of Open Cluster Management: it serves no ManagedClusters; name the hub by --context or --kubeconfig"},
		{"no add-on API", "a hub without add-ons", map[string]http.HandlerFunc{addOnsPath: notServed, newAddOns: notServed}, "", "", "it serves no ManagedClusterAddOns"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFleet(t)
			if c.name == "only v1beta1 is served" {
				f.objects[newAddOns] = f.objects[addOnsPath]
			}
			f.refuse = c.refuse
			h := f.serve(t)
			h.Timeout = 30 * time.Second
			if strings.Contains(c.warning, "3s") {
				h.Timeout = 3 * time.Second
			}
			out, errOut, err := ask(t, h, Options{})
			hubobjects.CheckError(t, err, c.err)
			if !strings.HasPrefix(errOut, c.warning) || (c.warning == "") != (errOut == "") || strings.Count(errOut, "\n") > 1 {
				t.Errorf("got warnings %q, want %q: %s", errOut, c.warning, c.reason)
			}
			if row := rowOf(out, "cluster1"); !strings.HasPrefix(row, c.row) || (c.row == "") != (out == "") {
				t.Errorf("got %q, want %q: %s", row, c.row, c.reason)
			}
		})
	}
}

// rowOf returns the row of a cluster, with single spaces.
func rowOf(out, cluster string) string {
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, cluster+" ") {
			return strings.Join(strings.Fields(line), " ")
		}
	}
	return ""
}

// TestSelectionUnreadable: without the ManagedClusters no cluster can be selected.
func TestSelectionUnreadable(t *testing.T) {
	f := newFleet(t)
	f.refuse[clustersPath] = forbidden("managedclusters")
	out, _, err := ask(t, f.serve(t), Options{Selector: "region=eu"})
	hubobjects.CheckError(t, err, "list ManagedClusters by labels: managedclusters is forbidden")
	if out != "" {
		t.Errorf("got %q as well", out)
	}
}

// TestTimeout: --request-timeout is that of a page, and not that of a watch.
func TestTimeout(t *testing.T) {
	h, err := newHub(&rest.Config{Host: "http://127.0.0.1:1", Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if got := h.REST.(*rest.RESTClient).Client.Timeout; got != 0 || h.Timeout != time.Minute {
		t.Errorf("a request may take %s, a page %s", got, h.Timeout)
	}
}

// TestNotInstalled: one sentence tells what to do, as long as no cluster has the add-on.
func TestNotInstalled(t *testing.T) {
	f := newFakeHub()
	f.put(clustersPath, managed("cluster1", nil))
	f.objects[managingPath] = nil
	h := f.serve(t)
	out, errOut, err := ask(t, h, Options{})
	hubobjects.CheckError(t, err, "the add-on is not installed on the hub "+h.Host+": there is no ClusterManagementAddOn helloworld; to install it: https://")
	if out != "" || errOut != "" {
		t.Errorf("got %q and %q as well", out, errOut)
	}
	f.put(addOnsPath, addOn("cluster1", isAvailable, isSynced))
	if out, _, err = ask(t, h, Options{}); err != nil || !strings.Contains(out, "Synced") {
		t.Errorf("a cluster has the add-on: got error %v and %q", err, out)
	}
}

// TestUnreachable: the API server does not answer, or there is none.
func TestUnreachable(t *testing.T) {
	late := newFakeHub().serve(t)
	late.Timeout = time.Nanosecond
	away, err := newHub(&rest.Config{Host: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	for want, h := range map[string]*hub{
		"list ManagedClusterAddOns of " + late.Host + ": no answer within 1ns (--request-timeout sets another time)": late,
		"list ManagedClusterAddOns of http://127.0.0.1:1: dial tcp 127.0.0.1:1: connect: connection refused":         away,
	} {
		out, errOut, err := ask(t, h, Options{})
		hubobjects.CheckError(t, err, want)
		if out != "" || errOut != "" {
			t.Errorf("got %q and %q as well", out, errOut)
		}
	}
}

func TestEmpty(t *testing.T) {
	out, errOut, err := ask(t, newFakeHub().serve(t), Options{})
	if out != "No clusters found.\n" || errOut != "" || err != nil {
		t.Errorf("got %q, %q and error %v", out, errOut, err)
	}
}

// TestRequests: 1,001 clusters take three pages of each list, and no request for a single one.
func TestRequests(t *testing.T) {
	f := newFakeHub()
	for i := range 1001 {
		name := "cluster" + strings.Repeat("0", 4-len(itoa(i))) + itoa(i)
		f.put(clustersPath, managed(name, nil))
		f.put(addOnsPath, addOn(name, isAvailable, isSynced))
		f.put(mirrorsPath, mirror(name, 3, 3))
		f.put(worksPath, work(t, name, image, true))
	}
	out, _, err := ask(t, f.serve(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if want := "1001 clusters, 1001 with the add-on: 1001 well, 0 not. 3003 of 3003 ConfigMaps synced.\n"; !strings.HasSuffix(out, want) {
		t.Errorf("the totals are not %q: %q", want, out[len(out)-100:])
	}
	const own = "fieldSelector=metadata.name%3Dhelloworld&limit=500"
	want := []string{managingPath + "/helloworld"}
	for _, page := range []string{"", "continue=1000&", "continue=500&"} {
		want = append(want, addOnsPath+"?"+page+own, clustersPath+"?"+page+"limit=500", mirrorsPath+"?"+page+own,
			worksPath+"?"+page+"labelSelector=open-cluster-management.io%2Faddon-name%3Dhelloworld&limit=500")
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, f.paths()); diff != "" {
		t.Error("requests (-want +got):\n" + diff)
	}
}

func itoa(i int) string { return string(mustJSON(i)) }

func mustJSON(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}

// TestFacts: what the objects tell.
func TestFacts(t *testing.T) {
	read := func(t *testing.T, resource int, object any) (entry, report.Facts) {
		t.Helper()
		var facts report.Facts
		e, err := resourcesFor("")[resource].read(func(into any) error { return json.Unmarshal(mustJSON(object), into) })
		if err != nil {
			t.Fatal(err)
		}
		if e.fill != nil {
			e.fill(&facts)
		}
		return e, facts
	}
	t.Run("manifests of another form", func(t *testing.T) {
		object := work(t, "x", "example.com/a:v1", true)
		strange := []workv1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(`{"kind":"Deployment","spec":"x"}`)}},
			{RawExtension: runtime.RawExtension{Raw: []byte(`{"metadata":{"labels":{"a":1}}}`)}}}
		object.Spec.Workload.Manifests = append(strange, object.Spec.Workload.Manifests...)
		if _, facts := read(t, works, object); facts.Agent == nil || facts.Agent.Image != "example.com/a:v1" {
			t.Errorf("got %+v", facts.Agent)
		}
	})
	t.Run("a mirror without a report", func(t *testing.T) {
		object := mirror("x", 0, 0)
		object.Status = nil
		if _, facts := read(t, mirrors, object); facts.Mirror != nil {
			t.Errorf("got %+v", facts.Mirror)
		}
	})
	t.Run("groups of a mirror", func(t *testing.T) {
		one := func(name string, state v1alpha1.MirrorState, since time.Duration) v1alpha1.MirroredConfigMap {
			return v1alpha1.MirroredConfigMap{Name: name, State: state, Message: "why", Since: ago(since)}
		}
		_, facts := read(t, mirrors, mirror("x", 9, 5, one("a", v1alpha1.MirrorConflict, time.Minute), one("b", v1alpha1.MirrorConflict, time.Hour),
			one("c", v1alpha1.MirrorConflict, time.Second), one("d", v1alpha1.MirrorFailed, time.Minute), one("e", v1alpha1.MirrorSynced, time.Minute)))
		want := &report.Mirror{Total: 9, Synced: 5, NotSynced: map[v1alpha1.MirrorState]report.Group{
			v1alpha1.MirrorConflict: {Count: 3, Since: ago(time.Hour), Message: "ConfigMap b: why"},
			v1alpha1.MirrorFailed:   {Count: 1, Since: ago(time.Minute), Message: "ConfigMap d: why"}}}
		if diff := cmp.Diff(want, facts.Mirror); diff != "" {
			t.Error("(-want +got):\n" + diff)
		}
	})
	t.Run("works", func(t *testing.T) {
		hook := work(t, "x", image, true)
		hook.Spec.Workload.Manifests = hook.Spec.Workload.Manifests[:1]
		if e, _ := read(t, works, hook); e.fill != nil {
			t.Error("a ManifestWork without the agent tells something")
		}
		hosted := work(t, "host", image, true)
		hosted.Labels["open-cluster-management.io/addon-namespace"] = "x"
		e, facts := read(t, works, hosted)
		if diff := cmp.Diff(&report.Agent{Work: "host", Image: image, Running: true}, facts.Agent); diff != "" || e.cluster != "x" {
			t.Errorf("hosted: cluster %s (-want +got):\n%s", e.cluster, diff)
		}
		stale := work(t, "x", image, true)
		stale.Generation++
		if _, facts := read(t, works, stale); facts.Agent.Running {
			t.Error("a ManifestWork that is not applied is reported as running")
		}
		down := work(t, "x", image, false)
		if _, facts := read(t, works, down); facts.Agent.Running {
			t.Error("a Deployment that is not available is reported as running")
		}
	})
	t.Run("hosted add-on", func(t *testing.T) {
		o := addOn("x")
		o.Annotations = map[string]string{"addon.open-cluster-management.io/hosting-cluster-name": "host"}
		if _, facts := read(t, addOns, o); facts.AddOn.HostingCluster != "host" {
			t.Errorf("got %+v", facts.AddOn)
		}
	})
}
