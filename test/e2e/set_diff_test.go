//go:build e2e && replicaset

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// diffReport is what programs read of "kubectl helloworld diff".
type diffReport struct {
	Kind     string `json:"kind"`
	Changes  bool   `json:"changes"`
	Complete bool   `json:"complete"`
	Groups   []struct {
		Clusters   []string `json:"clusters"`
		ConfigMaps []struct {
			Name, Action, Diff string
		} `json:"configMaps"`
	} `json:"groups"`
	Findings []struct {
		Effect, Reason, Message string
		Clusters                []string
	} `json:"findings"`
}

// diffPredictsCopies: "kubectl helloworld diff" prints what a file changes on which cluster, and what keeps a change from one. It
// writes nothing. When the file is applied, each cluster has what was printed, and there is no difference any more.
func diffPredictsCopies(t *testing.T, tm *team) {
	const name, plain, excluded, taken = "e2e-diff", "e2e-diff-plain", "e2e-diff-excluded", "e2e-diff-taken"
	first, second := tm.first(), tm.second()
	for _, c := range tm.clusters {
		tm.labelCluster(t, c, regionLabel, "region-of-"+c.name)
	}
	tm.place(t, name, nil, tm.clusters...)
	values := func(level string) map[string]string { return map[string]string{"level": level, "region": "$(REGION)"} }
	tm.source(t, name, values("info"))
	tm.create(t, name, fmt.Sprintf(`{configMaps: [{name: %[1]s}], placementRefs: [{name: %[1]s}], values: [{name: REGION, label: %[2]s}]}`, name, regionLabel))
	for _, c := range tm.clusters {
		eventually(t, c.name+" has its values", c.hasCopy(configMap(name, map[string]string{"level": "info", "region": "region-of-" + c.name})))
	}
	eventually(t, "the rollout is complete", tm.rolledOut(name, len(tm.clusters)))
	second.createForeign(t, configMap(taken, map[string]string{"owner": "another team"}))
	tm.createSource(t, second, configMap(taken, map[string]string{"owner": "hub"}))

	changed := map[string]*corev1.ConfigMap{ // by namespace
		tm.namespace: configMap(name, values("debug")),
		first.name:   configMap(plain, map[string]string{"text": "two\nlines\n"}),
	}
	unseen := []*corev1.ConfigMap{configMap(taken, map[string]string{"owner": "changed"}), configMap(excluded, map[string]string{"a": "b"})}
	unseen[1].Labels[syncLabel] = syncDisabled
	file := writeManifests(t, second.name, unseen, changed)
	eventually(t, "the conflict is printed", func(ctx context.Context) error {
		report, err := askDiff(ctx, 1, file)
		if err != nil {
			return err
		}
		return report.has("Blocked", "Conflict", second.name, taken)
	})
	before, err := tm.allVersions(t.Context())
	must(t, "read the versions of all objects", err)
	report, err := askDiff(t.Context(), 1, file)
	must(t, "ask for the diff", err)
	must(t, "the exclusion is printed", report.has("Note", "Excluded", second.name, excluded))
	predicted := map[*cluster][]*corev1.ConfigMap{}
	for _, c := range tm.clusters {
		predicted[c] = predictedCopies(t, file, c)
	}
	after, err := tm.allVersions(t.Context())
	must(t, "read the versions of all objects", err)
	must(t, "nothing was written", differ("the objects", before, after))

	for namespace, cm := range changed {
		writeConfigMap(t, tm.hub.apiServer, namespace, cm)
	}
	for _, cm := range unseen {
		writeConfigMap(t, tm.hub.apiServer, second.name, cm)
	}
	for c, copies := range predicted {
		want := 1
		if c == first {
			want = 2
		}
		if len(copies) != want {
			t.Errorf("%d changes of %s are printed, want %d: %+v", len(copies), c.name, want, copies)
		}
		for _, copied := range copies {
			eventually(t, c.name+" has "+copied.Name+" as printed", c.hasCopy(copied))
		}
	}
	eventually(t, "the rollout is complete", tm.rolledOut(name, len(tm.clusters)))
	report, err = askDiff(t.Context(), 0, file)
	must(t, "ask for the diff again", err)
	must(t, "the conflict is still printed", report.has("Note", "Conflict", second.name, taken))
	must(t, "delete the other object", second.kube.CoreV1().ConfigMaps(second.installNamespace).Delete(t.Context(), taken, metav1.DeleteOptions{}))
	eventually(t, "the copy takes its place", second.hasCopy(unseen[0]))
}

