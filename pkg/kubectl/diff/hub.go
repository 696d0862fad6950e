package diff

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/pkg/kubectl/diff/plan"
	"open-cluster-management.io/helloworld-addon/pkg/kubectl/listing"
)

// errNotServed is the answer of a hub without ConfigMapReplicaSets.
var errNotServed = errors.New("this hub does not serve ConfigMapReplicaSets: their controller is optional, see docs/install.md#distribution")

// hub reads the hub, and asks it what a write would do. Every write is a dry run, which stores nothing.
// https://kubernetes.io/docs/reference/using-api/api-concepts/#dry-run
type hub struct{ *listing.Client }

// writes are the flags of kubectl apply that matter for a write.
type writes struct {
	serverSide, force bool
	manager           string
}

// The field managers of kubectl apply, by default.
const (
	clientSideManager = "kubectl-client-side-apply"
	serverSideManager = "kubectl"
)

func (w writes) fieldManager() string {
	switch {
	case w.manager != "":
		return w.manager
	case w.serverSide:
		return serverSideManager
	}
	return clientSideManager
}

// collection returns the path of the objects of a kind in a namespace.
func collection(object plan.FileObject) string {
	if object.Kind == plan.SetKind {
		return "/apis/" + v1alpha1.GroupVersion.String() + "/namespaces/" + object.Namespace + "/configmapreplicasets"
	}
	return "/api/v1/namespaces/" + object.Namespace + "/configmaps"
}

// isNotServed reports whether the hub does not know the resource. A path that no API serves is answered with a text, an object
// that does not exist with a Status.
func isNotServed(err error) bool {
	return apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// live returns an object as it is stored, or nothing if it does not exist.
func (h *hub) live(ctx context.Context, object plan.FileObject) ([]byte, error) {
	// The sources of a set of the file were validated by nobody, where the caller may not write it.
	if err := plan.CheckKey(object.Key); err != nil {
		return nil, err
	}
	var raw json.RawMessage
	err := h.Get(ctx, collection(object)+"/"+object.Name, &raw)
	if apierrors.IsNotFound(err) && !isNotServed(err) {
		return nil, nil
	}
	return raw, err
}

// outcome is what applying an object makes of it.
type outcome struct {
	live, after []byte
	failure     *plan.Failure
	// notAsked is why the API server was not asked whether it accepts the write, or nil.
	notAsked error
}

// ask returns what applying an object makes of it, by the API server's word or, where the caller may not write, by merging.
func (h *hub) ask(ctx context.Context, object plan.FileObject, w writes, newNamespaces map[string]bool) outcome {
	var o outcome
	var err error
	if o.live, err = h.live(ctx, object); err != nil {
		o.failure = &plan.Failure{Reason: "NotRead", Message: "it could not be read: " + err.Error()}
		return o
	}
	apply, err := plan.NewApply(object, o.live)
	if err != nil {
		o.failure = &plan.Failure{Reason: "Refused", Message: err.Error()}
		return o
	}
	if apply.Nothing && !w.serverSide {
		o.after = o.live
		return o
	}
	o.after, err = h.Do(ctx, h.dryRun(object, apply, w))
	switch {
	case err == nil:
		return o
	case apierrors.IsNotFound(err) && len(o.live) == 0 && newNamespaces[object.Namespace]:
		// The namespace is applied with the object, before it.
	case mayNotWrite(err) && !w.serverSide, hasNoDryRun(err):
		o.notAsked = err
	case isAnswer(err):
		o.failure = &plan.Failure{Reason: "Refused", Message: "the API server refuses it: " + err.Error() + plan.Advice(object, o.live)}
		return o
	default:
		o.failure = &plan.Failure{Reason: "NotAsked", Message: "the API server did not tell whether it accepts it: " + err.Error()}
		return o
	}
	o.after = apply.Merged
	if problem := plan.Invalid(object, o.live, o.after); problem != "" {
		o.failure = &plan.Failure{Reason: "Refused", Message: problem + plan.Advice(object, o.live)}
	}
	return o
}

// dryRun returns the write of an object as a dry run.
func (h *hub) dryRun(object plan.FileObject, apply plan.Apply, w writes) *rest.Request {
	path := collection(object)
	var request *rest.Request
	switch {
	case w.serverSide:
		request = h.REST.Patch(types.ApplyPatchType).AbsPath(path+"/"+object.Name).Param("force", strconv.FormatBool(w.force)).Body(object.Raw)
	case apply.Create:
		request = h.REST.Post().AbsPath(path).SetHeader("Content-Type", "application/json").Body(apply.Body)
	default:
		request = h.REST.Patch(apply.PatchType).AbsPath(path + "/" + object.Name).Body(apply.Body)
	}
	return request.SetHeader("Accept", "application/json").Param("dryRun", metav1.DryRunAll).
		Param("fieldManager", w.fieldManager()).Param("fieldValidation", metav1.FieldValidationStrict)
}

// isAnswer reports whether an error is the API server's judgement of the object.
func isAnswer(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && !apierrors.IsTimeout(err) && !apierrors.IsServerTimeout(err) && !apierrors.IsTooManyRequests(err) &&
		!apierrors.IsServiceUnavailable(err) && !apierrors.IsUnauthorized(err)
}

// mayNotWrite reports whether the caller lacks the right for a write. A quota or a webhook that refuses an object answers with
// the same code and other words.
// https://github.com/kubernetes/apiserver/blob/v0.35.4/pkg/endpoints/handlers/responsewriters/errors.go (forbiddenMessage)
func mayNotWrite(err error) bool {
	return apierrors.IsForbidden(err) && (strings.Contains(err.Error(), " cannot create resource ") || strings.Contains(err.Error(), " cannot patch resource "))
}

// hasNoDryRun reports whether a webhook that a write would pass has side effects, so that the API server does not call it for a
// dry run.
// https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#side-effects
func hasNoDryRun(err error) bool {
	return apierrors.IsBadRequest(err) && strings.Contains(err.Error(), "does not support dry run")
}

// parallel is how many requests are under way at the same time.
const parallel = 16

// each calls do for each index below n, some at the same time.
func each(n int, do func(i int)) {
	var group errgroup.Group
	group.SetLimit(parallel)
	for i := range n {
		group.Go(func() error {
			do(i)
			return nil
		})
	}
	_ = group.Wait() // none returns an error
}
