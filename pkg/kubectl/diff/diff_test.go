package diff

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/internal/testing/hubobjects"
	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/hub/replicaset/render"
	"open-cluster-management.io/helloworld-addon/pkg/kubectl/terminal"
)

const (
	managedCluster = "apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\nmetadata: {name: %[1]s, labels: {region: %[2]s}}"
	addOn          = "apiVersion: addon.open-cluster-management.io/v1alpha1\nkind: ManagedClusterAddOn\nmetadata: {name: helloworld, namespace: %s}"
	mirror         = "apiVersion: helloworld.open-cluster-management.io/v1alpha1\nkind: ConfigMapMirror\nmetadata: {name: helloworld, namespace: %s}\n" +
		"status: {total: 2, synced: 1, configMaps: [%s]}"
	conflict  = "{name: settings, state: Conflict, message: 'ConfigMap open-cluster-management-agent-addon/settings on cluster c4 is not a copy', since: '2026-11-23T11:00:00Z'}"
	placement = "apiVersion: cluster.open-cluster-management.io/v1beta1\nkind: Placement\nmetadata: {name: fleet, namespace: team-a}\n" +
		"status: {numberOfSelectedClusters: %d, conditions: [{type: PlacementSatisfied, status: 'True', lastTransitionTime: '2026-11-23T11:00:00Z', reason: a, message: b}], " +
		"decisionGroups: [{decisionGroupIndex: 0, clusterCount: %[1]d, decisions: [%s]}]}"
	decision = "apiVersion: cluster.open-cluster-management.io/v1beta1\nkind: PlacementDecision\n" +
		"metadata: {name: %s, namespace: team-a, labels: {cluster.open-cluster-management.io/placement: fleet}}\nstatus: {decisions: [%s]}"
	source = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: team-a}\ndata: {level: %s, region: $(REGION), url: 'https://$(NAME).example.com'}"
	set    = "apiVersion: helloworld.open-cluster-management.io/v1alpha1\nkind: ConfigMapReplicaSet\n" +
		"metadata: {name: settings, namespace: team-a, creationTimestamp: '2026-11-23T10:00:00Z'}\n" +
		"spec: {configMaps: [{name: settings}], placementRefs: [{name: fleet}], values: [{name: REGION, label: region}, {name: NAME, expression: cluster.metadata.name}]}"
	plain = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: %s}\ndata: {level: %s}"
)

// newFleetHub returns a hub with six clusters that the Placement team-a/fleet selects. The set team-a/settings has its ConfigMap on all
// but c3, which has one of another owner, and c5, which does not have the add-on. On c4 is a conflict.
func newFleetHub(t *testing.T) *fakeHub {
	t.Helper()
	f := newFakeHub()
	for _, c := range []string{"c1", "c2", "c3", "c4", "c5", "c6"} {
		region := "eu"
		if c == "c2" {
			region = "us"
		}
		f.put(t, fmt.Sprintf(managedCluster, c, region))
		if c != "c5" {
			f.put(t, fmt.Sprintf(addOn, c))
			f.put(t, fmt.Sprintf(mirror, c, map[bool]string{true: conflict}[c == "c4"]))
		}
	}
	f.put(t, fmt.Sprintf(placement, 6, "one, two"))
	f.put(t, fmt.Sprintf(decision, "one", "{clusterName: c1}, {clusterName: c2}, {clusterName: c3}"))
	f.put(t, fmt.Sprintf(decision, "two", "{clusterName: c4}, {clusterName: c5}, {clusterName: c6}"))
	f.put(t, set)
	f.put(t, fmt.Sprintf(source, "info"))
	f.put(t, fmt.Sprintf(plain, "settings", "c3", "own"))
	f.put(t, fmt.Sprintf(plain, "other", "c1", "info"))
	f.deliver(t, "c1", "eu")
	f.deliver(t, "c2", "us")
	f.deliver(t, "c4", "eu")
	f.deliver(t, "c6", "eu")
	return f
}

