package process

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestAsk(t *testing.T) {
	for _, test := range []struct {
		name string
		code int
		want string
	}{
		{"healthy", http.StatusOK, ""},
		{"the certificate has expired", http.StatusInternalServerError, "hub-kube-config failed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(test.code)
				_, _ = w.Write([]byte("[-]hub-kube-config failed"))
			}))
			defer server.Close()
			err := ask(t.Context(), server.Client(), server.URL)
			if (err == nil) != (test.want == "") || (err != nil && !strings.Contains(err.Error(), test.want)) {
				t.Errorf("ask = %v, want %q", err, test.want)
			}
		})
	}
}

func TestProbeEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := probe(ctx, "https://127.0.0.1:1"); err != nil {
		t.Errorf("probe = %v", err)
	}
}
