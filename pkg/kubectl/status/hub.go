package status

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
)

const (
	// pageSize is as in kubectl. https://kubernetes.io/docs/reference/using-api/api-concepts/#retrieving-large-results-sets-in-chunks
	pageSize = 500
	// requestTimeout is how long one page may take, unless --request-timeout is set.
	requestTimeout = 30 * time.Second
	// watchTimeout is after how long the API server ends a watch, which is then begun again.
	watchTimeout = 5 * time.Minute
)

// errNotServed reports that the API server does not know the resource.
var errNotServed = errors.New("the hub does not serve the resource")

// hub reads resources of the hub. Objects are decoded one by one while they arrive, into the few fields that are
// used: the lists of 5,000 clusters have 100 MB, most of it managed fields and the agents' manifests.
type hub struct {
	client  rest.Interface
	host    string
	timeout time.Duration
}

func newHub(config *rest.Config) (*hub, error) {
	c := rest.CopyConfig(config)
	h := &hub{host: c.Host, timeout: requestTimeout}
	if c.Timeout > 0 {
		h.timeout = c.Timeout
	}
	// Each request has its own: a watch takes longer than a page.
	c.Timeout = 0
	// A few dozen requests, one after the other for each resource: they need no limit, and no version
	// that the hub calls deprecated is the user's matter.
	c.QPS, c.WarningHandler = -1, rest.NoWarnings{}
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"}) // the API server's errors
	c.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	client, err := rest.UnversionedRESTClientFor(c)
	if err != nil {
		return nil, fmt.Errorf("create the client of %s: %w", c.Host, err)
	}
	h.client = client
	return h, nil
}

// request returns a request for the resource at path.
func (h *hub) request(path string, parameters map[string]string) *rest.Request {
	request := h.client.Get().AbsPath(path).SetHeader("Accept", "application/json")
	for name, value := range parameters {
		if value != "" {
			request = request.Param(name, value)
		}
	}
	return request
}

// get reads one object.
func (h *hub) get(ctx context.Context, path string, object any) error {
	ctx, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	raw, err := h.request(path, nil).DoRaw(ctx)
	if err != nil {
		return h.explain(ctx, err)
	}
	return json.Unmarshal(raw, object)
}

// list reads all pages of the first path that the hub serves. It returns that path and the list's resource version.
func (h *hub) list(ctx context.Context, r resource) (entries map[string]entry, path, version string, err error) {
	for _, path := range r.paths {
		entries, version, err := h.pages(ctx, r, path)
		if !apierrors.IsNotFound(err) {
			return entries, path, version, err
		}
	}
	return nil, "", "", errNotServed
}

func (h *hub) pages(ctx context.Context, r resource, path string) (map[string]entry, string, error) {
	entries := map[string]entry{}
	next := ""
	for {
		meta, err := h.page(ctx, r, path, next, entries)
		if err != nil {
			return nil, "", err
		}
		if next = meta.Continue; next == "" {
			return entries, meta.ResourceVersion, nil
		}
	}
}

func (h *hub) page(ctx context.Context, r resource, path, next string, entries map[string]entry) (meta metav1.ListMeta, err error) {
	ctx, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	request := h.request(path, r.parameters).Param("limit", strconv.Itoa(pageSize))
	if next != "" {
		request = request.Param("continue", next)
	}
	body, err := request.Stream(ctx)
	if err != nil {
		return meta, h.explain(ctx, err)
	}
	defer func() { err = errors.Join(err, body.Close()) }()
	meta, err = decodeList(body, func(decode func(any) error) error {
		read, err := r.read(decode)
		if err == nil {
			entries[read.key] = read
		}
		return err
	})
	if err != nil {
		return meta, h.explain(ctx, err)
	}
	return meta, nil
}

// explain returns the error of a request, or that it took too long.
func (h *hub) explain(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("no answer within %s (--request-timeout sets another time)", h.timeout)
	}
	if transport := (*url.Error)(nil); errors.As(err, &transport) {
		return transport.Err // without the long URL
	}
	return err
}

// decodeList calls item for each object of a list, with a function that decodes it.
func decodeList(body io.Reader, item func(decode func(any) error) error) (metav1.ListMeta, error) {
	var meta metav1.ListMeta
	decoder := json.NewDecoder(body)
	if _, err := decoder.Token(); err != nil {
		return meta, fmt.Errorf("decode a list: %w", err)
	}
	for decoder.More() {
		field, err := decoder.Token()
		if err != nil {
			return meta, fmt.Errorf("decode a list: %w", err)
		}
		switch field {
		case "items":
			err = decodeItems(decoder, item)
		case "metadata":
			err = decoder.Decode(&meta)
		default:
			err = decoder.Decode(new(json.RawMessage))
		}
		if err != nil {
			return meta, fmt.Errorf("decode a list: %w", err)
		}
	}
	_, err := decoder.Token() // a list that was cut off has no end
	if err != nil {
		return meta, fmt.Errorf("decode a list: %w", err)
	}
	return meta, nil
}

func decodeItems(decoder *json.Decoder, item func(decode func(any) error) error) error {
	begin, err := decoder.Token()
	if err != nil || begin == nil { // null is an empty list
		return err
	}
	for decoder.More() {
		if err := item(decoder.Decode); err != nil {
			return err
		}
	}
	_, err = decoder.Token()
	return err
}

// event is one of a watch.
type event struct {
	Type   watch.EventType `json:"type"`
	Object json.RawMessage `json:"object"`
}

// watch calls changed for each change after version until the watch ends. It returns the version to go on from, which is
// empty if a list is needed first.
func (h *hub) watch(ctx context.Context, r resource, path, version string, changed func(watch.EventType, entry)) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, watchTimeout+h.timeout)
	defer cancel()
	body, err := h.request(path, r.parameters).Param("watch", "true").Param("allowWatchBookmarks", "true").
		Param("timeoutSeconds", strconv.Itoa(int(watchTimeout.Seconds()))).Param("resourceVersion", version).Stream(ctx)
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return "", nil
	}
	if err != nil {
		return version, h.explain(ctx, err)
	}
	defer func() { _ = body.Close() }() // it was read as far as it goes
	for decoder := json.NewDecoder(body); ; {
		var next event
		if err := decoder.Decode(&next); err != nil {
			return version, nil // the end of the watch
		}
		if next.Type == watch.Error {
			return "", statusOf(next.Object)
		}
		var object struct {
			Metadata struct {
				ResourceVersion string `json:"resourceVersion"`
			} `json:"metadata"`
		}
		if err := json.Unmarshal(next.Object, &object); err != nil {
			return "", fmt.Errorf("decode an event: %w", err)
		}
		version = object.Metadata.ResourceVersion
		if next.Type == watch.Bookmark {
			continue
		}
		read, err := r.read(func(into any) error { return json.Unmarshal(next.Object, into) })
		if err != nil {
			return "", fmt.Errorf("decode an event: %w", err)
		}
		changed(next.Type, read)
	}
}

// statusOf returns the error in an event, or nil if it is that the version has expired.
func statusOf(object json.RawMessage) error {
	var status metav1.Status
	if err := json.Unmarshal(object, &status); err != nil {
		return fmt.Errorf("decode an event: %w", err)
	}
	if status.Code == http.StatusGone {
		return nil
	}
	return &apierrors.StatusError{ErrStatus: status}
}
