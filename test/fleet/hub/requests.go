package hub

import (
	"context"
	"fmt"
	"time"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"

	"open-cluster-management.io/helloworld-addon/test/fleet/flows"
	"open-cluster-management.io/helloworld-addon/test/fleet/scrape"
)

// scrapeTimeout bounds one read of the API server's metrics.
const scrapeTimeout = 30 * time.Second

// CountRequests makes the API server count the controller's requests. It has to be called before the
// controller starts.
func (h *Hub) CountRequests(ctx context.Context) (err error) {
	h.requests, err = flows.Install(ctx, h.client, flows.Options{Program: "controller", Level: "workload-low", Kinds: flows.Controller,
		Subjects: []flowcontrolv1.Subject{flows.ServiceAccount(namespace, "helloworld-controller")}})
	return err
}

// Requests returns the controller's requests since the API server started.
func (h *Hub) Requests(ctx context.Context) (flows.Counts, error) {
	ctx, cancel := context.WithTimeout(ctx, scrapeTimeout)
	defer cancel()
	text, err := h.client.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the metrics of the API server: %w", err)
	}
	metrics, err := scrape.Parse(text, flows.Dispatched)
	if err != nil {
		return nil, err
	}
	return h.requests.Count(metrics), nil
}
