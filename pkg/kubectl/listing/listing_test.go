package listing

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"open-cluster-management.io/helloworld-addon/internal/testing/hubobjects"
)

// serve returns a client of a server.
func serve(t *testing.T, handler http.HandlerFunc, timeout time.Duration) *Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	client, err := New(&rest.Config{Host: server.URL, Timeout: timeout})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// TestGet: an error has the API server's own words.
func TestGet(t *testing.T) {
	for _, c := range []struct {
		name, reason string
		code         int
		body         string
		err          string
	}{
		{"an object", "", http.StatusOK, `{"metadata":{"name":"a"}}`, ""},
		{"a Status", "it has a message", http.StatusForbidden, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":403,"reason":"Forbidden","message":"exceeded quota"}`, "exceeded quota"},
		{"a text", "no API serves the path", http.StatusNotFound, "404 page not found", "the server could not find the requested resource"},
		{"no JSON", "", http.StatusOK, "{", "unexpected end of JSON input"},
	} {
		client := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(c.code)
			_, _ = w.Write([]byte(c.body))
		}, 0)
		var object metav1.PartialObjectMetadata
		err := client.Get(t.Context(), "/api/v1/a", &object)
		hubobjects.CheckError(t, err, c.err)
		if err == nil && object.Name != "a" {
			t.Errorf("%s: got %+v", c.name, object)
		}
	}
}

// TestEach: the pages of a list are one list, and one that breaks off is an error.
func TestEach(t *testing.T) {
	var accepted []string
	answer := func(w http.ResponseWriter, r *http.Request) {
		accepted = append(accepted, r.Header.Get("Accept"))
		next := ""
		if r.URL.Query().Get("continue") == "" {
			next = "more"
		}
		fmt.Fprintf(w, `{"apiVersion":"v1","items":[{"metadata":{"name":"%s%s"}}],"metadata":{"continue":"%s","resourceVersion":"7"}}`,
			r.URL.Query().Get("labelSelector"), r.URL.Query().Get("continue"), next)
	}
	read := func(client *Client, list List) (names []string, version string, err error) {
		version, err = client.Each(t.Context(), list, func(decode func(any) error) error {
			var object metav1.PartialObjectMetadata
			defer func() { names = append(names, object.Name) }()
			return decode(&object)
		})
		return names, version, err
	}
	names, version, err := read(serve(t, answer, 0), List{Path: "/api/v1/a", Parameters: map[string]string{"labelSelector": "x", "fieldSelector": ""}, MetadataOnly: true})
	if err != nil || version != "7" || !slices.Equal(names, []string{"x", "xmore"}) || !strings.Contains(accepted[0], "PartialObjectMetadataList") {
		t.Errorf("got %v, version %s, error %v, accepted %v", names, version, err, accepted)
	}
	_, _, err = read(serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"items":[{"metadata":{}}`)) }, 0), List{Path: "/a"})
	hubobjects.CheckError(t, err, "decode a list: ")
	slow := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, 100*time.Millisecond)
	_, _, err = read(slow, List{Path: "/a"})
	hubobjects.CheckError(t, err, "no answer within 100ms (--request-timeout sets another time)")
	hubobjects.CheckError(t, slow.Get(t.Context(), "/a", &json.RawMessage{}), "no answer within 100ms")
}
