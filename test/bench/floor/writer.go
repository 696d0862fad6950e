package floor

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// writer writes the copies of its share of the names.
type writer struct {
	copies    *configMaps
	namespace string
	known     map[string]version
}

func (w *writer) run(ctx context.Context, changes <-chan change) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case c := <-changes:
			if err := w.write(ctx, c); err != nil {
				return fmt.Errorf("copy ConfigMap %s: %w", c.name, err)
			}
		}
	}
}

// write makes the one request that the change needs.
func (w *writer) write(ctx context.Context, c change) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	v, exists := w.known[c.name]
	var written *corev1.ConfigMap
	var err error
	switch {
	case c.source == nil && !exists:
		return nil
	case c.source == nil:
		delete(w.known, c.name)
		return w.copies.Delete(ctx, c.name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{
			UID: &v.uid, ResourceVersion: &v.resourceVersion,
		}})
	case exists:
		written, err = w.copies.Update(ctx, copyOf(c.source, w.namespace, v), metav1.UpdateOptions{})
	default:
		written, err = w.copies.Create(ctx, copyOf(c.source, w.namespace, version{}), metav1.CreateOptions{})
	}
	if err != nil {
		return err
	}
	w.known[c.name] = versionOf(written)
	return nil
}
