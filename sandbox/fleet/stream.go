package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The types of an event. The stream begins with a START for each running pod and one SYNCED, and
// continues with changes.
const (
	started = "START"
	stopped = "STOP"
	synced  = "SYNCED"
)

// The kinds of a workload.
const (
	deployment = "Deployment"
	job        = "Job"
)

// requestTimeout limits a request other than the stream.
const requestTimeout = 30 * time.Second

// event is a line of the stream of workloads.
type event struct {
	Type      string           `json:"type"`
	Cluster   string           `json:"cluster"`
	Kind      string           `json:"kind"`
	Namespace string           `json:"namespace"`
	Name      string           `json:"name"`
	UID       types.UID        `json:"uid"`
	Pod       string           `json:"pod"`
	PodUID    types.UID        `json:"podUID"`
	Container corev1.Container `json:"container"`
}

// result is how a Job's function ended; an empty Error means that it has done its work.
type result struct {
	Error string `json:"error"`
}

// api is a client of the workloads of all clusters.
type api struct {
	client *http.Client
	url    string
}

// stream calls handle for each event until the stream ends, and returns why it has ended.
func (a *api) stream(ctx context.Context, images []string, handle func(event)) error {
	query := url.Values{"image": images}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, a.url+"/fleet/workloads?"+query.Encode(), nil)
	if err != nil {
		return fmt.Errorf("request the workloads: %w", err)
	}
	response, err := a.client.Do(request)
	if err != nil {
		return fmt.Errorf("request the workloads: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("request the workloads: %s", response.Status)
	}
	for decoder := json.NewDecoder(response.Body); ; {
		var e event
		if err := decoder.Decode(&e); err != nil {
			return fmt.Errorf("read the workloads: %w", err)
		}
		handle(e)
	}
}

// done reports the result of a Job's function. A Job that does not exist any more needs none.
func (a *api) done(ctx context.Context, cluster string, pod types.UID, r result) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	content, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode a Job's result: %w", err)
	}
	path := fmt.Sprintf("%s/fleet/workloads/%s/%s/done", a.url, url.PathEscape(cluster), url.PathEscape(string(pod)))
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, path, bytes.NewReader(content))
	if err != nil {
		return fmt.Errorf("report a Job's result: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := a.client.Do(request)
	if err != nil {
		return fmt.Errorf("report a Job's result: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	_, _ = io.Copy(io.Discard, response.Body) // the connection can be used again
	if response.StatusCode >= http.StatusMultipleChoices && response.StatusCode != http.StatusNotFound {
		return fmt.Errorf("report a Job's result: %s", response.Status)
	}
	return nil
}
