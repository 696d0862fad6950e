package storage

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/ptr"

	"open-cluster-management.io/helloworld-addon/sandbox/storage/plan"
)

func eventually(t *testing.T, what string, check func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !check(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("still not: %s", what)
		}
	}
}

// reportWatches returns a channel with an entry for each watch that the client has begun. The fake client loses what is
// written between an informer's list and its watch.
func reportWatches(client *fake.Clientset) <-chan struct{} {
	begun := make(chan struct{}, 10)
	client.PrependWatchReactor("*", func(action clienttesting.Action) (bool, watch.Interface, error) {
		watching, err := client.Tracker().Watch(action.GetResource(), action.GetNamespace())
		begun <- struct{}{}
		return true, watching, err
	})
	return begun
}

func TestRun(t *testing.T) {
	dir, client, events := t.TempDir(), fake.NewClientset(), record.NewFakeRecorder(10)
	watches := reportWatches(client)
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.Mkdir(outside, 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- run(ctx, client, events, dir) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	<-watches // of claims and
	<-watches // of volumes
	for uid, mode := range map[types.UID]corev1.PersistentVolumeMode{"1": corev1.PersistentVolumeFilesystem, "2": corev1.PersistentVolumeBlock} {
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data" + string(uid), Namespace: "ns", UID: uid}}
		claim.Spec.StorageClassName, claim.Spec.VolumeMode = ptr.To(plan.Class), &mode
		if _, err := client.CoreV1().PersistentVolumeClaims("ns").Create(ctx, claim, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	var volume *corev1.PersistentVolume
	eventually(t, "the volume is there", func() bool {
		var err error
		volume, err = client.CoreV1().PersistentVolumes().Get(ctx, "pvc-1", metav1.GetOptions{})
		return err == nil
	})
	path := filepath.Join(dir, "pvc-1")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != dirMode || volume.Spec.HostPath.Path != path {
		t.Errorf("its directory %s: %v, %v", volume.Spec.HostPath.Path, info, err)
	}
	select {
	case event := <-events.Events:
		if !strings.Contains(event, "ProvisioningFailed the sandbox has no block devices") {
			t.Errorf("event: %s", event)
		}
	case <-time.After(20 * time.Second):
		t.Error("no event about the claim of a block device")
	}

	if err := client.CoreV1().PersistentVolumeClaims("ns").Delete(ctx, "data1", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	volume.Status.Phase = corev1.VolumeReleased
	volume.Spec.HostPath.Path = outside // by a user
	if _, err := client.CoreV1().PersistentVolumes().Update(ctx, volume, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the released volume and its directory are gone", func() bool {
		list, err := client.CoreV1().PersistentVolumes().List(ctx, metav1.ListOptions{})
		// In a cluster, Kubernetes releases a volume that was created again because the cache still had the claim.
		for _, v := range list.Items {
			v.Status.Phase = corev1.VolumeReleased
			_, _ = client.CoreV1().PersistentVolumes().Update(ctx, &v, metav1.UpdateOptions{})
		}
		_, statErr := os.Stat(path)
		return err == nil && len(list.Items) == 0 && os.IsNotExist(statErr)
	})
	if _, err := os.Stat(outside); err != nil {
		t.Errorf("another directory: %v", err)
	}
}
