package steps

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// writers is how many requests the bare writers have on their way.
	writers = 16
	// writeTimeout bounds one request.
	writeTimeout = 30 * time.Second
	// notSynced is the label of ConfigMaps that the add-on ignores, and the floor copies.
	notSynced = "helloworld.open-cluster-management.io/sync"
)

// The ConfigMaps that the steps write in every cluster's namespace.
const (
	firstMap = "fleet-first"
	ourMap   = "fleet-change"
	floorMap = "fleet-floor"
)

// write sets the mark of a ConfigMap in the namespaces of the clusters, as fast as the writers can.
// It returns when each request began.
func (f *Fleet) write(ctx context.Context, name, mark string, names []string) (map[string]time.Time, error) {
	return each(ctx, names, func(ctx context.Context, cluster string) error { return f.writeOne(ctx, cluster, name, mark) })
}

// each calls do for each cluster by as many callers as there are writers. It returns when each call began.
func each(ctx context.Context, names []string, do func(ctx context.Context, cluster string) error) (map[string]time.Time, error) {
	begun := make(map[string]time.Time, len(names))
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for _, cluster := range names {
		group.Go(func() error {
			started := time.Now()
			mu.Lock()
			begun[cluster] = started
			mu.Unlock()
			return do(ctx, cluster)
		})
	}
	return begun, group.Wait()
}

// writeOne updates the ConfigMap by one request, or creates it when there is none.
func (f *Fleet) writeOne(ctx context.Context, cluster, name, mark string) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{markKey: mark}}
	if name == floorMap {
		object.Labels = map[string]string{notSynced: "disabled"}
	}
	client := f.kube.CoreV1().ConfigMaps(cluster)
	_, err := client.Update(ctx, object, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		_, err = client.Create(ctx, object, metav1.CreateOptions{})
	}
	if err != nil {
		return fmt.Errorf("write ConfigMap %s/%s: %w", cluster, name, err)
	}
	return nil
}

// mark is one that was never used before.
func (f *Fleet) mark() string { return strconv.FormatInt(time.Now().UnixNano(), 36) }

// samples are the durations from each cluster's begin to its event. Clusters without the event are
// left out.
func samples(begun, times map[string]time.Time) []time.Duration {
	var all []time.Duration
	for cluster, from := range maps.All(begun) {
		if at, ok := times[cluster]; ok {
			all = append(all, at.Sub(from))
		}
	}
	return all
}

// gone returns nil when the error is that an object is not there.
func gone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
