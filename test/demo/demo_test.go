package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	dynamicfake "k8s.io/client-go/dynamic/fake"
)

func TestApprovedTellsWhoAskedAndWhoApproved(t *testing.T) {
	csr := &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: "addon-1", ManagedFields: []metav1.ManagedFieldsEntry{
			{Manager: "registration", Operation: metav1.ManagedFieldsOperationUpdate},
			{Manager: "helloworld-controller", Subresource: "approval"},
		}},
		Spec: certificatesv1.CertificateSigningRequestSpec{Username: "system:open-cluster-management:cluster1:agent"},
	}
	if _, ok := approved(csr); ok {
		t.Error("a request without conditions is approved")
	}
	csr.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateApproved, Reason: "AutoApproved", Message: "why"}}
	got, ok := approved(csr)
	want := "CSR addon-1\nasked by   system:open-cluster-management:cluster1:agent\napproved by helloworld-controller: AutoApproved: why"
	if diff := cmp.Diff(want, got); diff != "" || !ok {
		t.Error(ok, diff)
	}
}

func TestWatchTellsOfEachSightOnceAndNamesWhatIsMissing(t *testing.T) {
	var out bytes.Buffer
	d := &demo{Options: Options{Out: &out, Patience: 300 * time.Millisecond}}
	looks := 0
	second := effect{key: "second", what: "the second", look: func(context.Context) (string, bool, error) {
		looks++
		return "detail", looks > 1, nil
	}}
	first := effect{key: "first", what: "the first", look: func(context.Context) (string, bool, error) { return "", true, nil }}
	seen, err := d.watch(t.Context(), []effect{second, first})
	if err != nil || len(seen) != 2 {
		t.Fatalf("watch = %v, %v", seen, err)
	}
	if got := out.String(); strings.Count(got, "the first") != 1 || strings.Index(got, "the first") > strings.Index(got, "the second") {
		t.Errorf("told:\n%s", got)
	}
	never := effect{key: "never", what: "the impossible", where: "nowhere", look: func(context.Context) (string, bool, error) {
		return "", false, errors.New("refused")
	}}
	_, err = d.watch(t.Context(), []effect{first, never})
	for _, want := range []string{"not seen within 300ms", "the impossible (look at: nowhere)", "never: refused"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("watch = %v, without %q", err, want)
		}
	}
	if strings.Contains(fmt.Sprint(err), "the first") {
		t.Errorf("watch names what was seen: %v", err)
	}
}

// TestSetEffects: what a set reported about a former content is not taken for news.
func TestSetEffects(t *testing.T) {
	condition := func(kind, status, reason string) string {
		return fmt.Sprintf(`{"type":%q,"status":%q,"reason":%q,"message":"why"}`, kind, status, reason)
	}
	const counts = `"summary":{"total":3,"updated":%d,"synced":%d}`
	for name, test := range map[string]struct {
		status             string
		rolledOut, stopped bool
	}{
		"no status yet":                  {status: `{}`},
		"of the former spec":             {status: `{"observedGeneration":1,"conditions":[` + condition("RolledOut", "True", "RolledOut") + `],` + fmt.Sprintf(counts, 3, 3) + `}`},
		"one cluster is missing":         {status: `{"observedGeneration":2,"conditions":[` + condition("RolledOut", "True", "RolledOut") + `],` + fmt.Sprintf(counts, 2, 2) + `}`},
		"rolled out":                     {status: `{"observedGeneration":2,"conditions":[` + condition("RolledOut", "True", "RolledOut") + `],` + fmt.Sprintf(counts, 3, 3) + `}`, rolledOut: true},
		"a cluster has the bad revision": {status: `{"observedGeneration":2,"conditions":[` + condition("Degraded", "True", "Stopped") + `],` + fmt.Sprintf(counts, 1, 0) + `}`},
		"stopped":                        {status: `{"observedGeneration":2,"conditions":[` + condition("Degraded", "True", "Stopped") + `],` + fmt.Sprintf(counts, 0, 0) + `}`, stopped: true},
	} {
		t.Run(name, func(t *testing.T) {
			set := &unstructured.Unstructured{}
			text := `{"apiVersion":"helloworld.open-cluster-management.io/v1alpha1","kind":"ConfigMapReplicaSet",
				"metadata":{"namespace":"team-a","name":"settings","generation":2},"spec":{"configMaps":[],"placementRefs":[]},"status":` + test.status + `}`
			if err := json.Unmarshal([]byte(text), set); err != nil {
				t.Fatal(err)
			}
			d := &demo{Options: Options{Clusters: 3}, clients: &clients{dynamic: dynamicfake.NewSimpleDynamicClient(runtime.NewScheme(), set)}}
			for _, e := range []struct {
				effect
				want bool
			}{{d.rolledOut(""), test.rolledOut}, {d.stopped(), test.stopped}} {
				if _, got, err := e.look(t.Context()); got != e.want || err != nil {
					t.Errorf("%s seen: %t, %v, want %t", e.key, got, err, e.want)
				}
			}
		})
	}
}

func TestIndentedKeepsLinesTogether(t *testing.T) {
	var out bytes.Buffer
	w := &indented{out: &out, prefix: "> "}
	for _, chunk := range []string{"one\ntw", "o\n", "three"} {
		if n, err := w.Write([]byte(chunk)); err != nil || n != len(chunk) {
			t.Fatalf("Write = %d, %v", n, err)
		}
	}
	if diff := cmp.Diff("> one\n> two\n> three", out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestValidateReportsEveryProblem(t *testing.T) {
	err := (&Options{}).Validate()
	for _, want := range []string{"--clusters=0", "--sandbox", "--dir", "--kubectl", "--deploy", "--image-root"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Validate = %v, without %s", err, want)
		}
	}
}
