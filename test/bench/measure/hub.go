package measure

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"open-cluster-management.io/helloworld-addon/test/bench/track"
)

const (
	// markKey holds the mark by which a state of a ConfigMap is recognized.
	markKey = "mark"
	// size is that of a ConfigMap's data, keys and mark included.
	size = 1024
	// writers is how many requests are on their way where many are made.
	writers = 16
	// writeTimeout bounds one request.
	writeTimeout = 30 * time.Second
)

// hub writes the ConfigMaps.
type hub struct {
	client corev1client.ConfigMapInterface
	last   int
}

// next is a mark that was never used before.
func (h *hub) next() string {
	h.last++
	return strconv.Itoa(h.last)
}

// names are those of n ConfigMaps of a kind, from the first on.
func names(kind string, first, n int) []string {
	all := make([]string, 0, n)
	for i := first; i < first+n; i++ {
		all = append(all, fmt.Sprintf("bench-%s-%05d", kind, i))
	}
	return all
}

// configMap is one of the size, keys and mark included.
func configMap(name, mark string) *corev1.ConfigMap {
	const payloadKey = "payload"
	payload := strings.Repeat("x", size-len(markKey)-len(mark)-len(payloadKey))
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Data:       map[string]string{markKey: mark, payloadKey: payload},
	}
}

// create, change and remove write many at once and return the marks by which
// their copies are right. What is only one is written by one request.
func (h *hub) create(ctx context.Context, all ...string) (map[string]string, error) {
	return h.each(ctx, h.next(), all, func(ctx context.Context, name, mark string) error {
		if _, err := h.client.Create(ctx, configMap(name, mark), metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create ConfigMap %s on the hub: %w", name, err)
		}
		return nil
	})
}

func (h *hub) change(ctx context.Context, all ...string) (map[string]string, error) {
	return h.each(ctx, h.next(), all, func(ctx context.Context, name, mark string) error {
		if _, err := h.client.Update(ctx, configMap(name, mark), metav1.UpdateOptions{}); err != nil {
			return fmt.Errorf("change ConfigMap %s on the hub: %w", name, err)
		}
		return nil
	})
}

func (h *hub) remove(ctx context.Context, all ...string) (map[string]string, error) {
	return h.each(ctx, track.Absent, all, func(ctx context.Context, name, _ string) error {
		if err := h.client.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			return fmt.Errorf("delete ConfigMap %s on the hub: %w", name, err)
		}
		return nil
	})
}

func (h *hub) each(ctx context.Context, mark string, all []string, write func(ctx context.Context, name, mark string) error) (map[string]string, error) {
	marks := make(map[string]string, len(all))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for _, name := range all {
		marks[name] = mark
		group.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, writeTimeout)
			defer cancel()
			return write(ctx, name, mark)
		})
	}
	return marks, group.Wait()
}