// deliver stores what the set has on a cluster.
func (f *fakeHub) deliver(t *testing.T, cluster, region string) {
	t.Helper()
	_, hash, err := render.NewRevision([]render.Content{{Name: "settings", Data: map[string]string{"level": "info", "region": "$(REGION)", "url": "https://$(NAME).example.com"}}},
		[]v1alpha1.Value{{Name: "REGION", Label: "region"}, {Name: "NAME", Expression: "cluster.metadata.name"}}).Encode()
	if err != nil {
		t.Fatal(err)
	}
	f.put(t, fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: %[1]s, labels: {%[3]s: %[4]s, %[5]s: uid-team-a-settings}, "+
		"annotations: {%[6]s: team-a/settings, %[7]s: '%[8]s', %[9]s: '2026-11-23T10:00:00Z'}}\ndata: {level: info, region: %[2]s, url: 'https://%[1]s.example.com'}",
		cluster, region, manifests.ManagedByLabel, manifests.ManagedByReplicaSet, manifests.ReplicaSetUIDLabel, manifests.ReplicaSetAnnotation,
		manifests.RevisionAnnotation, hash, manifests.RevisionSinceAnnotation))
}

// write writes a file, and returns its path.
func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// changed is a file that changes a source, a ConfigMap of a cluster, one that is excluded, and one for nobody.
var changed = fmt.Sprintf(source, "debug") + "\n---\n" + fmt.Sprintf(plain, "other", "c1", "debug") + "\n---\n" +
	fmt.Sprintf(plain, "kube-root-ca.crt", "c2", "x") + "\n---\n" + fmt.Sprintf(plain, "lost", "nowhere", "x") +
	"\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {password: do-not-print}"

// TestDiff prints the answer of a small fleet.
func TestDiff(t *testing.T) {
	for _, c := range []struct {
		golden, reason string
		arguments      []string
		setUp          func(f *fakeHub)
		code           int
	}{
		{"diff.txt", "clusters with the same change are one group", nil, nil, 1},
		{"wide.txt", "every name", []string{"-o", "wide"}, nil, 1},
		{"diff.json", "for a program", []string{"-o", "json"}, nil, 1},
		{"narrowed.txt", "some clusters, with what is about them", []string{"c1", "c3"}, nil, 1},
		{"labels.txt", "clusters by labels", []string{"-l", "region=us"}, nil, 1},
		{"server-side.txt", "server-side apply", []string{"--server-side", "c1"}, nil, 1},
		{"no-rights.txt", "a team that may read and write its namespace alone", nil, func(f *fakeHub) {
			for _, list := range []string{"/api/v1/configmaps", "/apis/helloworld.open-cluster-management.io/v1alpha1/configmapreplicasets"} {
				f.refuse["GET "+list] = forbidden("list", list[strings.LastIndex(list, "/")+1:])
			}
			for _, c := range []string{"c1", "c2", "c3", "c4", "c5", "c6", "team-a", "nowhere"} {
				f.refuse["GET /apis/cluster.open-cluster-management.io/v1/managedclusters/"+c] = forbidden("get", "managedclusters")
				f.refuse["GET /apis/addon.open-cluster-management.io/v1alpha1/namespaces/"+c+"/managedclusteraddons/helloworld"] = forbidden("get", "managedclusteraddons")
				f.refuse["GET /apis/helloworld.open-cluster-management.io/v1alpha1/namespaces/"+c+"/configmapmirrors/helloworld"] = forbidden("get", "configmapmirrors")
			}
			for _, path := range []string{"c1/configmaps/other", "team-a/configmaps/settings"} {
				f.refuse["PATCH /api/v1/namespaces/"+path] = forbidden("patch", "configmaps")
			}
			f.refuse["POST /api/v1/namespaces/c2/configmaps"] = forbidden("create", "configmaps")
		}, 2},
	} {
		t.Run(c.golden, func(t *testing.T) {
			f := newFleetHub(t)
			if c.setUp != nil {
				c.setUp(f)
			}
			stdout, stderr, err := f.run(t, "", append([]string{"-f", write(t, changed)}, c.arguments...)...)
			if code, _ := terminal.ExitCode(err); code != c.code {
				t.Errorf("exit code %d, error %v: %s", code, err, c.reason)
			}
			hubobjects.CheckGolden(t, c.golden, stdout+"--- standard error\n"+stderr)
			if strings.Contains(stdout+stderr, "do-not-print") {
				t.Error("the content of a Secret is printed")
			}
		})
	}
}

