package hubclient

import (
	"context"
	"errors"
	"net/http"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// lostError is for a read to which there was no answer. client-go's informers
// take it for a connection that was refused, whatever the cause: they wait,
// longer and longer and with jitter, and go on from where they were. Left as it
// is, an end of the connection would have them try again every second for ever,
// and take the failure for a watch without events; other causes would have them
// list everything (k8s.io/client-go/rest, Request.Watch; tools/cache,
// isWatchErrorRetriable).
type lostError struct {
	text string
}

func lost(err error) error {
	if utilnet.IsProbableEOF(err) {
		// client-go knows these by their text, too.
		return &lostError{text: "the connection ended before there was an answer"}
	}
	return &lostError{text: oneLine(err)}
}

func (e *lostError) Error() string { return e.text }

// Unwrap makes it a refused connection.
func (e *lostError) Unwrap() error { return syscall.ECONNREFUSED }

// errUnauthorized is what the hub answers to somebody whom it does not know.
var errUnauthorized = apierrors.NewUnauthorized("the hub does not know the credentials")

// failureOf says what the outcome of a request tells about the connection: why
// the hub did not answer, nil: it did; and whether it tells anything. Only reads
// do: informers ask until there is an answer, so that a failure is not
// remembered for longer than it lasts.
func failureOf(request *http.Request, response *http.Response, err error) (failure error, tells bool) {
	switch {
	case request.Method != http.MethodGet:
		return nil, false
	case errors.Is(context.Cause(request.Context()), context.Canceled):
		// Nobody waits for the answer any more.
		return nil, false
	case err != nil:
		return lost(err), true
	case response.StatusCode == http.StatusUnauthorized:
		return errUnauthorized, true
	default:
		return nil, true
	}
}
