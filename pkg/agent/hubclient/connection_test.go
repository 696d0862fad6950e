package hubclient

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
)

// TestTokens: a token that changes is in the next request.
func TestTokens(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	hub := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, r.Header.Get("Authorization"))
	}))
	defer hub.Close()
	credentials := &Credentials{Endpoint: Endpoint{Server: hub.URL, Insecure: true}, Login: Login{Token: "a"}}
	connection, err := Open(credentials, &rest.Config{}, clock.RealClock{})
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Transport: connection, Timeout: 10 * time.Second}
	get := func() error {
		response, err := client.Get(hub.URL)
		if err != nil {
			return err
		}
		return response.Body.Close()
	}
	if err := get(); err != nil {
		t.Fatal(err)
	}
	if err := connection.rotate(Login{Token: "b"}); err != nil {
		t.Fatal(err)
	}
	if err := get(); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(seen, ","); got != "Bearer a,Bearer b" {
		t.Errorf("the hub saw %s", got)
	}
	connection.Close()
	if err := get(); err == nil {
		t.Error("a request passes on a closed connection")
	}
}
