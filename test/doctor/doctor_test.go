//go:build doctor

package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// fault is something that goes wrong, and how a shell brings it about and repairs it (see preamble).
type fault struct {
	name, begin, repair string
	// want is the reason of the first finding. Empty: the program ends with exit code 2.
	want string
	// text is in the message of the first finding or in what it says is to be done, or in the error.
	text string
	// ask are the arguments, by default those with the managed cluster's kubeconfig.
	ask string
	// after is a reason that is a consequence of the first one, or empty.
	after string
	// advice reports whether the add-on works all the same.
	advice bool
}

// preamble are the functions of the shell commands.
const preamble = `set -euo pipefail
hub() { "$KUBECTL" --kubeconfig="$HUB_KUBECONFIG" "$@"; }
spoke() { "$KUBECTL" --kubeconfig="$SPOKE_KUBECONFIG" "$@"; }
secret=helloworld-hub-kubeconfig
sandbox() { "$OCM_SANDBOX" --dir="$SANDBOX" "$@"; }
# put KEY VALUE: into the agent's Secret, while OCM's registration agent cannot repair it
put() { spoke patch secret -n "$NS" $secret --type=merge -p "$(printf '{"stringData":{"%s":"%s"}}' "$1" "$2")"; }
drop() { spoke patch secret -n "$NS" $secret --type=json -p '[{"op":"remove","path":"/data/'"$1"'"}]'; }
renew() { spoke delete secret -n "$NS" $secret --ignore-not-found; sandbox start "$CLUSTER/registration-agent"; }
alone() { sandbox stop "$CLUSTER/registration-agent"; }
enable() { hub apply -f - <<END
{"apiVersion":"addon.open-cluster-management.io/v1alpha1","kind":"ManagedClusterAddOn","metadata":{"name":"helloworld","namespace":"$CLUSTER",
"annotations":{${HOSTING:+"\"addon.open-cluster-management.io/hosting-cluster-name\":\"$HOSTING\""}}},"spec":{"installNamespace":"$NS"}}
END
}
# configure SPEC: an AddOnDeploymentConfig of the cluster
configure() {
  hub apply -f - <<END
{"apiVersion":"addon.open-cluster-management.io/v1alpha1","kind":"AddOnDeploymentConfig","metadata":{"name":"doctor","namespace":"$CLUSTER"},"spec":$1}
END
  hub patch managedclusteraddon -n "$CLUSTER" helloworld --type=merge -p '{"spec":{"configs":[{"group":"addon.open-cluster-management.io","resource":"addondeploymentconfigs","namespace":"'"$CLUSTER"'","name":"doctor"}]}}'
}
unconfigure() {
  hub patch managedclusteraddon -n "$CLUSTER" helloworld --type=merge -p '{"spec":{"configs":null}}'
  hub delete addondeploymentconfig -n "$CLUSTER" doctor --ignore-not-found
}
# deny GROUP RESOURCE EXPRESSION [OPERATION]: by an admission policy on the managed cluster
deny() {
  spoke apply -f - <<END
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: doctor}
spec:
  matchConstraints: {resourceRules: [{apiGroups: ["$1"], apiVersions: [v1], resources: ["$2"], operations: [${4:-CREATE, UPDATE}]}]}
  validations: [{expression: "$3", message: doctor forbids it}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: doctor}
spec: {policyName: doctor, validationActions: [Deny]}
END
}
allow() { spoke delete validatingadmissionpolicybinding,validatingadmissionpolicy doctor --ignore-not-found; }
# bootstrap [--expired] [--hub=HUB]: writes the bootstrap kubeconfig, into the Secret $bootstrap
bootstrap=bootstrap-hub-kubeconfig
bootstrap() {
  sandbox bootstrap "$CLUSTER" "$@" | spoke create secret generic "$bootstrap" -n $ocm --from-file=kubeconfig=/dev/stdin --dry-run=client -o yaml | spoke apply -f -
}
second() { bootstrap=bootstrap-hub-kubeconfig-hub2 bootstrap --hub=hub2 "$@"; }
# managed: the kubeconfig of the managed cluster, in hosted mode
managed() {
  for ((i = 0; i < 60; i++)); do
    spoke get namespace "$NS" >/dev/null 2>&1 && break
    sleep 1
  done
  spoke create secret generic helloworld-managed-kubeconfig -n "$NS" --from-file=kubeconfig="$SANDBOX/$CLUSTER.inside.kubeconfig"
}
rejoin() {
  spoke delete secret -n $ocm hub-kubeconfig-secret --ignore-not-found
  sandbox start "$CLUSTER/registration-agent"
  joined
}
# joined: OCM's registration agent has a hub kubeconfig
joined() {
  for ((i = 0; i < 120; i++)); do
    [[ -z $(spoke get secret -n $ocm hub-kubeconfig-secret --ignore-not-found -o 'jsonpath={.data.kubeconfig}') ]] || return 0
    sleep 1
  done
  return 1
}
quota() { spoke create quota doctor -n "$NS" --hard=pods=0; }
pods() { spoke delete pod -n "$NS" -l app.kubernetes.io/name=helloworld-agent --wait=false; }
`

