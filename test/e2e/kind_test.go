//go:build e2e && kind

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// nodesEnv names the Docker containers that are the clusters' nodes:
// hub=NAME,cluster1=NAME,...
const nodesEnv = "KIND_NODES"

// onKind are what only real kubelets, and machines that can be stopped, show.
var onKind = []struct {
	name string
	run  func(t *testing.T, env *environment, nodes map[string]string)
}{
	{"pods_meet_the_restricted_level", podsMeetRestricted},
	{"a_deleted_secret_comes_back_and_is_used", secretIsRefreshed},
	{"an_evicted_agent_catches_up", agentEvicted},
	{"a_killed_leader_is_followed", leaderKilled},
	{"a_restarted_node_catches_up", nodeRestarted},
	{"a_hub_that_is_away_for_a_minute_harms_nothing", hubAway},
}

func TestOnKind(t *testing.T) {
	env, err := loadEnvironment(os.Getenv, 2)
	if err != nil {
		t.Fatal(err)
	}
	nodes, err := parseClusters(os.Getenv(nodesEnv), 3)
	if err != nil {
		t.Fatalf("%s: %v", nodesEnv, err)
	}
	env.requireReady(t)
	env.removeLeftovers(t)
	for _, c := range env.clusters {
		cleanup(t, "disable the add-on on "+c.name, func(ctx context.Context) error { return env.restore(ctx, c) })
	}
	labelNamespace(t, env.first().apiServer, env.first().installNamespace)
	env.enableAll(t)
	for _, c := range env.clusters {
		for _, name := range []string{"e2e-kind-a", "e2e-kind-b"} {
			source := env.createSource(t, c, configMap(name, map[string]string{"cluster": c.name}))
			eventually(t, "a copy on "+c.name, c.hasCopy(source))
		}
	}
	for _, s := range onKind {
		t.Run(s.name, func(t *testing.T) {
			defer env.collectOnFailure(t)
			start := time.Now()
			s.run(t, env, nodes)
			for _, c := range env.clusters {
				eventually(t, c.name+": every ConfigMap of the hub is there, and no other copy", env.mirrored(c))
			}
			t.Logf("took %s", time.Since(start).Round(time.Millisecond))
		})
	}
	start := time.Now()
	for _, c := range env.clusters {
		must(t, c.name+": OCM's registration agent works again", poll(t.Context(), leadAgain, env.renewedSince(c, start)))
	}
	timings.record("the last scenario → every cluster's registration agent works", time.Since(start))
}

// leadAgain is longer than OCM's registration agent takes from a restart to its
// first renewal of the cluster's lease: its leader election waits 137 s for the
// lease of the process before, and the renewals are a minute apart.
const leadAgain = 5 * time.Minute

// renewedSince checks that the cluster's registration agent has renewed its lease
// on the hub since then. One that was restarted, and has not come to lead yet when
// an add-on is deleted, never removes the add-on's Secret: it knows only the
// add-ons that it has seen (OCM v1.2.1, pkg/registration/spoke/addon).
func (e *environment) renewedSince(c *cluster, since time.Time) check {
	return func(ctx context.Context) error {
		lease, err := e.hub.kube.CoordinationV1().Leases(c.name).Get(ctx, "managed-cluster-lease", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if lease.Spec.RenewTime == nil || lease.Spec.RenewTime.Time.Before(since) {
			return fmt.Errorf("the lease of cluster %s was renewed last at %v", c.name, lease.Spec.RenewTime)
		}
		return nil
	}
}

// mirrored checks that the copies are those of the hub's ConfigMaps, no more
// and no less, and that each has its source's content.
func (e *environment) mirrored(c *cluster) check {
	return func(ctx context.Context) error {
		sources, err := e.hub.kube.CoreV1().ConfigMaps(c.name).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		copies, err := c.kube.CoreV1().ConfigMaps(c.installNamespace).List(ctx,
			metav1.ListOptions{LabelSelector: managedByLabel + "=" + managedByValue})
		if err != nil {
			return err
		}
		var errs []error
		wanted := []string{}
		for i := range sources.Items {
			if source := &sources.Items[i]; source.Name != rootCAConfigMap {
				wanted = append(wanted, source.Name)
				errs = append(errs, c.hasCopy(source)(ctx))
			}
		}
		for i := range copies.Items {
			if name := copies.Items[i].Name; !slices.Contains(wanted, name) {
				errs = append(errs, fmt.Errorf("there is a copy %s, and nothing of this name on the hub", name))
			}
		}
		return errors.Join(errs...)
	}
}

// noNewRequest fails the test when run makes a cluster ask for another
// certificate. It compares the requests, and the certificates as well: the
// add-on's controller removes a request soon after it was used.
func (e *environment) noNewRequest(t *testing.T, run func()) {
	t.Helper()
	names := func(c *cluster) []string {
		requests, err := e.requestsOf(t.Context(), c)
		must(t, "list certificate requests", err)
		var names []string
		for i := range requests {
			names = append(names, requests[i].Name)
		}
		slices.Sort(names)
		return names
	}
	before, certificates := map[string][]string{}, map[string]string{}
	for _, c := range e.clusters {
		before[c.name], certificates[c.name] = names(c), c.certificate(t)
	}
	run()
	for _, c := range e.clusters {
		now := names(c)
		// Used ones go meanwhile.
		if slices.ContainsFunc(now, func(name string) bool { return !slices.Contains(before[c.name], name) }) {
			t.Errorf("%s: certificate requests before: %v, now: %v", c.name, before[c.name], now)
		}
		if c.certificate(t) != certificates[c.name] {
			t.Errorf("%s: the agent's Secret has another certificate than before", c.name)
		}
	}
}

// certificate returns the client certificate in the agent's Secret.
func (c *cluster) certificate(t *testing.T) string {
	t.Helper()
	var certificate string
	eventually(t, c.name+": the agent's Secret", func(ctx context.Context) error {
		secret, err := c.hubCredentials(ctx)
		if err == nil {
			certificate = string(secret.Data[corev1.TLSCertKey])
		}
		return err
	})
	return certificate
}

// docker runs a command of Docker.
func docker(ctx context.Context, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	output, err := exec.CommandContext(ctx, "docker", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("docker %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(output)))
	}
	return nil
}
