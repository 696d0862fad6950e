package mirror

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/agent/mirror/plan"
	"open-cluster-management.io/helloworld-addon/pkg/agent/view"
)

// Writer writes the ConfigMaps of the install namespace.
type Writer interface {
	Create(ctx context.Context, object *corev1.ConfigMap, options metav1.CreateOptions) (*corev1.ConfigMap, error)
	Update(ctx context.Context, object *corev1.ConfigMap, options metav1.UpdateOptions) (*corev1.ConfigMap, error)
	Delete(ctx context.Context, name string, options metav1.DeleteOptions) error
	// Get is called for a contested copy only, to find the other writer.
	Get(ctx context.Context, name string, options metav1.GetOptions) (*corev1.ConfigMap, error)
}

// writeTimeout limits one action, including the wait for the client's rate limit.
const writeTimeout = 30 * time.Second

// write carries an action out. It returns a plan.StaleError when the object changed
// after the action was planned.
func write(ctx context.Context, writer Writer, action plan.Action) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	switch action.Kind {
	case plan.Create:
		return create(ctx, writer, action)
	case plan.Update:
		_, err := writer.Update(ctx, action.Object, metav1.UpdateOptions{FieldManager: manifests.ManagedByAgent})
		return failed("update", action.Name, err)
	case plan.Replace:
		if err := remove(ctx, writer, action); err != nil {
			return err
		}
		return create(ctx, writer, action)
	case plan.Delete:
		return remove(ctx, writer, action)
	default:
		return nil
	}
}

func create(ctx context.Context, writer Writer, action plan.Action) error {
	_, err := writer.Create(ctx, action.Object, metav1.CreateOptions{FieldManager: manifests.ManagedByAgent})
	return failed("create", action.Name, err)
}

func remove(ctx context.Context, writer Writer, action plan.Action) error {
	err := writer.Delete(ctx, action.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{
		UID: &action.UID, ResourceVersion: &action.ResourceVersion,
	}})
	return failed("delete", action.Name, err)
}

// failed returns the error of a request. A create that finds nothing has no
// namespace, and a namespace that is being deleted rejects creates: no event will
// follow that makes a new plan possible, so these are not stale.
func failed(verb, name string, err error) error {
	err = view.Steady(err)
	operation := fmt.Sprintf("%s ConfigMap %s", verb, name)
	switch {
	case err == nil:
		return nil
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return fmt.Errorf("%s: %w", operation, err)
	case apierrors.IsAlreadyExists(err), apierrors.IsConflict(err), apierrors.IsNotFound(err) && verb != "create":
		return &plan.StaleError{Operation: operation, Cause: err}
	default:
		return fmt.Errorf("%s: %w", operation, err)
	}
}

func resultOf(err error) Result {
	switch {
	case err == nil:
		return Success
	case errors.Is(err, plan.ErrStale):
		return Stale
	default:
		return Failed
	}
}

// otherManager returns the field manager of the other writer of a copy, empty if it
// is not known. The cache does not keep managed fields.
func otherManager(ctx context.Context, writer Writer, name string) string {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	object, err := writer.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return ""
	}
	return plan.OtherManager(object.ManagedFields)
}