// world is where the faults are brought about: a cluster, the install namespace and the namespace of OCM's agents, and the
// kubeconfig of the cluster where the agents run, which in hosted mode is the hosting one.
type world struct {
	cluster, namespace, ocm, kubeconfig, hosting string
}

// worlds returns those of the environment.
func worlds(t *testing.T, count int) []*world {
	t.Helper()
	var all []*world
	for _, pair := range strings.Split(os.Getenv("CLUSTER_KUBECONFIGS"), ",") {
		name, path, _ := strings.Cut(pair, "=")
		all = append(all, &world{cluster: name, namespace: "doctor", ocm: "open-cluster-management-agent", kubeconfig: path})
	}
	if len(all) != count || os.Getenv("KUBECTL_HELLOWORLD") == "" {
		t.Fatalf("CLUSTER_KUBECONFIGS does not name %d clusters, or KUBECTL_HELLOWORLD no program: see on-sandbox", count)
	}
	return all
}

func (w *world) shell(ctx context.Context, script string) error {
	command := exec.CommandContext(ctx, "bash", "-c", preamble+script)
	command.Env = append(os.Environ(), "CLUSTER="+w.cluster, "NS="+w.namespace, "ocm="+w.ocm, "HOSTING="+w.hosting, "SPOKE_KUBECONFIG="+w.kubeconfig)
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", script, err, out)
	}
	return nil
}

// answer is what the program prints.
type answer struct {
	Well     bool `json:"well"`
	Clusters []struct {
		Cluster  string    `json:"cluster"`
		Findings []finding `json:"findings"`
		NotRead  []struct {
			Resource, Error string
		} `json:"notRead"`
	} `json:"clusters"`
}

type finding struct {
	Reason, Message string
	Do              []struct{ Text, Command string }
	Consequences    []finding
}

// ask runs the program. It returns its exit code and the error output, if it has no answer.
func (w *world) ask(ctx context.Context, arguments string) (a answer, code int, message string, err error) {
	if arguments == "" {
		arguments = w.cluster + " --managed-kubeconfig=" + w.kubeconfig
	}
	arguments = os.Expand(arguments, func(name string) string {
		return map[string]string{"CLUSTER": w.cluster, "SPOKE": w.kubeconfig, "HUB": os.Getenv("HUB_KUBECONFIG"), "OTHER": os.Getenv("OTHER_KUBECONFIG")}[name]
	})
	fields := append([]string{"doctor", "-o", "json", "--kubeconfig", os.Getenv("HUB_KUBECONFIG")}, strings.Fields(arguments)...)
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, os.Getenv("KUBECTL_HELLOWORLD"), fields...)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	err = command.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return a, 0, "", err
	}
	if code = command.ProcessState.ExitCode(); code > 1 {
		return a, code, stderr.String(), nil
	}
	if err := json.Unmarshal(stdout.Bytes(), &a); err != nil {
		return a, code, "", fmt.Errorf("%w: %s%s", err, stdout.String(), stderr.String())
	}
	return a, code, "", nil
}

