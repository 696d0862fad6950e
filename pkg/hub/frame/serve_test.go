package frame

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestMux(t *testing.T) {
	tests := []struct {
		path string
		want int
	}{
		{"/healthz", http.StatusOK},
		{"/livez", http.StatusOK},
		{"/readyz", http.StatusOK},
		{"/metrics", http.StatusOK},
		{"/debug/pprof/", http.StatusNotFound},
		{"/debug/pprof/heap", http.StatusNotFound},
		{"/", http.StatusNotFound},
	}
	mux := newMux(nil)
	for _, test := range tests {
		t.Run(test.path, func(t *testing.T) {
			response := httptest.NewRecorder()
			mux.ServeHTTP(response, httptest.NewRequest(http.MethodGet, test.path, nil))
			if response.Code != test.want {
				t.Errorf("got %d, want %d", response.Code, test.want)
			}
		})
	}
}
