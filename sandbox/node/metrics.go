package node

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/klog/v2"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	"open-cluster-management.io/helloworld-addon/sandbox/node/plan"
)

// FrontProxy is the user by whose certificate an API server forwards requests for the
// aggregated API metrics.k8s.io. It has authorized them.
const FrontProxy = "front-proxy-client"

// metricsWindow is the time over which a request for metrics measures CPU.
const metricsWindow = time.Second

// metricsPath is the path of metrics.k8s.io, which kubectl top asks.
const metricsPath = "/apis/metrics.k8s.io/v1beta1"

// metricsAPI serves the metrics of this node and its pods as the aggregated API of its
// cluster: https://kubernetes.io/docs/tasks/debug/debug-cluster/resource-metrics-pipeline/
type metricsAPI struct {
	*provider
	node *corev1.Node
}

func (m metricsAPI) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+metricsPath, m.resources)
	// without these the API server logs an error again and again
	mux.HandleFunc("GET /openapi/v2", func(w http.ResponseWriter, r *http.Request) {
		answer(w, r, map[string]any{"swagger": "2.0", "info": map[string]string{"title": "metrics", "version": "v1beta1"}, "paths": map[string]any{}}, nil)
	})
	mux.HandleFunc("GET /openapi/v3", func(w http.ResponseWriter, r *http.Request) {
		answer(w, r, map[string]any{"paths": map[string]any{}}, nil)
	})
	mux.HandleFunc("GET "+metricsPath+"/nodes", m.listNodes)
	mux.HandleFunc("GET "+metricsPath+"/nodes/{name}", m.listNodes)
	mux.HandleFunc("GET "+metricsPath+"/pods", m.listPods)
	mux.HandleFunc("GET "+metricsPath+"/namespaces/{namespace}/pods", m.listPods)
	mux.HandleFunc("GET "+metricsPath+"/namespaces/{namespace}/pods/{name}", m.listPods)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// the server accepts certificates of the cluster's authority only
		if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 || r.TLS.PeerCertificates[0].Subject.CommonName != FrontProxy {
			http.Error(w, "only the API server may ask here: use kubectl top", http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func (m metricsAPI) resources(w http.ResponseWriter, r *http.Request) {
	verbs := metav1.Verbs{"get", "list"}
	answer(w, r, metav1.APIResourceList{
		TypeMeta:     metav1.TypeMeta{APIVersion: "v1", Kind: "APIResourceList"},
		GroupVersion: metricsv1beta1.SchemeGroupVersion.String(),
		APIResources: []metav1.APIResource{
			{Name: "nodes", Kind: "NodeMetrics", Verbs: verbs},
			{Name: "pods", Kind: "PodMetrics", Namespaced: true, Verbs: verbs},
		},
	}, nil)
}

func (m metricsAPI) listNodes(w http.ResponseWriter, r *http.Request) {
	selected, err := selection(r)
	list := metricsv1beta1.NodeMetricsList{
		TypeMeta: metav1.TypeMeta{APIVersion: metricsv1beta1.SchemeGroupVersion.String(), Kind: "NodeMetricsList"},
		Items:    []metricsv1beta1.NodeMetrics{},
	}
	if err == nil && selected.Matches(m.node) {
		var pods []metricsv1beta1.PodMetrics
		pods, err = m.measure(r.Context(), plan.Selection{Labels: labels.Everything(), Fields: fields.Everything()})
		list.Items = append(list.Items, plan.NodeMetrics(m.node, pods, m.Clock.Now(), metricsWindow))
	}
	answerOne(w, r, list, list.Items, err)
}

func (m metricsAPI) listPods(w http.ResponseWriter, r *http.Request) {
	selected, err := selection(r)
	list := metricsv1beta1.PodMetricsList{
		TypeMeta: metav1.TypeMeta{APIVersion: metricsv1beta1.SchemeGroupVersion.String(), Kind: "PodMetricsList"},
		Items:    []metricsv1beta1.PodMetrics{},
	}
	if err == nil {
		list.Items, err = m.measure(r.Context(), selected)
	}
	answerOne(w, r, list, list.Items, err)
}

// selection returns what a request asks for.
func selection(r *http.Request) (plan.Selection, error) {
	s := plan.Selection{Namespace: r.PathValue("namespace")}
	var err error
	if s.Labels, err = labels.Parse(r.URL.Query().Get("labelSelector")); err != nil {
		return s, apierrors.NewBadRequest(err.Error())
	}
	if s.Fields, err = fields.ParseSelector(r.URL.Query().Get("fieldSelector")); err != nil {
		return s, apierrors.NewBadRequest(err.Error())
	}
	if name := r.PathValue("name"); name != "" {
		s.Fields = fields.OneTermEqualSelector("metadata.name", name)
	}
	return s, nil
}

// measure returns the metrics of the selected pods that run. It takes metricsWindow.
func (m metricsAPI) measure(ctx context.Context, selected plan.Selection) ([]metricsv1beta1.PodMetrics, error) {
	type measured struct {
		pod  *corev1.Pod
		name string
	}
	var of []measured
	var processes []Process
	for _, w := range m.all() {
		pod, runs := w.running()
		if !selected.Matches(pod) {
			continue
		}
		for _, run := range runs {
			of, processes = append(of, measured{pod, run.name}), append(processes, run.process)
		}
	}
	if len(processes) == 0 {
		return []metricsv1beta1.PodMetrics{}, nil
	}
	before, err := m.Runtime.Measure(processes)
	if err != nil {
		return nil, err
	}
	started := m.Clock.Now()
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-m.Clock.After(metricsWindow):
	}
	after, err := m.Runtime.Measure(processes)
	if err != nil {
		return nil, err
	}
	now := m.Clock.Now()
	containers := map[*corev1.Pod][]metricsv1beta1.ContainerMetrics{}
	for i, c := range of {
		containers[c.pod] = append(containers[c.pod], plan.ContainerMetrics(c.name, before[i], after[i], now.Sub(started)))
	}
	items := make([]metricsv1beta1.PodMetrics, 0, len(containers))
	for pod, list := range containers {
		items = append(items, plan.PodMetrics(pod, list, now, now.Sub(started)))
	}
	slices.SortFunc(items, func(a, b metricsv1beta1.PodMetrics) int {
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
	return items, nil
}

// answerOne answers with the list, or its only item if the request names one.
func answerOne[T any](w http.ResponseWriter, r *http.Request, list any, items []T, err error) {
	name := r.PathValue("name")
	switch {
	case err != nil || name == "":
		answer(w, r, list, err)
	case len(items) == 0:
		kind := strings.Split(strings.TrimPrefix(r.URL.Path, metricsPath+"/"), "/")
		answer(w, r, nil, apierrors.NewNotFound(metricsv1beta1.Resource(kind[len(kind)-2]), name))
	default:
		answer(w, r, items[0], nil)
	}
}

// answer writes the object, or the error as a Status.
func answer(w http.ResponseWriter, r *http.Request, object any, err error) {
	code := http.StatusOK
	if err != nil {
		status := apierrors.NewInternalError(err).Status()
		if known, ok := err.(apierrors.APIStatus); ok {
			status = known.Status()
		}
		status.APIVersion, status.Kind = "v1", "Status"
		object, code = status, int(status.Code)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	if err := json.NewEncoder(w).Encode(object); err != nil {
		klog.FromContext(r.Context()).V(2).Info("Client of the metrics has gone", "reason", err.Error())
	}
}

// all returns the workers of all pods.
func (p *provider) all() []*worker {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Collect(maps.Values(p.workers))
}

// running returns the pod and the containers that ran at the end of its last sync.
func (w *worker) running() (*corev1.Pod, []*containerRun) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pod, w.live
}

// publish makes the running containers known to running.
func (w *worker) publish() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.live = slices.Collect(maps.Values(w.runs))
}