// named checks that the program names the cause first.
func (w *world) named(f fault) func(context.Context) error {
	return func(ctx context.Context) error {
		a, code, message, err := w.ask(ctx, f.ask)
		if err != nil {
			return err
		}
		if f.want == "" {
			if code != 2 || !strings.Contains(message, f.text) {
				return fmt.Errorf("exit code %d, %q, want 2 and %q", code, message, f.text)
			}
			return nil
		}
		wantCode := 1
		if f.advice {
			wantCode = 0
		}
		if code != wantCode || a.Well != f.advice || len(a.Clusters) == 0 || len(a.Clusters[0].Findings) == 0 {
			return fmt.Errorf("exit code %d, want %s: %s %+v", code, f.want, message, a)
		}
		first := a.Clusters[0].Findings[0]
		text := first.Message
		for _, step := range first.Do {
			text += "\n" + step.Text + "\n" + step.Command
		}
		if first.Reason != f.want || !strings.Contains(text, f.text) {
			return fmt.Errorf("the first cause is %+v, want %s with %q; all: %+v", first, f.want, f.text, a.Clusters[0].Findings)
		}
		if f.after != "" && !slices.ContainsFunc(first.Consequences, func(c finding) bool { return c.Reason == f.after }) {
			return fmt.Errorf("%s is no consequence of %+v", f.after, first)
		}
		return nil
	}
}

func (w *world) well(ctx context.Context) error {
	a, code, message, err := w.ask(ctx, "")
	if err == nil && (code != 0 || !a.Well || len(a.Clusters[0].Findings) > 0 || len(a.Clusters[0].NotRead) > 0) {
		err = fmt.Errorf("exit code %d: %s %+v", code, message, a)
	}
	return err
}

// deadline is how long a fault may take to show, and its repair to work.
const deadline = 3 * time.Minute

func eventually(t *testing.T, what string, check func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	var last error
	for {
		err := check(ctx)
		if err == nil {
			return
		}
		if ctx.Err() == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: not within %s: %v", what, deadline, last)
		case <-time.After(time.Second):
		}
	}
}

// bring brings a fault about, and repairs it.
func (w *world) bring(t *testing.T, f fault) {
	began := time.Now()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), deadline)
		defer cancel()
		if err := w.shell(ctx, f.repair); err != nil {
			t.Error(err)
		}
	})
	if err := w.shell(t.Context(), f.begin); err != nil {
		t.Fatal(err)
	}
	eventually(t, f.want, w.named(f))
	t.Logf("named after %s", time.Since(began).Round(100*time.Millisecond))
}

func TestFaults(t *testing.T) {
	worlds := worlds(t, 3)
	one := worlds[0]
	for _, f := range beforeInstalling {
		t.Run(f.name, func(t *testing.T) { one.bring(t, f) })
	}
	if err := one.shell(t.Context(), `eval "$DEPLOY"`); err != nil {
		t.Fatal(err)
	}
	t.Run("not enabled", func(t *testing.T) { one.bring(t, fault{want: "NotEnabled", text: "apply -f -"}) })
	for _, w := range worlds {
		if err := w.shell(t.Context(), `enable; hub create configmap doctor -n "$CLUSTER" --from-literal=a=b`); err != nil {
			t.Fatal(err)
		}
	}
	for _, w := range worlds {
		eventually(t, "all is well on "+w.cluster, w.well)
	}
	one.bringAll(t, ofHub)
	for _, w := range worlds {
		// The agents do not notice that the objects in which they report were deleted with the CRD.
		if err := w.shell(t.Context(), `pods`); err != nil {
			t.Fatal(err)
		}
		eventually(t, "all is well on "+w.cluster, w.well)
	}
	t.Run("clusters", func(t *testing.T) {
		for i, w := range worlds {
			t.Run(w.cluster, func(t *testing.T) {
				t.Parallel()
				w.bringAll(t, perCluster[i])
			})
		}
	})
}
