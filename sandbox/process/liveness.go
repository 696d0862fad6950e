package process

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"time"
)

// A liveness probe as OCM's klusterlet has it for its agents (livenessProbe of
// manifests/klusterlet/management/klusterlet-*-deployment.yaml), with Kubernetes'
// own default of three failures in a row. The timeout is longer than Kubernetes'
// second: a machine may run many clusters.
const (
	probeDelay    = 2 * time.Second
	probePeriod   = 10 * time.Second
	probeTimeout  = 5 * time.Second
	probeFailures = 3
)

// probe asks the URL until it does not answer 200 three times in a row, of which
// it returns the last; nil when ctx ended before. As a kubelet's, it trusts any
// certificate.
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

// ask is one probe.
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
