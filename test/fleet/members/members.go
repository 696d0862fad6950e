// Package members reads the APIs of a fleet's simulated managed clusters from outside of the
// sandbox: one stream of the writes in all clusters, and the API of each.
package members

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"open-cluster-management.io/helloworld-addon/sandbox/control"
	"open-cluster-management.io/helloworld-addon/sandbox/fleet"
)

// Client reaches the clusters.
type Client struct {
	config *rest.Config
	http   *http.Client
}

// Open reads the address from the sandbox's directory.
func Open(dir string) (*Client, error) {
	outside, err := fleet.Read[fleet.Outside](filepath.Join(control.FleetDir(dir), control.OutsideFile))
	if err != nil {
		return nil, fmt.Errorf("read where the fleet's APIs are: %w", err)
	}
	config := &rest.Config{Host: "https://" + outside.Address, BearerToken: outside.Token, QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{CAFile: outside.CA}}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the fleet's APIs: %w", err)
	}
	return &Client{config: config, http: client}, nil
}

// Cluster returns a client of one cluster's API.
func (c *Client) Cluster(name string) (kubernetes.Interface, error) {
	config := rest.CopyConfig(c.config)
	config.Host += "/clusters/" + name
	return kubernetes.NewForConfigAndClient(config, c.http)
}

// Event is a write in one of the clusters.
type Event struct {
	Cluster string `json:"cluster"`
	// Type is that of a watch event, or SYNCED once, before the first write.
	Type string `json:"type"`
	// Time is that of the write.
	Time   time.Time        `json:"time"`
	Object corev1.ConfigMap `json:"object"`
}

// errEnded is the end of a stream that its server closed.
var errEnded = errors.New("the stream has ended")

// Watch calls handle for every later write of a ConfigMap in any cluster, and started when the
// stream has begun. It returns when ctx ends or the stream does, with an error in both cases.
func (c *Client) Watch(ctx context.Context, started func(), handle func(Event)) error {
	query := url.Values{"resource": {"configmaps"}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.config.Host+"/fleet/watch?"+query.Encode(), nil)
	if err != nil {
		return fmt.Errorf("watch the fleet: %w", err)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return fmt.Errorf("watch the fleet: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		answer, _ := io.ReadAll(io.LimitReader(response.Body, 1<<10))
		return fmt.Errorf("watch the fleet: %s: %s", response.Status, strings.TrimSpace(string(answer)))
	}
	decoder := json.NewDecoder(bufio.NewReaderSize(response.Body, 1<<16))
	for {
		var event Event
		err := decoder.Decode(&event)
		switch {
		case errors.Is(err, io.EOF):
			return fmt.Errorf("watch the fleet: %w", errEnded)
		case err != nil:
			return fmt.Errorf("watch the fleet: %w", err)
		case event.Type == "SYNCED":
			started()
		default:
			handle(event)
		}
	}
}
