package process

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"time"
)

// The liveness probe of OCM's agents, from
// https://github.com/open-cluster-management-io/ocm/tree/v1.2.1/manifests/klusterlet/management
// (livenessProbe of klusterlet-*-deployment.yaml), with Kubernetes' default of three failures in a
// row. The timeout is longer than Kubernetes' second, because a machine may run many clusters.
const (
	probeDelay    = 2 * time.Second
	probePeriod   = 10 * time.Second
	probeTimeout  = 5 * time.Second
	probeFailures = 3
)

// probe sends requests to the URL until three in a row are not answered by 200, and returns the last
// error. It returns nil when ctx ends first. As kubelet, it trusts any certificate.
func probe(ctx context.Context, url string) error {
	client := &http.Client{Timeout: probeTimeout, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	failures := 0
	for wait := probeDelay; ; wait = probePeriod {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
		err := ask(ctx, client, url)
		if err == nil {
			failures = 0
			continue
		}
		if failures++; failures == probeFailures && ctx.Err() == nil {
			return fmt.Errorf("liveness probe failed %d times: %w", failures, err)
		}
	}
}

// ask sends one request.
func ask(ctx context.Context, client *http.Client, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("probe %s: %w", url, err)
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusOK {
		return nil
	}
	body, _ := io.ReadAll(io.LimitReader(response.Body, logTail))
	return fmt.Errorf("%s answers %s: %s", url, response.Status, body)
}
