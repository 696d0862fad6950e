package syncer

import (
	"errors"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// smallestBudget is where a status is no longer made smaller.
const smallestBudget = 1 << 10

// nextBudget is the budget after the API server said that an object is too
// large: its spec has more of the room than was thought.
func nextBudget(budget int) int { return max(budget/2, smallestBudget) }

// tooLargeTexts are how the API server hands on that an object is too large for
// etcd: the first is etcd's ErrRequestTooLarge, the second that of the client which
// does not even send it (google.golang.org/grpc).
var tooLargeTexts = []string{"etcdserver: request is too large", "trying to send message larger than max"}

// tooLarge says that an object with this status does not fit. The API server has a
// status for a request that is too large for itself; what etcd refuses is a message.
func tooLarge(err error) bool {
	var several interface{ Unwrap() []error }
	if errors.As(err, &several) {
		return slices.ContainsFunc(several.Unwrap(), tooLarge)
	}
	var answer apierrors.APIStatus
	return apierrors.IsRequestEntityTooLargeError(err) || errors.As(err, &answer) &&
		slices.ContainsFunc(tooLargeTexts, func(text string) bool { return strings.Contains(answer.Status().Message, text) })
}
