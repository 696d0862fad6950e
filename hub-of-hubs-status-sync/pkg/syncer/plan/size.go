package plan

import (
	"errors"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// minBudget is the smallest budget of a status, in bytes of JSON.
const minBudget = 1 << 10

// NextBudget returns the budget to try after the API server rejected an object as
// too large: its spec and metadata take more of etcd's limit than assumed.
func NextBudget(budget int) int { return max(budget/2, minBudget) }

// tooLargeTexts are the messages with which the API server passes on that an
// object exceeds etcd's limit: ErrRequestTooLarge of etcd
// (https://github.com/etcd-io/etcd/blob/v3.6.0/server/etcdserver/errors/errors.go),
// and the error of its gRPC client, which does not send the request at all.
var tooLargeTexts = []string{"etcdserver: request is too large", "trying to send message larger than max"}

// TooLarge reports whether a write failed because the object is too large, so that
// a smaller status may succeed. The API server answers 413 for a request that
// exceeds its own limit; etcd's rejection arrives as a message only.
func TooLarge(err error) bool {
	var several interface{ Unwrap() []error }
	if errors.As(err, &several) {
		return slices.ContainsFunc(several.Unwrap(), TooLarge)
	}
	var answer apierrors.APIStatus
	return apierrors.IsRequestEntityTooLargeError(err) || errors.As(err, &answer) &&
		slices.ContainsFunc(tooLargeTexts, func(text string) bool { return strings.Contains(answer.Status().Message, text) })
}
