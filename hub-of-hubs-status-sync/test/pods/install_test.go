//go:build kind

package pods

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	databaseSecret  = "hub-of-hubs-database-secret"
	authoritySecret = "hub-of-hubs-database-ca"
	documentation   = top + "/hub-of-hubs-status-sync/docs/install.md"
)

// kustomizeInstalls installs the sync by its kustomization, and the report by the overlay that the documentation has.
func kustomizeInstalls(t *testing.T, w *world) {
	for _, h := range w.hubs() {
		w.setSecrets(t, h, w.urls[h], w.database.Authority())
	}
	kubectl(t, w.global, "apply", "-k", w.overlay(t, strings.Join([]string{
		"apiVersion: kustomize.config.k8s.io/v1beta1", "kind: Kustomization", "resources:", "- deploy/sync", "images:",
		"- name: quay.io/open-cluster-management/hub-of-hubs-status-sync", "  newName: registry.example.com/hub-of-hubs-status-sync", "  newTag: v1"}, "\n")))
	kubectl(t, w.leaf, "apply", "-k", w.overlay(t, documentedOverlay(t)))
	start := time.Now()
	for _, h := range w.hubs() {
		rolledOut(t, h)
		t.Logf("%8s  %s is ready on %s", time.Since(start).Round(time.Millisecond), h.program, h.name)
	}
}

// originalManifestInstalls installs this project's image by the manifest of the original, over what kustomize has installed: the
// original's arguments, environment and rights. The original's users do not mount the authority of the database's certificate.
func originalManifestInstalls(t *testing.T, w *world) {
	w.setSecrets(t, w.global, change(t, w.urls[w.global], func(_ *url.URL, query url.Values) {
		query.Set("sslmode", "require")
		query.Del("sslrootcert")
	}), nil)
	w.upgrade(t, "test/testdata/original.yaml.template")
	w.flip(t, "the program by the original's manifest writes it")
	w.setSecrets(t, w.global, w.urls[w.global], w.database.Authority())
}

// templateInstalls installs the sync by the operator's template, over what is installed: that is an upgrade.
func templateInstalls(t *testing.T, w *world) {
	w.upgrade(t, "deploy/operator.yaml.template")
	w.flip(t, "the program by the template writes it")
}

// upgrade applies a manifest that envsubst fills, and waits until its pod has replaced the one of before.
func (w *world) upgrade(t *testing.T, template string) {
	t.Helper()
	before := podOf(t, w.global)
	text, err := os.ReadFile(filepath.Join(top, "hub-of-hubs-status-sync", template))
	must(t, "read the template", err)
	filled, err := command(t.Context(), string(text),
		[]string{"COMPONENT=" + syncProgram, "REGISTRY=" + w.registry, "IMAGE_TAG=" + w.tag}, "envsubst")
	must(t, "fill the template", err)
	// The image is loaded into the node: there is no registry to pull it from.
	filled = strings.ReplaceAll(filled, "imagePullPolicy: Always", "imagePullPolicy: IfNotPresent")
	kubectlFrom(t, w.global, filled, "apply", "-n", ownNamespace, "-f", "-")
	rolledOut(t, w.global)
	after := podOf(t, w.global)
	if got, want := after.Spec.Containers[0].Image, w.registry+"/"+syncProgram+":"+w.tag; got != want || before.Name == after.Name {
		t.Fatalf("pod %s of before is %s now, and runs %s instead of %s", before.Name, after.Name, got, want)
	}
}

// setSecrets gives a hub's program the database's URL, and the authority of its certificate unless that is nil.
func (w *world) setSecrets(t *testing.T, h *hub, url string, authority []byte) {
	t.Helper()
	kubectl(t, h, "delete", "secret", "-n", ownNamespace, databaseSecret, authoritySecret, "--ignore-not-found")
	kubectl(t, h, "create", "secret", "generic", databaseSecret, "-n", ownNamespace, "--from-literal=url="+url)
	if authority == nil {
		return
	}
	file := filepath.Join(t.TempDir(), "ca.crt")
	must(t, "write the authority", os.WriteFile(file, authority, 0o600))
	kubectl(t, h, "create", "secret", "generic", authoritySecret, "-n", ownNamespace, "--from-file=ca.crt="+file)
}

