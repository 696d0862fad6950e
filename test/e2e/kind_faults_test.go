//go:build e2e && kind

package e2e

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
)

const (
	// hubOutage is how long the hub's API server is away.
	hubOutage = time.Minute
	// apiServerManifest is where kubeadm has the API server's static pod, and
	// parkedManifest is where its kubelet does not look.
	apiServerManifest = "/etc/kubernetes/manifests/kube-apiserver.yaml"
	parkedManifest    = "/etc/kubernetes/kube-apiserver.yaml"
	// takeover is a guard: a leader that is killed holds its lease for a minute.
	takeover = 3 * time.Minute
)

// The registration agent requests a new certificate for a deleted secret, and the
// add-on's agent goes on with the new one without a restart.
func secretIsRefreshed(t *testing.T, env *environment, _ map[string]string) {
	c := env.first()
	before, err := c.agentPods(t.Context())
	must(t, "list the agent's pods", err)
	old, err := c.hubCredentials(t.Context())
	must(t, "get the agent's secret", err)
	must(t, "delete the agent's secret", c.kube.CoreV1().Secrets(c.installNamespace).Delete(t.Context(), agentSecret, metav1.DeleteOptions{}))
	start := time.Now()
	eventually(t, "another certificate is there", func(ctx context.Context) error {
		secret, err := c.hubCredentials(ctx)
		if err == nil && string(secret.Data[corev1.TLSCertKey]) == string(old.Data[corev1.TLSCertKey]) {
			err = errors.New("the secret has the certificate of before")
		}
		return err
	})
	timings.record(c.name+": secret deleted → another certificate", time.Since(start))
	env.settle(t, c)
	after, err := c.agentPods(t.Context())
	must(t, "list the agent's pods", err)
	if diff := differentPods(before, after); diff != "" {
		t.Error("the agent did not go on running: " + diff)
	}
}

// differentPods says how the pods differ, restarts included, or nothing.
func differentPods(before, after []corev1.Pod) string {
	of := func(pods []corev1.Pod) (text string) {
		for i := range pods {
			text += fmt.Sprintf("%s %s; ", pods[i].Name, podLine(&pods[i]))
		}
		return text
	}
	if len(before) == 1 && len(after) == 1 && before[0].UID == after[0].UID && of(before) == of(after) {
		return ""
	}
	return "before: " + of(before) + "now: " + of(after)
}

// An evicted agent, as when a node is drained, comes back and catches up.
func agentEvicted(t *testing.T, env *environment, _ map[string]string) {
	c := env.second()
	env.noNewRequest(t, func() {
		pods, err := c.agentPods(t.Context())
		must(t, "list the agent's pods", err)
		for i := range pods {
			must(t, "evict the agent", c.kube.PolicyV1().Evictions(c.installNamespace).Evict(t.Context(),
				&policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pods[i].Name, Namespace: pods[i].Namespace}}))
		}
		start := time.Now()
		source := env.createSource(t, c, configMap("e2e-kind-evicted", map[string]string{"a": "1"}))
		eventually(t, "the copy of what was made meanwhile", c.hasCopy(source))
		timings.record(c.name+": agent evicted → caught up", time.Since(start))
		eventually(t, "the agent is available", c.agentAvailable)
	})
}

// A leader that is killed without a chance to say goodbye is followed by
// another one, and the clusters do not notice.
func leaderKilled(t *testing.T, env *environment, _ map[string]string) {
	env.noNewRequest(t, func() {
		leader := env.leader(t)
		start := time.Now()
		must(t, "kill the leader", env.hub.kube.CoreV1().Pods(controllerNamespace).Delete(t.Context(), leader,
			metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}))
		must(t, "another controller leads", poll(t.Context(), takeover, func(ctx context.Context) error {
			holder, err := env.leaseHolder(ctx)
			if err == nil && (holder == "" || holder == leader) {
				err = fmt.Errorf("the leader's lease is held by %q", holder)
			}
			return err
		}))
		timings.record("hub: leader killed → another leads", time.Since(start))
		for _, c := range env.clusters {
			env.controllerReconciles(t, c)
		}
	})
}

// A managed cluster whose only node restarts, API server and all, has its
// copies, and catches up with what the hub did meanwhile.
func nodeRestarted(t *testing.T, env *environment, nodes map[string]string) {
	c := env.first()
	deleted := env.createSource(t, c, configMap("e2e-kind-node-deleted", map[string]string{"a": "1"}))
	eventually(t, "a copy", c.hasCopy(deleted))
	env.noNewRequest(t, func() {
		must(t, "stop the node", docker(t.Context(), "stop", nodes[c.name]))
		created := env.createSource(t, c, configMap("e2e-kind-node-created", map[string]string{"a": "1"}))
		env.deleteSource(t, c, deleted.Name)
		start := time.Now()
		must(t, "start the node", docker(t.Context(), "start", nodes[c.name]))
		eventually(t, "the ConfigMap made meanwhile", c.hasCopy(created))
		eventually(t, "the deletion made meanwhile", c.hasNoCopy(deleted.Name))
		timings.record(c.name+": node started again → caught up", time.Since(start))
		eventually(t, "the agent is available", c.agentAvailable)
		eventually(t, "Available", env.addonCondition(c, addonv1beta1.ManagedClusterAddOnConditionAvailable))
	})
}

// While the hub is away nothing is taken from the clusters, and what was
// copied and is deleted there comes back; afterwards all goes on by itself.
func hubAway(t *testing.T, env *environment, nodes map[string]string) {
	node := nodes["hub"]
	back := func(ctx context.Context) error {
		return docker(ctx, "exec", node, "sh", "-c", "test ! -e "+parkedManifest+" || mv "+parkedManifest+" "+apiServerManifest)
	}
	hubAnswers := func(ctx context.Context) error {
		_, err := env.hub.kube.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		return err
	}
	cleanup(t, "the hub is back", func(ctx context.Context) error {
		return errors.Join(back(ctx), poll(ctx, takeover, hubAnswers))
	})
	copies := map[*cluster]string{}
	for _, c := range env.clusters {
		copies[c] = c.copiesAre(t)
	}
	env.noNewRequest(t, func() {
		must(t, "stop the hub's API server", docker(t.Context(), "exec", node, "mv", apiServerManifest, parkedManifest))
		eventually(t, "the hub does not answer", func(ctx context.Context) error {
			if hubAnswers(ctx) == nil {
				return errors.New("it still answers")
			}
			return nil
		})
		consistently(t, hubOutage, "the copies while the hub is away", func(context.Context) error {
			for c, before := range copies {
				if now := c.copiesAre(t); now != before {
					return fmt.Errorf("%s had %s, and has %s", c.name, before, now)
				}
			}
			return nil
		})
		must(t, "start the hub's API server", back(t.Context()))
		must(t, "the hub answers", poll(t.Context(), takeover, hubAnswers))
		start := time.Now()
		for _, c := range env.clusters {
			env.settle(t, c)
		}
		timings.record("hub: API server back → every cluster caught up", time.Since(start))
	})
}

// copiesAre are the names and UIDs of the copies.
func (c *cluster) copiesAre(t *testing.T) (text string) {
	t.Helper()
	list, err := c.kube.CoreV1().ConfigMaps(c.installNamespace).List(t.Context(),
		metav1.ListOptions{LabelSelector: managedByLabel + "=" + managedByValue})
	must(t, "list the copies", err)
	for i := range list.Items {
		text += list.Items[i].Name + " " + string(list.Items[i].UID) + "; "
	}
	return text
}
