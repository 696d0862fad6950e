package mirror

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/agent/view"
)

// Writer writes the ConfigMaps of the install namespace.
type Writer interface {
	Create(ctx context.Context, object *corev1.ConfigMap, options metav1.CreateOptions) (*corev1.ConfigMap, error)
	Update(ctx context.Context, object *corev1.ConfigMap, options metav1.UpdateOptions) (*corev1.ConfigMap, error)
	Delete(ctx context.Context, name string, options metav1.DeleteOptions) error
	// Get is used for a contested copy only, to find out who else writes it.
	Get(ctx context.Context, name string, options metav1.GetOptions) (*corev1.ConfigMap, error)
}

// writeTimeout bounds one write, waiting for the client's rate limit included.
const writeTimeout = 30 * time.Second

// execute carries an action out. It returns errStale, wrapped, when the object
// had changed since the cache saw it.
func execute(ctx context.Context, writer Writer, action Action) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	switch action.Kind {
	case Create:
		return create(ctx, writer, action)
	case Update:
		_, err := writer.Update(ctx, action.Object, metav1.UpdateOptions{FieldManager: manifests.ManagedByAgent})
		return failed("update", action.Name, err)
	case Replace:
		if err := remove(ctx, writer, action); err != nil {
			return err
		}
		return create(ctx, writer, action)
	case Delete:
		return remove(ctx, writer, action)
	default:
		return nil
	}
}

func create(ctx context.Context, writer Writer, action Action) error {
	_, err := writer.Create(ctx, action.Object, metav1.CreateOptions{FieldManager: manifests.ManagedByAgent})
	return failed("create", action.Name, err)
}

func remove(ctx context.Context, writer Writer, action Action) error {
	err := writer.Delete(ctx, action.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{
		UID: &action.UID, ResourceVersion: &action.ResourceVersion,
	}})
	return failed("delete", action.Name, err)
}

func failed(verb, name string, err error) error {
	err = view.Steady(err)
	switch {
	case err == nil:
		return nil
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return fmt.Errorf("%s ConfigMap %s: %w", verb, name, err)
	case apierrors.IsAlreadyExists(err), apierrors.IsConflict(err), isGone(verb, err):
		return &staleError{action: fmt.Sprintf("%s ConfigMap %s", verb, name), cause: err}
	default:
		return fmt.Errorf("%s ConfigMap %s: %w", verb, name, err)
	}
}

// isGone: a create that finds nothing has no namespace to go to, which no
// event will mend.
func isGone(verb string, err error) bool {
	return verb != "create" && apierrors.IsNotFound(err)
}
