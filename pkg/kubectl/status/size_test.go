package status

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/yaml"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/kubectl/listing"
)

const (
	sizeClusters = 5000
	// mostMemory is the documented limit (docs/kubectl.md). Here it holds for the command and the API server's
	// stand-in together.
	mostMemory = 300 << 20
)

// template returns an object as a hub has it, with the managed fields of a few writers, as JSON in which
// "cluster-name" stands for the cluster.
func template(t *testing.T, object metav1.Object, writers int) string {
	t.Helper()
	fields := map[string]any{}
	for i := range 15 {
		fields[fmt.Sprintf("f:field%02d", i)] = map[string]any{".": map[string]any{}, `k:{"type":"Available"}`: map[string]any{"f:status": map[string]any{}}}
	}
	var managed []metav1.ManagedFieldsEntry
	for i := range writers {
		when := ago(time.Hour)
		managed = append(managed, metav1.ManagedFieldsEntry{Manager: fmt.Sprintf("writer-%d", i), Operation: "Update", APIVersion: "v1", Time: &when,
			FieldsType: "FieldsV1", FieldsV1: &metav1.FieldsV1{Raw: mustJSON(fields)}})
	}
	object.SetManagedFields(managed)
	object.SetUID("00000000-0000-0000-0000-000000000000")
	return string(mustJSON(object))
}

// realWork is the ManifestWork that the hub ships by default, with what a work agent reports.
func realWork(t *testing.T) *workv1.ManifestWork {
	t.Helper()
	text, err := os.ReadFile("../../hub/addon/install/testdata/agent-default.yaml")
	if err != nil {
		t.Fatal(err)
	}
	w := work(t, "cluster-name", image, true)
	reported := w.Status.ResourceStatus.Manifests[1]
	w.Spec.Workload.Manifests, w.Status.ResourceStatus.Manifests = nil, nil
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		raw, err := yaml.YAMLToJSON([]byte(document))
		if err != nil {
			t.Fatal(err)
		}
		w.Spec.Workload.Manifests = append(w.Spec.Workload.Manifests, workv1.Manifest{RawExtension: kruntime.RawExtension{Raw: raw}})
		status := workv1.ManifestCondition{ResourceMeta: workv1.ManifestResourceMeta{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "roles", Name: "x"}}
		if strings.Contains(document, "kind: Deployment") {
			status = reported
		}
		for _, kind := range []string{"Applied", "Available", "StatusFeedbackSynced"} {
			status.Conditions = append(status.Conditions, condition(kind, "True", "AppliedManifestComplete", "Apply manifest complete", time.Hour))
		}
		w.Status.ResourceStatus.Manifests = append(w.Status.ResourceStatus.Manifests, status)
	}
	// The configuration's hash is empty by default.
	for i := range w.Status.ResourceStatus.Manifests {
		values := w.Status.ResourceStatus.Manifests[i].StatusFeedbacks.Values
		for j := range values {
			if values[j].Name == "configHash" {
				empty := ""
				values[j].Value.String = &empty
			}
		}
	}
	return w
}

// bigHub serves the lists of many clusters, written while they are read.
type bigHub struct {
	templates       map[string]string
	requests, bytes atomic.Int64
}

func newBigHub(t *testing.T) *bigHub {
	t.Helper()
	c := managed("cluster-name", map[string]string{})
	for i := range 12 {
		c.Labels[fmt.Sprintf("feature.open-cluster-management.io/addon-%02d", i)] = "available"
	}
	a := addOn("cluster-name", isAvailable, isSynced)
	for _, kind := range []string{"Configured", "Progressing", "RegistrationApplied", "ManifestApplied", "Degraded"} {
		a.Status.Conditions = append(a.Status.Conditions, condition(kind, "False", "Completed", strings.Repeat("completed with no errors ", 3), time.Hour))
	}
	var mirrored []v1alpha1.MirroredConfigMap
	for i := range 20 { // those of ConfigMapReplicaSets
		mirrored = append(mirrored, v1alpha1.MirroredConfigMap{Name: fmt.Sprintf("settings-%02d", i), Revision: "bfabb114cf8ff7eb", State: v1alpha1.MirrorSynced, Since: ago(time.Hour)})
	}
	return &bigHub{templates: map[string]string{
		clustersPath: template(t, c, 3), addOnsPath: template(t, a, 4), mirrorsPath: template(t, mirror("cluster-name", 20, 20, mirrored...), 2),
		worksPath: template(t, realWork(t), 2),
	}}
}

