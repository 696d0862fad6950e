package node

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"open-cluster-management.io/helloworld-addon/sandbox/node/plan"
)

// maxProbeBody limits how much of a response is read, as in kubelet.
const maxProbeBody = 10 * 1024

// probeTarget is the container to probe and its pod's address.
type probeTarget struct {
	container corev1.Container
	podIP     string
	process   Process
}

// runProbe probes until ctx ends. It reports each result: the count, and the error
// of a failed probe.
func runProbe(ctx context.Context, c clock.WithTicker, delay time.Duration, probe *corev1.Probe, target probeTarget, report func(plan.ProbeCount, error)) {
	if delay > 0 {
		select {
		case <-ctx.Done():
			return
		case <-c.After(delay):
		}
	}
	ticker := c.NewTicker(plan.ProbePeriod(probe))
	defer ticker.Stop()
	count := plan.ProbeCount{}
	for ctx.Err() == nil {
		err := probeOnce(ctx, probe, target)
		if ctx.Err() != nil {
			return
		}
		if !errors.As(err, new(*notRunError)) {
			count = count.Add(err == nil, probe)
		}
		report(count, err)
		select {
		case <-ctx.Done():
		case <-ticker.C():
		}
	}
}

// probeOnce probes once and returns nil for a success. A *notRunError is no result: as in
// kubelet, it counts as neither success nor failure.
func probeOnce(ctx context.Context, probe *corev1.Probe, target probeTarget) error {
	timeout := time.Duration(max(probe.TimeoutSeconds, 1)) * time.Second
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("timed out after %s", timeout))
	defer cancel()
	switch {
	case probe.Exec != nil:
		return execOnce(ctx, target.process, plan.ProbeCommand(target.container, probe.Exec))
	case probe.TCPSocket != nil:
		return probeTCP(ctx, probe.TCPSocket, target)
	case probe.GRPC != nil:
		return probeGRPC(ctx, probe.GRPC, target)
	}
	return probeHTTP(ctx, probe.HTTPGet, target)
}

func probeTCP(ctx context.Context, action *corev1.TCPSocketAction, target probeTarget) error {
	address, err := probeAddress(action.Host, target, func() (int, error) { return plan.ProbePort(target.container, action.Port) })
	if err != nil {
		return err
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return conn.Close()
}

// probeTransport opens a new connection for each probe and, as kubelet, does not
// verify the server's certificate.
var probeTransport = &http.Transport{
	DisableKeepAlives:  true,
	DisableCompression: true,
	TLSClientConfig:    &tls.Config{InsecureSkipVerify: true}, // kubelet's rule: a probe knows no name to verify
}

func probeHTTP(ctx context.Context, action *corev1.HTTPGetAction, target probeTarget) error {
	status, err := askHTTP(ctx, action, target, "kube-probe/sandbox")
	if err != nil {
		return err
	}
	if status < http.StatusOK || status >= http.StatusBadRequest {
		return fmt.Errorf("HTTP probe failed with statuscode: %d", status)
	}
	return nil
}

// askHTTP sends the request of a probe or hook and returns the response's status code.
func askHTTP(ctx context.Context, action *corev1.HTTPGetAction, target probeTarget, userAgent string) (int, error) {
	address, err := probeAddress(action.Host, target, func() (int, error) { return plan.ProbePort(target.container, action.Port) })
	if err != nil {
		return 0, err
	}
	request, err := probeRequest(ctx, action, address, userAgent)
	if err != nil {
		return 0, err
	}
	client := http.Client{Transport: probeTransport, CheckRedirect: sameHost}
	response, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, maxProbeBody))
	return response.StatusCode, nil
}

// probeRequest returns the request that kubelet would send.
func probeRequest(ctx context.Context, action *corev1.HTTPGetAction, address, userAgent string) (*http.Request, error) {
	u, err := url.Parse(action.Path)
	if err != nil { // as in kubelet: an invalid URL is used as the path
		u = &url.URL{Path: action.Path}
	}
	u.Scheme, u.Host = strings.ToLower(string(action.Scheme)), address
	if u.Scheme == "" {
		u.Scheme = "http"
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("create the probe's request: %w", err)
	}
	request.Header.Set("User-Agent", userAgent)
	request.Header.Set("Accept", "*/*")
	for _, h := range action.HTTPHeaders {
		if strings.EqualFold(h.Name, "Host") {
			request.Host = h.Value
			continue
		}
		request.Header.Set(h.Name, h.Value)
	}
	return request, nil
}

// sameHost follows redirects only within the probed host. As in kubelet, a redirect
// to another host counts as the response.
func sameHost(request *http.Request, via []*http.Request) error {
	if request.URL.Hostname() != via[0].URL.Hostname() || len(via) >= 10 {
		return http.ErrUseLastResponse
	}
	return nil
}

func probeAddress(host string, target probeTarget, port func() (int, error)) (string, error) {
	number, err := port()
	if err != nil {
		return "", err
	}
	if host == "" {
		host = target.podIP
	}
	return net.JoinHostPort(host, strconv.Itoa(number)), nil
}
