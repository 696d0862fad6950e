package status

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"open-cluster-management.io/helloworld-addon/pkg/kubectl/listing"
)

// watchTimeout is after how long the API server ends a watch, which is then begun again.
const watchTimeout = 5 * time.Minute

// errNotServed reports that the API server does not know the resource.
var errNotServed = errors.New("the hub does not serve the resource")

// hub reads resources of the hub, into the few fields that are used.
type hub struct{ *listing.Client }

func newHub(config *rest.Config) (*hub, error) {
	client, err := listing.New(config)
	return &hub{client}, err
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
	version, err := h.Each(ctx, listing.List{Path: path, Parameters: r.parameters}, func(decode func(any) error) error {
		read, err := r.read(decode)
		if err == nil {
			entries[read.key] = read
		}
		return err
	})
	if err != nil {
		return nil, "", err
	}
	return entries, version, nil
}

// event is one of a watch.
type event struct {
	Type   watch.EventType `json:"type"`
	Object json.RawMessage `json:"object"`
}

// watch calls changed for each change after version until the watch ends. It returns the version to go on from, which is
// empty if a list is needed first.
func (h *hub) watch(ctx context.Context, r resource, path, version string, changed func(watch.EventType, entry)) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, watchTimeout+h.Timeout)
	defer cancel()
	body, err := h.Request(listing.List{Path: path, Parameters: r.parameters}).Param("watch", "true").Param("allowWatchBookmarks", "true").
		Param("timeoutSeconds", strconv.Itoa(int(watchTimeout.Seconds()))).Param("resourceVersion", version).Stream(ctx)
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return "", nil
	}
	if err != nil {
		return version, h.Explain(ctx, err)
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
