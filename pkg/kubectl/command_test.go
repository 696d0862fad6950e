package kubectl

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"open-cluster-management.io/helloworld-addon/internal/testing/hubobjects"
	"open-cluster-management.io/helloworld-addon/pkg/kubectl/terminal"
)

// serve answers every list with these items, and records the users of the requests.
func serve(t *testing.T, users *[]string, items string) string {
	t.Helper()
	var mu sync.Mutex
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		*users = append(*users, r.Header.Get("Impersonate-User"))
		mu.Unlock()
		list := items
		if !strings.HasSuffix(r.URL.Path, "/managedclusters") {
			list = ""
		}
		_, _ = w.Write([]byte(`{"kind":"List","items":[` + list + `],"metadata":{}}`))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// run runs the program with no kubeconfig but those of the arguments.
func run(t *testing.T, arguments ...string) (out string, err error) {
	t.Helper()
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	t.Setenv("HOME", t.TempDir())
	streams, _, stdout, _ := genericiooptions.NewTestIOStreams()
	command := NewCommand(streams)
	command.SetArgs(arguments)
	err = command.ExecuteContext(context.Background())
	return stdout.String(), err
}

const two = `{"metadata":{"name":"cluster1"}},{"metadata":{"name":"cluster2"}}`

// TestStatus runs the command by its command line, with the flags of kubectl.
func TestStatus(t *testing.T) {
	var users []string
	out, err := run(t, "status", "--server", serve(t, &users, two), "--as=ada", "--request-timeout=20s")
	if err != nil || !strings.Contains(out, "cluster1   NotEnabled") {
		t.Errorf("got error %v and %q", err, out)
	}
	if len(users) == 0 {
		t.Error("no request is recorded")
	}
	for _, user := range users {
		if user != "ada" {
			t.Errorf("a request is that of %q", user)
		}
	}
}

func TestExitCode(t *testing.T) {
	var users []string
	server := serve(t, &users, two)
	for _, c := range []struct {
		name, reason string
		arguments    []string
		code         int
		printed      bool
		message      string
	}{
		{"a cluster that is not there", "the question has no answer", []string{"status", "x", "--server", server}, 2, true, `cluster "x" not found`},
		{"a wrong value", "", []string{"status", "-o", "xml", "-l", "a b", "x"}, 2, true,
			"--output=xml: use one of wide, json, yaml, or none for a table\n--selector=a b: "},
		{"names and labels", "as kubectl", []string{"status", "-l", "a=b", "x"}, 2, true, "name clusters, or select them by --selector and --clusterset, not both"},
		{"a flag that is not there", "", []string{"status", "--selektor=a"}, 2, true, "unknown flag: --selektor; see kubectl helloworld status --help"},
		{"no kubeconfig", "", []string{"status", "--context=mars"}, 2, true, `context "mars" does not exist`},
		{"another command", "kubectl's own code", []string{"state"}, 1, true, `unknown command "state"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := run(t, c.arguments...)
			hubobjects.CheckError(t, err, c.message)
			if code, printed := terminal.ExitCode(err); code != c.code || printed != c.printed {
				t.Errorf("got exit code %d, printed %t; want %d, %t: %s", code, printed, c.code, c.printed, c.reason)
			}
		})
	}
}

// TestCompletion asks as kubectl_complete-helloworld does.
// https://kubernetes.io/docs/tasks/extend-kubectl/kubectl-plugins/#using-the-command-line-runtime-package
func TestCompletion(t *testing.T) {
	var users []string
	server := serve(t, &users, two+`,{"metadata":{"name":"other"}}`)
	for _, c := range []struct {
		name, reason string
		arguments    []string
		want         string
	}{
		{"commands", "", []string{"sta"}, "status\tShow how the add-on is on every cluster, the worst first\n:4\n"},
		{"clusters", "", []string{"status", "--server", server, "clus"}, "cluster1\ncluster2\n:4\n"},
		{"another cluster", "one that is named already is none", []string{"status", "--server", server, "cluster1", ""}, "cluster2\nother\n:4\n"},
		{"clusters of a diff", "", []string{"diff", "-f", "a.yaml", "--server", server, "o"}, "other\n:4\n"},
		{"files of a diff", "the shell completes them", []string{"diff", "-f", ""}, "json\nyaml\nyml\n:8\n"},
		{"formats", "", []string{"status", "-o", ""}, "wide\njson\nyaml\n:4\n"},
	} {
		out, err := run(t, append([]string{"__complete"}, c.arguments...)...)
		if err != nil || out != c.want {
			t.Errorf("%s: got error %v and %q, want %q", c.name, err, out, c.want)
		}
	}
}

func TestVersion(t *testing.T) {
	// The linker sets the version of a built program: test/e2e and the release look at it.
	if out, err := run(t, "version"); err != nil || !strings.HasPrefix(out, "v0.0.0-master") {
		t.Errorf("got error %v and %q", err, out)
	}
}
