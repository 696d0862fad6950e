package agent

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/rest"

	"open-cluster-management.io/helloworld-addon/pkg/agent/kubeclient"
)

// TestManagedKubeconfigHasOneKindOfCredentials: an administrator's kubeconfig with
// a token beside the certificate is used with the certificate.
func TestManagedKubeconfigHasOneKindOfCredentials(t *testing.T) {
	tests := []struct{ name, user, want string }{
		{"a token", `{"token":"t"}`, ""},
		{"a token in a file", `{"tokenFile":"token"}`, ""},
		{"a certificate", `{"client-certificate-data":"Yw==","client-key-data":"aw=="}`, ""},
		{"a token beside a certificate", `{"client-certificate-data":"Yw==","client-key-data":"aw==","token":"t"}`, "(a client certificate, a token)"},
		{"a token beside a certificate in files", `{"client-certificate":"c","client-key":"k","tokenFile":"t"}`, "(a client certificate, a token)"},
		{"a token beside a program", `{"token":"t","exec":{"apiVersion":"client.authentication.k8s.io/v1","command":"c"}}`, "(a token, a program (exec))"},
		{"a token beside a password", `{"token":"t","username":"u","password":"p"}`, "(a token, a password)"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "kubeconfig")
			content := `{"apiVersion":"v1","kind":"Config","current-context":"c","clusters":[{"name":"c","cluster":{"server":"https://c"}}],
				"users":[{"name":"u","user":` + test.user + `}],"contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}]}`
			if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			a := &agent{options: &Options{Kubeconfig: file, Namespace: "own", Hosted: true}}
			err := a.checkManagedKubeconfig()
			switch {
			case test.want == "" && err != nil:
				t.Error(err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want) ||
				!strings.Contains(err.Error(), "Secret own/helloworld-managed-kubeconfig")):
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

// TestWarnsOfUnlimitedRights asks a managed cluster for its rights there.
func TestWarnsOfUnlimitedRights(t *testing.T) {
	tests := []struct {
		name    string
		hosted  bool
		code    int
		allowed bool
		want    string
	}{
		{"an administrator's", true, http.StatusCreated, true, "ManagedKubeconfigMayDoEverything"},
		{"the agent's own", true, http.StatusCreated, false, ""},
		{"one that may not ask", true, http.StatusForbidden, true, ""},
		{"not hosted: the pod's own ServiceAccount", false, http.StatusCreated, true, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var asked authorizationv1.SelfSubjectAccessReview
			api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				asked.APIVersion, asked.Kind = "authorization.k8s.io/v1", "SelfSubjectAccessReview"
				asked.Status.Allowed = test.allowed
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(test.code)
				_ = json.NewEncoder(w).Encode(asked)
			}))
			defer api.Close()
			managed, err := kubeclient.New(&rest.Config{Host: api.URL})
			if err != nil {
				t.Fatal(err)
			}
			told := ""
			a := &agent{options: &Options{Namespace: "own", Hosted: test.hosted}, managed: managed}
			a.warnOfRights(t.Context(), func(kind, reason, message string) {
				if kind != "Warning" || !strings.Contains(message, "Secret own/helloworld-managed-kubeconfig") {
					t.Errorf("%s: %q", kind, message)
				}
				told += reason
			})
			if told != test.want {
				t.Errorf("got %q, want %q", told, test.want)
			}
		})
	}
}
