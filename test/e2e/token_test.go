//go:build e2e && token

package e2e

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	addonclient "open-cluster-management.io/api/client/addon/clientset/versioned"
)

const (
	// switchAuthEnv is a shell command that gets a cluster's name and a driver: the
	// cluster's registration agent starts anew with that driver for add-ons.
	switchAuthEnv = "SWITCH_AUTH"
	driverCSR     = "csr"
	driverToken   = "token"
	// agentAccount is the agent's ServiceAccount in the cluster's namespace on the
	// hub, which OCM's add-on manager creates.
	agentAccount = "helloworld-agent"
	// goesOnWithin is how soon other credentials have to be in use, and ConfigMaps
	// to be copied with them.
	goesOnWithin = time.Minute
)

// TestTokenDriver runs on clusters whose registration agents give add-ons tokens
// (Klusterlet spec.registrationConfiguration.addOnKubeClientRegistrationDriver).
func TestTokenDriver(t *testing.T) {
	env, err := loadEnvironment(os.Getenv, 2)
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv(switchAuthEnv) == "" {
		t.Fatalf("%s is not set: test/e2e/on-sandbox shows what it is", switchAuthEnv)
	}
	env.requireReady(t)
	env.removeLeftovers(t)
	for _, c := range env.clusters {
		cleanup(t, "disable the add-on on "+c.name, func(ctx context.Context) error { return env.restore(ctx, c) })
	}
	env.enableAll(t)
	for _, s := range []scenario{
		{"the_agent_has_a_token_and_no_certificate", tokenIsUsed},
		{"the_token_of_the_agent_opens_nothing_else", realTokenIsDenied},
		{"a_deleted_ServiceAccount_comes_back_with_another_token", tokenIsReplaced},
		{"the_driver_of_a_running_agent_can_be_switched", driverIsSwitched},
		{"disabling_removes_the_agent_and_its_token", tokenUninstalled},
	} {
		t.Run(s.name, func(t *testing.T) {
			defer env.collectOnFailure(t)
			start := time.Now()
			s.run(t, env)
			t.Logf("took %s", time.Since(start).Round(time.Millisecond))
		})
	}
}

// The registration agent requests no certificate, and the hub knows the bearer of
// the token as the ServiceAccount of this cluster's agent.
func tokenIsUsed(t *testing.T, env *environment) {
	for _, c := range env.clusters {
		secret, err := c.hubCredentials(t.Context())
		must(t, "get the agent's secret", err)
		if len(secret.Data[corev1.TLSCertKey]) > 0 {
			t.Errorf("%s: the secret has a certificate beside the token", c.name)
		}
		requests, err := env.requestsOf(t.Context(), c)
		must(t, "list certificate requests", err)
		if len(requests) > 0 {
			t.Errorf("%s: %d certificate requests, want none", c.name, len(requests))
		}
		must(t, "ask the hub who bears the token", env.bears(t.Context(), c, string(secret.Data["token"])))
		must(t, "the subject in status.registrations", env.registeredAs(c, driverToken)(t.Context()))
	}
}

// A thief with the token out of the agent's secret gets no further than the agent:
// asked with the token itself, and tried with real requests.
func realTokenIsDenied(t *testing.T, env *environment) {
	for i, c := range env.clusters {
		other := env.clusters[(i+1)%len(env.clusters)]
		token, err := c.token(t.Context())
		must(t, "take the agent's token", err)
		config := env.tokenConfig(token)
		agent, err := apiServerFor(config)
		must(t, "create a client with it", err)
		addons, err := addonclient.NewForConfig(config)
		must(t, "create an add-on client with it", err)

		reviewSelf(t, agent, hubAccess(c.name, other.name))
		_, err = agent.kube.CoreV1().ConfigMaps(c.name).List(t.Context(), metav1.ListOptions{})
		must(t, "list the cluster's own ConfigMaps: without that, a denial says nothing", err)
		_, err = addons.AddonV1beta1().ManagedClusterAddOns(c.name).Patch(t.Context(), addonName,
			types.MergePatchType, []byte(`{"status":{}}`), metav1.PatchOptions{}, "status")
		must(t, "write the add-on's status: without that, a denial says nothing", err)
		for _, attempt := range forbidden(agent, addons, c.name, other.name) {
			if err := attempt.do(t.Context()); !apierrors.IsForbidden(err) {
				t.Errorf("the agent of %s, %s: want it forbidden, got %v", c.name, attempt.name, err)
			}
		}
	}
}

// Deleting the ServiceAccount withdraws its tokens at once. OCM makes both anew,
// and the agent goes on without a restart.
func tokenIsReplaced(t *testing.T, env *environment) {
	c := env.first()
	running := c.onePod(t)
	before, err := c.token(t.Context())
	must(t, "take the agent's token", err)
	start := time.Now()
	must(t, "delete the agent's ServiceAccount on the hub",
		env.hub.kube.CoreV1().ServiceAccounts(c.name).Delete(t.Context(), agentAccount, metav1.DeleteOptions{}))
	var after string
	eventually(t, "another token", func(ctx context.Context) error {
		after, err = c.token(ctx)
		if err == nil && after == before {
			err = fmt.Errorf("secret %s has the former token", agentSecret)
		}
		return err
	})
	timings.record(c.name+": ServiceAccount deleted → another token in the secret", time.Since(start))
	env.goesOn(t, c, running, driverToken, "ServiceAccount deleted", start)
	eventually(t, "the former token is refused", env.withdrawn(c, before))
	must(t, "the hub knows the new token", env.bears(t.Context(), c, after))
}

// A switch of the driver reaches the agent as other credentials, which it uses
// without a restart.
func driverIsSwitched(t *testing.T, env *environment) {
	c := env.first()
	running := c.onePod(t)
	before, err := c.token(t.Context())
	must(t, "take the agent's token", err)
	for _, driver := range []string{driverCSR, driverToken} {
		start := time.Now()
		must(t, "switch to "+driver, runCommand(t.Context(), switchAuthEnv, c.name, driver))
		env.goesOn(t, c, running, driver, "switched to "+driver, start)
		eventually(t, "the subject in status.registrations", env.registeredAs(c, driver))
		consistently(t, quiet, "the subject stays", env.registeredAs(c, driver))
	}
	eventually(t, "the token of before the switch is refused", env.withdrawn(c, before))
}

// Disabling the add-on takes away what OCM has made for the token, too.
func tokenUninstalled(t *testing.T, env *environment) {
	for _, c := range env.clusters {
		token, err := c.token(t.Context())
		must(t, "take the agent's token", err)
		bindings, err := env.hubBindings(t.Context(), c)
		must(t, "list the agent's RoleBindings on the hub", err)
		must(t, "disable the add-on", env.disable(t.Context(), c))
		must(t, "the copy is gone", c.hasNoCopy(firstConfigMap)(t.Context()))
		must(t, "the lease is gone", c.hasNoLease(t.Context()))
		eventually(t, "the agent's permissions on the hub are gone", env.hubPermissionsGone(c, bindings))
		eventually(t, "the agent's ServiceAccount on the hub is gone", func(ctx context.Context) error {
			_, err := env.hub.kube.CoreV1().ServiceAccounts(c.name).Get(ctx, agentAccount, metav1.GetOptions{})
			return gone("ServiceAccount "+c.name+"/"+agentAccount, err)
		})
		eventually(t, "the token is refused", env.withdrawn(c, token))
	}
}
