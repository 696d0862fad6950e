//go:build postgres

package hubofhubs

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/syncer"
)

// free returns an address without a listener.
func free(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// TestServing: the health endpoints need no authorization, the metrics need the
// hub's.
func TestServing(t *testing.T) {
	w := newWorld(t)
	metrics, probes := free(t), free(t)
	w.sync(func(o *syncer.Options) { o.MetricsAddr, o.ProbeAddr = metrics, probes })
	// The test's client is the API server's own, and trusts what it started.
	anybody := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	ask := func(url string) (int, string, error) {
		response, err := anybody.Get(url)
		if err != nil {
			return 0, "", err
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		return response.StatusCode, string(body), err
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		w.eventually(path+" is well", func() error {
			code, body, err := ask("http://" + probes + path)
			if err == nil && code != http.StatusOK {
				err = fmt.Errorf("%d %s", code, body)
			}
			return err
		})
	}
	w.eventually("metrics are refused", func() error {
		code, body, err := ask("https://" + metrics + "/metrics")
		switch {
		case err != nil:
			return err
		case code == http.StatusOK || strings.Contains(body, "hub_of_hubs"):
			t.Fatal("anybody may read the metrics")
		case code != http.StatusUnauthorized && code != http.StatusForbidden:
			return errors.New(body)
		}
		return nil
	})
}

// TestPasswordIsNotShown: an unusable URL leads to one message, without the
// password.
func TestPasswordIsNotShown(t *testing.T) {
	w := newWorld(t)
	for _, url := range []string{
		"postgres://user:se/cret@127.0.0.1:5432/db", "postgres://user:se%zzcret@127.0.0.1:5432/db", "postgres://user:secret@127.0.0.1:notaport/db",
	} {
		err := w.sync(func(o *syncer.Options) { o.DatabaseURL = url }).failed()
		if err == nil || strings.Contains(err.Error(), "cret") || !strings.Contains(err.Error(), "DATABASE_URL") {
			t.Errorf("%s: %v", url, err)
		}
	}
}