// TestExitCode: 0 for no change, 2 where there is no answer, with the reason.
func TestExitCode(t *testing.T) {
	refused := func(path string, handler http.HandlerFunc) func(f *fakeHub) {
		return func(f *fakeHub) { f.refuse[path] = handler }
	}
	other := fmt.Sprintf(plain, "other", "c1", "debug")
	for _, c := range []struct {
		name, reason string
		file         string
		arguments    []string
		setUp        func(f *fakeHub)
		code         int
		out, message string
	}{
		{"as it is", "nothing changes", fmt.Sprintf(source, "info"), nil, nil, 0, "No cluster changes.", ""},
		{"excluded", "nothing changes on a cluster", fmt.Sprintf(plain, "kube-root-ca.crt", "c1", "x"), nil, nil, 0, "Note, Excluded on c1: ", ""},
		{"a quota", "kubectl apply fails", fmt.Sprintf(plain, "new", "c1", "x"), nil,
			refused("POST /api/v1/namespaces/c1/configmaps", answer(403, metav1.StatusReasonForbidden, `configmaps "new" is forbidden: exceeded quota: few`)), 2,
			"Incomplete, Refused: ConfigMap c1/new: the API server refuses it: configmaps \"new\" is forbidden: exceeded quota: few", "the answer is not complete"},
		{"immutable", "the message has what to do", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: fixed, namespace: c1}\ndata: {a: '2'}", nil,
			func(f *fakeHub) {
				f.put(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: fixed, namespace: c1}\ndata: {a: '1'}\nimmutable: true")
			}, 2, ": delete it, and apply it again: kubectl delete configmap -n c1 fixed", "the answer is not complete"},
		{"no right to write", "the rest is as kubectl apply does it", other, nil, refused("PATCH /api/v1/namespaces/c1/configmaps/other", forbidden("patch", "configmaps")), 1,
			"+  level: debug", ""},
		{"no dry run", "a webhook has side effects", other, nil, refused("PATCH /api/v1/namespaces/c1/configmaps/other",
			answer(400, metav1.StatusReasonBadRequest, `admission webhook "x" does not support dry run`)), 1, "+  level: debug", ""},
		{"no right to write on the server side", "managed fields are known to the API server alone", other, []string{"--server-side"},
			refused("PATCH /api/v1/namespaces/c1/configmaps/other", forbidden("patch", "configmaps")), 2, "Incomplete, Refused", "the answer is not complete"},
		{"overloaded", "that is no judgement of the object", other, nil, refused("PATCH /api/v1/namespaces/c1/configmaps/other",
			answer(503, metav1.StatusReasonServiceUnavailable, "later")), 2, "Incomplete, NotAsked", "the answer is not complete"},
		{"no right to read", "there is nothing to compare with", other, nil, refused("GET /api/v1/namespaces/c1/configmaps/other", forbidden("get", "configmaps")), 2,
			"Incomplete, NotRead", "the answer is not complete"},
		{"ConfigMaps not read", "the clusters have what the source makes now", fmt.Sprintf(source, "debug"), nil, refused("GET /api/v1/configmaps", forbidden("list", "configmaps")), 1,
			"-  level: info\n+  level: debug", ""},
		{"sources not read", "the answer would be wrong", strings.Replace(set, "[{name: settings}]", "[{name: settings}, {name: more}]", 1), nil,
			refused("GET /api/v1/namespaces/team-a/configmaps/more", forbidden("get", "configmaps")), 2, "", "get ConfigMap team-a/more, a source: "},
		{"Placement not read", "", fmt.Sprintf(source, "debug"), nil, refused("GET /apis/cluster.open-cluster-management.io/v1beta1/namespaces/team-a/placementdecisions",
			forbidden("list", "placementdecisions")), 2, "Incomplete, PlacementNotReadable", "the answer is not complete"},
		{"no sets", "a ConfigMap is no source there", other, nil, func(f *fakeHub) { f.notServed = "/helloworld." }, 1, "+  level: debug", ""},
		{"a set and no API for it", "the controller is optional", set, nil, func(f *fakeHub) { f.notServed = "/helloworld." }, 2, "",
			"this hub does not serve ConfigMapReplicaSets: their controller is optional, see docs/install.md#distribution"},
		{"no hub", "", other, nil, func(f *fakeHub) { f.notServed = "/cluster." }, 2, "", "is not a hub of Open Cluster Management"},
		{"an unknown cluster", "", other, []string{"c9", "c1"}, nil, 2, "", "there is no ManagedCluster c9"},
		{"labels not read", "", other, []string{"-l", "a=b"}, refused("GET /apis/cluster.open-cluster-management.io/v1/managedclusters/c1", forbidden("get", "managedclusters")), 2, "",
			"read ManagedClusters by labels: "},
		{"a new namespace", "it is applied with the ConfigMap", "apiVersion: v1\nkind: Namespace\nmetadata: {name: new}\n---\n" + fmt.Sprintf(plain, "a", "new", "x"), nil,
			refused("POST /api/v1/namespaces/new/configmaps", answer(404, metav1.StatusReasonNotFound, `namespaces "new" not found`)), 0, "Note, NoCluster: ", ""},
		{"a namespace that is missing", "kubectl apply fails", fmt.Sprintf(plain, "a", "new", "x"), nil,
			refused("POST /api/v1/namespaces/new/configmaps", answer(404, metav1.StatusReasonNotFound, `namespaces "new" not found`)), 2, `namespaces "new" not found`, "the answer is not complete"},

		{"no file", "", "", []string{"c1"}, nil, 2, "", "name the files by -f, or a kustomization by -k"},
		{"bad YAML", "", "a: b: c", nil, nil, 2, "", "read the files: error parsing "},
		{"wrong flags", "all are named", other, []string{"-o", "xml", "-l", "a b", "c1", "--force-conflicts"}, nil, 2, "",
			"--output=xml: use one of wide, json, yaml, or none for unified diffs\n--selector=a b: "},
		{"another namespace", "as in kubectl", other, []string{"-n", "c2"}, nil, 2, "", "ConfigMap c1/other is in namespace c1, and --namespace is c2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFleetHub(t)
			if c.setUp != nil {
				c.setUp(f)
			}
			arguments := c.arguments
			if c.file != "" {
				arguments = append([]string{"-f", write(t, c.file)}, c.arguments...)
			}
			stdout, stderr, err := f.run(t, "", arguments...)
			if !errors.Is(err, terminal.ErrDiffers) {
				hubobjects.CheckError(t, err, c.message)
			}
			if code, printed := terminal.ExitCode(err); code != c.code || printed != (code == 2) || !strings.Contains(stdout, c.out) {
				t.Errorf("%s: exit code %d, want %d; error %v; output without %q:\n%s%s", c.reason, code, c.code, err, c.out, stdout, stderr)
			}
		})
	}
}