func (b *bigHub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.requests.Add(1)
	item, ok := b.templates[r.URL.Path]
	if !ok {
		_, _ = io.WriteString(w, `{"metadata":{"name":"`+manifests.AddonName+`"}}`)
		return
	}
	query := r.URL.Query()
	from, _ := strconv.Atoi(query.Get("continue"))
	limit, _ := strconv.Atoi(query.Get("limit"))
	to := min(from+limit, sizeClusters)
	_, _ = io.WriteString(w, `{"apiVersion":"v1","items":[`)
	for i := from; i < to; i++ {
		text := strings.ReplaceAll(item, "cluster-name", fmt.Sprintf("cluster-%05d", i))
		if i > from {
			text = "," + text
		}
		n, _ := io.WriteString(w, text)
		b.bytes.Add(int64(n))
	}
	next := ""
	if to < sizeClusters {
		next = strconv.Itoa(to)
	}
	fmt.Fprintf(w, `],"kind":"List","metadata":{"resourceVersion":"1","continue":%q}}`, next)
}

// inUse is the memory that the process has from the system.
func inUse() uint64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64() - samples[1].Value.Uint64()
}

// cpuTime is the processor time that the process has used.
func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// TestSize: 5,000 clusters take 41 requests and less memory than is promised. The time depends on the machine: it is
// printed alone.
func TestSize(t *testing.T) {
	b := newBigHub(t)
	server := httptest.NewServer(b)
	defer server.Close()
	h, err := newHub(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	before := inUse()
	var peak uint64
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			peak = max(peak, inUse())
			select {
			case <-stop:
				return
			case <-time.After(2 * time.Millisecond):
			}
		}
	}()
	streams, _, out, errOut := genericiooptions.NewTestIOStreams()
	start, cpuBefore := time.Now(), cpuTime(t)
	err = show(t.Context(), Options{Output: "json"}, h, clocktesting.NewFakeClock(now), streams)
	took, cpu := time.Since(start), cpuTime(t)-cpuBefore
	close(stop)
	<-stopped
	if err != nil || errOut.Len() > 0 {
		t.Fatalf("error %v, %q", err, errOut.String())
	}
	t.Logf("%d clusters, %d MB of JSON in %d requests: %s (%s of processor time with the server's), at most %d MiB (%d before), of which the output has %d", sizeClusters, b.bytes.Load()/1e6,
		b.requests.Load(), took.Round(time.Millisecond), cpu.Round(time.Millisecond), peak>>20, before>>20, out.Len()>>20)
	var answer struct {
		Totals struct{ Clusters, Enabled, NotWell int }
		Rows   []struct {
			Agent *struct{ Running bool }
		} `json:"clusters"`
	}
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil {
		t.Fatal(err)
	}
	if answer.Totals.Clusters != sizeClusters || answer.Totals.Enabled != sizeClusters || answer.Totals.NotWell != 0 ||
		answer.Rows[0].Agent == nil || !answer.Rows[0].Agent.Running {
		t.Errorf("totals %+v, first row %+v", answer.Totals, answer.Rows[0])
	}
	if want := int64(4*sizeClusters/listing.PageSize + 1); b.requests.Load() != want {
		t.Errorf("%d requests, want %d", b.requests.Load(), want)
	}
	if peak > mostMemory {
		t.Errorf("%d MiB of memory, want at most %d", peak>>20, mostMemory>>20)
	}
}
