//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// pluginEnv names the program kubectl-helloworld.
const pluginEnv = "KUBECTL_HELLOWORLD"

// fleetStatus is what programs read of the plugin's answer.
type fleetStatus struct {
	APIVersion string          `json:"apiVersion"`
	Kind       string          `json:"kind"`
	Well       bool            `json:"well"`
	Clusters   []clusterStatus `json:"clusters"`
}

type clusterStatus struct {
	Name       string       `json:"name"`
	State      string       `json:"state"`
	Since      *metav1.Time `json:"since"`
	Message    string       `json:"message"`
	Available  string       `json:"available"`
	ConfigMaps struct {
		Total     int            `json:"total"`
		Synced    int            `json:"synced"`
		NotSynced map[string]int `json:"notSynced"`
	} `json:"configMaps"`
	Agent struct {
		Version string `json:"version"`
		Running bool   `json:"running"`
	} `json:"agent"`
	CredentialsExpire *metav1.Time `json:"credentialsExpire"`
}

// plugin returns a command of the plugin with the hub's kubeconfig, which kubectl would run with the same arguments.
func plugin(ctx context.Context, arguments ...string) (*exec.Cmd, error) {
	program := os.Getenv(pluginEnv)
	if program == "" {
		return nil, fmt.Errorf("%s: not set; run make build, and give it the path of bin/kubectl-helloworld", pluginEnv)
	}
	return exec.CommandContext(ctx, program, append(arguments, "--kubeconfig", os.Getenv(hubEnv))...), nil
}

// askPlugin returns the plugin's output and its exit code.
func askPlugin(ctx context.Context, arguments ...string) (out string, code int, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	command, err := plugin(ctx, arguments...)
	if err != nil {
		return "", 0, err
	}
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	err = command.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 && stderr.Len() == 0 {
		return stdout.String(), 1, nil
	}
	if err != nil {
		return "", 0, fmt.Errorf("%s: %w: %s", command, err, stderr.String())
	}
	if stderr.Len() > 0 {
		return "", 0, fmt.Errorf("%s: %s", command, stderr.String())
	}
	return stdout.String(), 0, nil
}

// tells checks the exit code of the plugin's status, and its first row.
func (e *environment) tells(code int, first func(clusterStatus) error) check {
	return func(ctx context.Context) error {
		// The suite's clusters alone: others of the hub are not in its hands.
		out, got, err := askPlugin(ctx, "status", e.first().name, e.second().name, "-o", "json")
		if err != nil {
			return err
		}
		var status fleetStatus
		if err := json.Unmarshal([]byte(out), &status); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		if got != code || status.Well != (code == 0) || status.Kind != "FleetStatus" || len(status.Clusters) != 2 {
			return fmt.Errorf("exit code %d, want %d: %s", got, code, out)
		}
		if err := first(status.Clusters[0]); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	}
}

// isWell checks everything that the hub knows of an add-on that is well.
func isWell(row clusterStatus) error {
	// Ten days is less than what is left of any certificate that kube-controller-manager signs by default.
	switch counts := row.ConfigMaps; {
	case row.State != "Synced" || row.Available != "True" || row.Since == nil:
		return errors.New("it is not well")
	case counts.Synced != counts.Total || len(counts.NotSynced) > 0:
		return errors.New("not every ConfigMap is synced")
	case row.Agent.Version == "" || !row.Agent.Running:
		return errors.New("the agent's version is not known")
	case row.CredentialsExpire == nil || time.Until(row.CredentialsExpire.Time) < 10*24*time.Hour:
		return errors.New("the certificate's expiry is not known")
	}
	return nil
}

// lines is an output that is read while it is written.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// has checks that a line has all texts.
func (l *lines) has(texts ...string) check {
	return func(context.Context) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		for line := range strings.Lines(l.text.String()) {
			missing := false
			for _, text := range texts {
				missing = missing || !strings.Contains(line, text)
			}
			if !missing {
				return nil
			}
		}
		return fmt.Errorf("no line with %q: %s", texts, l.text.String())
	}
}

// The plugin shows a conflict with exit code 1 and its cluster first, and exit code 0 when all is well again. With --watch it
// prints both until it is interrupted.
func pluginShowsConflict(t *testing.T, env *environment) {
	const name = "e2e-plugin"
	version, _, err := askPlugin(t.Context(), "version")
	must(t, "the plugin's version", err)
	if version == "" || strings.HasPrefix(version, "v0.0.0-master") {
		t.Errorf("the plugin has no version of the build: %q", version)
	}
	c := env.second()
	source := configMap(name, map[string]string{"owner": "hub"})
	eventually(t, "all is well", env.tells(0, isWell))

	watched := &lines{}
	watching, err := plugin(t.Context(), "status", c.name, "-w")
	must(t, "the plugin's program", err)
	watching.Stdout, watching.Stderr = watched, watched
	must(t, "start the plugin with --watch", watching.Start())
	eventually(t, "the cluster, watched", watched.has(c.name, "Synced"))

	c.createForeign(t, configMap(name, map[string]string{"owner": "another team"}))
	env.createSource(t, c, source)
	eventually(t, "the conflict", env.tells(1, func(row clusterStatus) error {
		if row.Name != c.name || row.State != "Conflict" || row.ConfigMaps.NotSynced["Conflict"] != 1 ||
			row.ConfigMaps.Synced != row.ConfigMaps.Total-1 || !strings.Contains(row.Message, name) {
			return errors.New("the conflict is not the first row")
		}
		return nil
	}))
	eventually(t, "the conflict, watched", watched.has(c.name, "Conflict", "1 Conflict"))

	must(t, "delete the other object", c.kube.CoreV1().ConfigMaps(c.installNamespace).Delete(t.Context(), name, metav1.DeleteOptions{}))
	eventually(t, "all is well again", env.tells(0, isWell))
	copied, err := c.kube.CoreV1().ConfigMaps(c.installNamespace).Get(t.Context(), name, metav1.GetOptions{})
	must(t, "get the copy", err)
	if copied.Data["owner"] != "hub" {
		t.Errorf("the copy has %v", copied.Data)
	}
	must(t, "interrupt the plugin", watching.Process.Signal(os.Interrupt))
	must(t, "the plugin with --watch ends well", watching.Wait())
}
