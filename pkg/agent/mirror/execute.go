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
	"open-cluster-management.io/helloworld-addon/pkg/agent/view"
)

// Writer writes the ConfigMaps of the install namespace.
type Writer interface {
	Create(ctx context.Context, object *corev1.ConfigMap, options metav1.CreateOptions) (*corev1.ConfigMap, error)
	Update(ctx context.Context, object *corev1.ConfigMap, options metav1.UpdateOptions) (*corev1.ConfigMap, error)
	Delete(ctx context.Context, name string, options metav1.DeleteOptions) error
}

// writeTimeout bounds one write, waiting for the client's rate limit included.
const writeTimeout = 30 * time.Second

// errStale says that the cache was behind: the object is not as it was planned
// on. Nothing was written. An event with the present object is on its way.
var errStale = errors.New("the cache is behind the API server")

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
		return fmt.Errorf("%s ConfigMap %s: %w: %w", verb, name, errStale, err)
	default:
		return fmt.Errorf("%s ConfigMap %s: %w", verb, name, err)
	}
}

// isGone: a create that finds nothing has no namespace to go to, which no
// event will mend.
func isGone(verb string, err error) bool {
	return verb != "create" && apierrors.IsNotFound(err)
}