// TestPathsAsNames: what a file names cannot make the program read another kind of object.
func TestPathsAsNames(t *testing.T) {
	bad := strings.NewReplacer("name: settings, namespace", "name: bad, namespace", "{name: settings}", "{name: ../secrets/s}", "{name: fleet}", "{name: ../../x/placements/fleet}").Replace(set)
	f := newFleetHub(t)
	f.refuse["POST /apis/helloworld.open-cluster-management.io/v1alpha1/namespaces/team-a/configmapreplicasets"] = forbidden("create", "configmapreplicasets")
	_, _, err := f.run(t, "", "-f", write(t, bad))
	hubobjects.CheckError(t, err, `get ConfigMap team-a/../secrets/s, a source: the name "../secrets/s" is not valid`)
	_, _, err = f.run(t, "", "-f", write(t, strings.Replace(bad, "../secrets/s", "settings", 1)))
	hubobjects.CheckError(t, err, "the answer is not complete")
	_, _, err = f.run(t, "", "-f", write(t, bad), "../../x")
	hubobjects.CheckError(t, err, `CLUSTER: the name "../../x" is not valid`)
	for _, request := range f.requests {
		if strings.Contains(request, "secrets") || strings.Contains(request, "/x/") {
			t.Errorf("a request for something else: %s", request)
		}
	}
}

