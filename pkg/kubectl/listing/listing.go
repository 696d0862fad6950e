// Package listing reads lists of the hub in pages, for the plugin's commands. The objects of a page are decoded one by
// one while they arrive: the lists of 5,000 clusters have 100 MB, most of it in fields that no command uses.
package listing

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
)

const (
	// PageSize is as in kubectl. https://kubernetes.io/docs/reference/using-api/api-concepts/#retrieving-large-results-sets-in-chunks
	PageSize = 500
	// requestTimeout is how long one page may take, unless --request-timeout is set.
	requestTimeout = 30 * time.Second
	// metadataOnly makes the API server send the metadata of the objects of a list, and nothing else.
	// https://kubernetes.io/docs/reference/using-api/api-concepts/
	metadataOnly = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
)

// Client reads the hub. Its Timeout is that of each request.
type Client struct {
	REST    rest.Interface
	Host    string
	Timeout time.Duration
}

// New returns a client of the hub.
func New(config *rest.Config) (*Client, error) {
	c := rest.CopyConfig(config)
	client := &Client{Host: c.Host, Timeout: requestTimeout}
	if c.Timeout > 0 {
		client.Timeout = c.Timeout
	}
	// Each request has its own: a watch takes longer than a page.
	c.Timeout = 0
	// A few dozen requests, one after the other for each resource: they need no limit, and no version
	// that the hub calls deprecated is the user's matter.
	c.QPS, c.WarningHandler = -1, rest.NoWarnings{}
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"}) // the API server's errors
	c.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	var err error
	if client.REST, err = rest.UnversionedRESTClientFor(c); err != nil {
		return nil, fmt.Errorf("create the client of %s: %w", c.Host, err)
	}
	return client, nil
}

// List is a list to read.
type List struct {
	Path string
	// Parameters are those of the request. An empty one is left out.
	Parameters map[string]string
	// MetadataOnly reads nothing but the metadata of the objects.
	MetadataOnly bool
}

// Request returns a request for the list, or for one object at its path.
func (c *Client) Request(list List) *rest.Request {
	accept := "application/json"
	if list.MetadataOnly {
		accept = metadataOnly
	}
	request := c.REST.Get().AbsPath(list.Path).SetHeader("Accept", accept)
	for name, value := range list.Parameters {
		if value != "" {
			request = request.Param(name, value)
		}
	}
	return request
}

// Do sends a request, and returns the body of the answer.
func (c *Client) Do(ctx context.Context, request *rest.Request) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	result := request.Do(ctx)
	// Only Error reads the API server's Status: Raw's error has no message of it.
	if err := result.Error(); err != nil {
		return nil, c.Explain(ctx, err)
	}
	return result.Raw()
}

// Get reads the object at a path.
func (c *Client) Get(ctx context.Context, path string, object any) error {
	raw, err := c.Do(ctx, c.Request(List{Path: path}))
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, object)
}

// Each calls item for each object of a list, with a function that decodes it. It returns the list's resource version.
func (c *Client) Each(ctx context.Context, list List, item func(decode func(any) error) error) (version string, err error) {
	for next := ""; ; {
		meta, err := c.page(ctx, list, next, item)
		if err != nil {
			return "", err
		}
		if next = meta.Continue; next == "" {
			return meta.ResourceVersion, nil
		}
	}
}

func (c *Client) page(ctx context.Context, list List, next string, item func(decode func(any) error) error) (meta metav1.ListMeta, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	request := c.Request(list).Param("limit", strconv.Itoa(PageSize))
	if next != "" {
		request = request.Param("continue", next)
	}
	body, err := request.Stream(ctx)
	if err != nil {
		return meta, c.Explain(ctx, err)
	}
	defer func() { err = errors.Join(err, body.Close()) }()
	if meta, err = decodeList(body, item); err != nil {
		return meta, c.Explain(ctx, err)
	}
	return meta, nil
}

// Explain returns the error of a request, or that it took too long. ctx is that of the request.
func (c *Client) Explain(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("no answer within %s (--request-timeout sets another time)", c.Timeout)
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