// predictedCopies returns the copies that change on a cluster, from the diff of this cluster alone: unchanged lines of a group may
// be those of another cluster.
func predictedCopies(t *testing.T, file string, c *cluster) (copies []*corev1.ConfigMap) {
	t.Helper()
	report, err := askDiff(t.Context(), 1, file, c.name)
	must(t, "ask for the diff of "+c.name, err)
	for _, group := range report.Groups {
		for _, change := range group.ConfigMaps {
			data, err := contentOfDiff(change.Diff)
			must(t, "read the diff", err)
			copies = append(copies, configMap(change.Name, data))
		}
	}
	return copies
}

// askDiff returns the answer for a file and clusters, which has to have this exit code.
func askDiff(ctx context.Context, code int, file string, clusters ...string) (*diffReport, error) {
	out, got, err := askPlugin(ctx, append([]string{"diff", "-f", file, "-o", "json"}, clusters...)...)
	if err != nil {
		return nil, err
	}
	var report diffReport
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	if got != code || report.Changes != (code == 1) || !report.Complete || report.Kind != "Diff" || report.Changes != (len(report.Groups) > 0) {
		return nil, fmt.Errorf("exit code %d, want %d: %s", got, code, out)
	}
	return &report, nil
}

// has checks that a finding is about a ConfigMap on a cluster.
func (r *diffReport) has(effect, reason, cluster, name string) error {
	for _, f := range r.Findings {
		if f.Effect == effect && f.Reason == reason && slices.Contains(f.Clusters, cluster) && strings.Contains(f.Message, name) {
			return nil
		}
	}
	return fmt.Errorf("no finding %s/%s about %s on %s: %+v", effect, reason, name, cluster, r.Findings)
}

// contentOfDiff returns the data of a copy after a change. The ConfigMaps are so small that their whole data is in the diff.
func contentOfDiff(diff string) (map[string]string, error) {
	var text strings.Builder
	for line := range strings.Lines(diff) {
		if line[0] == ' ' || line[0] == '+' && !strings.HasPrefix(line, "+++") {
			text.WriteString(line[1:])
		}
	}
	var copied struct {
		Data map[string]string `json:"data"`
	}
	if err := yaml.Unmarshal([]byte(text.String()), &copied); err != nil {
		return nil, fmt.Errorf("%w: %s", err, text.String())
	}
	return copied.Data, nil
}

// writeManifests writes a file with ConfigMaps of one namespace, and others by namespace.
func writeManifests(t *testing.T, namespace string, all []*corev1.ConfigMap, others map[string]*corev1.ConfigMap) string {
	t.Helper()
	var documents []string
	add := func(namespace string, cm *corev1.ConfigMap) {
		cm = cm.DeepCopy()
		cm.TypeMeta, cm.Namespace = metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, namespace
		text, err := yaml.Marshal(cm)
		must(t, "encode a ConfigMap", err)
		documents = append(documents, string(text))
	}
	for _, cm := range all {
		add(namespace, cm)
	}
	for namespace, cm := range others {
		add(namespace, cm)
	}
	path := filepath.Join(t.TempDir(), "file.yaml")
	must(t, "write the file", os.WriteFile(path, []byte(strings.Join(documents, "\n---\n")), 0o600))
	return path
}

// writeConfigMap creates or changes a ConfigMap. One that is created is deleted at the end of the test.
func writeConfigMap(t *testing.T, api apiServer, namespace string, cm *corev1.ConfigMap) {
	t.Helper()
	client := api.kube.CoreV1().ConfigMaps(namespace)
	if _, err := client.Get(t.Context(), cm.Name, getOptions); err == nil {
		_, err = update(t.Context(), api, namespace, cm.Name, func(present *corev1.ConfigMap) { present.Data = cm.Data })
		must(t, "change ConfigMap "+cm.Name, err)
		return
	}
	_, err := client.Create(t.Context(), cm, metav1.CreateOptions{})
	must(t, "create ConfigMap "+cm.Name, err)
	cleanup(t, "delete ConfigMap "+cm.Name, func(ctx context.Context) error {
		return ignoreNotFound(client.Delete(ctx, cm.Name, metav1.DeleteOptions{}))
	})
}