// TestNarrowed: what is left out is not asked about. The caller may have no right there.
func TestNarrowed(t *testing.T) {
	f := newFleetHub(t)
	if _, _, err := f.run(t, "", "-f", write(t, changed), "c1"); !errors.Is(err, terminal.ErrDiffers) {
		t.Error(err)
	}
	for _, request := range f.requests {
		if strings.Contains(request, "/namespaces/c2/configmaps") {
			t.Errorf("a request about another cluster: %s", request)
		}
	}
}

// TestFiles: what kubectl reads is read, with the namespace of the command line.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	list := "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: one}, data: {a: b}}\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: two}, data: {a: b}}"
	for name, text := range map[string]string{"list.yaml": list, "sub/three.json": `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"three"},"data":{"a":"b"}}`,
		"kustomization.yaml": "resources: [list.yaml]\nnamePrefix: my-"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		reason, stdin string
		arguments     []string
		want          []string
	}{
		{"a list is its items", "", []string{"-f", filepath.Join(dir, "list.yaml")}, []string{"one", "two"}},
		{"the standard input", list, []string{"-f", "-"}, []string{"one", "two"}},
		{"several", list, []string{"-f", "-", "-f", filepath.Join(dir, "sub")}, []string{"one", "three", "two"}},
		{"a directory with those below", "", []string{"-R", "-f", filepath.Join(dir, "sub")}, []string{"three"}},
		{"a kustomization", "", []string{"-k", dir}, []string{"my-one", "my-two"}},
	} {
		f := newFleetHub(t)
		stdout, stderr, err := f.run(t, c.stdin, append(c.arguments, "-n", "c1")...)
		var got []string
		for line := range strings.Lines(stdout) {
			if name, ok := strings.CutPrefix(line, "+++ applied/"); ok {
				got = append(got, strings.TrimSpace(name))
			}
		}
		if slices.Sort(got); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v: error %v: %s", c.reason, got, c.want, err, stderr)
		}
	}
	if _, _, err := newFleetHub(t).run(t, list, "-f", "-", "-f", "-"); err == nil || !strings.Contains(err.Error(), "-f - is there twice") {
		t.Errorf("the standard input twice: error %v", err)
	}
}

// TestColors: the output is coloured on request, and what an object contains cannot colour it.
func TestColors(t *testing.T) {
	f := newFleetHub(t)
	evil := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: evil, namespace: c1, annotations: {a: \"\\e[2J\"}}\ndata: {title: \"\\e]0;owned\\a\", text: \"a\\n\\e[31mb\\n\"}"
	f.refuse["POST /api/v1/namespaces/c2/configmaps"] = answer(422, metav1.StatusReasonInvalid, "no: \x1b[2J")
	stdout, stderr, _ := f.run(t, "", "-f", write(t, evil+"\n---\n"+fmt.Sprintf(plain, "refused", "c2", "x")))
	if strings.ContainsAny(stdout+stderr, "\x1b\a") {
		t.Errorf("the output controls the terminal: %q", stdout+stderr)
	}
	_, _, err := f.run(t, "", "-f", write(t, "apiVersion: v1\nkind: \"\\e[2J\"\nmetadata: {name: a}"))
	hubobjects.CheckError(t, err, "there is no ConfigMap and no ConfigMapReplicaSet in the files, only 1 [2J")
}