// documentedOverlay is the kustomization in the documentation that sets LEAF_HUB_NAME.
func documentedOverlay(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(documentation)
	must(t, "read the documentation", err)
	for _, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		if strings.Contains(block[1], "{name: LEAF_HUB_NAME, value: "+leafName+"}") {
			return block[1]
		}
	}
	t.Fatalf("%s has no kustomization that sets LEAF_HUB_NAME to %s", documentation, leafName)
	return ""
}

// overlay writes a kustomization, with this image in the place of the documentation's, and returns its directory.
func (w *world) overlay(t *testing.T, text string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, "find the overlay's directory", err)
	project, err := filepath.Abs(top)
	must(t, "find the project's directory", err)
	project, err = filepath.EvalSymlinks(project)
	must(t, "find the project's directory", err)
	way, err := filepath.Rel(dir, project)
	must(t, "find the way from the overlay to the project", err)
	name, tag := w.hubOfHubsImage, "latest"
	if colon := strings.LastIndex(name, ":"); colon > strings.LastIndex(name, "/") {
		name, tag = name[:colon], name[colon+1:]
	}
	for old, replacement := range map[string]string{"- deploy/": "- " + way + "/hub-of-hubs-status-sync/deploy/",
		"registry.example.com/hub-of-hubs-status-sync": name, "newTag: v1": "newTag: " + tag} {
		if !strings.Contains(text, old) {
			t.Fatalf("the kustomization has no %q:\n%s", old, text)
		}
		text = strings.ReplaceAll(text, old, replacement)
	}
	must(t, "write the overlay", os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o600))
	return dir
}

// rolledOut waits until the hub's program runs as its Deployment says, and nothing of an older one does.
func rolledOut(t *testing.T, h *hub) {
	t.Helper()
	kubectl(t, h, "rollout", "status", "deployment/"+h.program, "-n", ownNamespace, "--timeout=180s")
	eventually(t, h.program+": the pods of before are gone", func(ctx context.Context) error {
		deployment, err := h.kube.AppsV1().Deployments(ownNamespace).Get(ctx, h.program, metav1.GetOptions{})
		if err != nil {
			return err
		}
		pods, err := pods(ctx, h)
		if err == nil && len(pods) != int(*deployment.Spec.Replicas) {
			err = fmt.Errorf("there are %d pods", len(pods))
		}
		return err
	})
}

// pods are those of the hub's program, also the ones that are ending.
func pods(ctx context.Context, h *hub) ([]corev1.Pod, error) {
	list, err := h.kube.CoreV1().Pods(ownNamespace).List(ctx, metav1.ListOptions{LabelSelector: "name=" + h.program})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// podOf is the one pod of the hub's program.
func podOf(t *testing.T, h *hub) *corev1.Pod {
	t.Helper()
	all, err := pods(t.Context(), h)
	if err == nil && len(all) != 1 {
		err = fmt.Errorf("there are %d", len(all))
	}
	must(t, "find the pod of "+h.program, err)
	return &all[0]
}

func ready(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

func restarts(pod *corev1.Pod) (count int32) {
	for _, container := range pod.Status.ContainerStatuses {
		count += container.RestartCount
	}
	return count
}

// uninstall removes the programs as the documentation says; nothing of them is left.
func uninstall(t *testing.T, w *world) {
	for _, h := range w.hubs() {
		must(t, "uninstall", w.remove(t.Context(), h))
		eventually(t, "nothing of "+h.program+" is left on "+h.name, func(ctx context.Context) error {
			var left []error
			for _, args := range [][]string{
				{"get", "all,lease,secret,serviceaccount,role,rolebinding", "-n", ownNamespace, "-o", "name"},
				{"get", "clusterrole,clusterrolebinding,crd", "-o", "name"},
			} {
				names, err := h.run(ctx, "", args...)
				if err != nil {
					return err
				}
				for name := range strings.FieldsSeq(names) {
					if strings.Contains(name, "hub-of-hubs") || strings.Contains(name, "addonsummaries") {
						left = append(left, errors.New(name))
					}
				}
			}
			return errors.Join(left...)
		})
	}
	w.logsAreClean(t)
}
