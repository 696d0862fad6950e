// Package storage provides the persistent volumes of a cluster of the sandbox: directories.
//
// A claim of the default StorageClass gets a volume at once, whatever access modes it asks
// for. When the claim is deleted, its directory is removed. A size is not enforced, a claim
// of a block device is refused in an event, and there are no snapshots. The node mounts the
// directories; package plan has the decisions.
package storage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"open-cluster-management.io/helloworld-addon/sandbox/storage/plan"
)

const (
	// retry is the delay before a failed step is tried again, requestTimeout limits one request.
	retry          = time.Second
	requestTimeout = 10 * time.Second
	// dirMode lets every user of a pod write to a volume.
	dirMode = 0o777
)

// Objects is the manifest of the default StorageClass.
const Objects = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: ` + plan.Class + `, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}
provisioner: ` + plan.Provisioner + `
reclaimPolicy: Delete
volumeBindingMode: Immediate
`

// Run provides the volumes of the cluster that config reaches, in directories below dir, until
// ctx ends.
func Run(ctx context.Context, config *rest.Config, dir string) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("client of the volumes: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("create the directory of the volumes: %w", err)
	}
	broadcaster := record.NewBroadcaster(record.WithContext(context.WithoutCancel(ctx)))
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	recorder := broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "sandbox-storage"})
	return run(ctx, client, recorder, dir)
}

func run(ctx context.Context, client kubernetes.Interface, recorder record.EventRecorder, dir string) error {
	factory := informers.NewSharedInformerFactory(client, 0)
	claims, volumes := factory.Core().V1().PersistentVolumeClaims(), factory.Core().V1().PersistentVolumes()
	changed := make(chan struct{}, 1)
	wake := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { wake() }, UpdateFunc: func(any, any) { wake() }, DeleteFunc: func(any) { wake() },
	}
	for _, informer := range []cache.SharedIndexInformer{claims.Informer(), volumes.Informer()} {
		if _, err := informer.AddEventHandler(handler); err != nil {
			return fmt.Errorf("watch claims and volumes: %w", err)
		}
	}
	factory.Start(ctx.Done())
	defer factory.Shutdown()
	factory.WaitForCacheSync(ctx.Done())
	p := provider{client: client, recorder: recorder, dir: dir, refused: map[string]bool{}}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
		wanted, err := claims.Lister().List(labels.Everything())
		there, listErr := volumes.Lister().List(labels.Everything())
		if err := errors.Join(err, listErr, p.take(ctx, plan.Next(wanted, there, dir))); err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "Cannot provide the volumes yet")
			time.AfterFunc(retry, wake)
		}
	}
}

type provider struct {
	client   kubernetes.Interface
	recorder record.EventRecorder
	dir      string
	// refused are the UIDs of the claims with an event.
	refused map[string]bool
}

// take takes the steps. It continues after an error.
func (p provider) take(ctx context.Context, steps plan.Steps) error {
	var errs []error
	for _, v := range steps.Create {
		errs = append(errs, p.create(ctx, v))
	}
	for _, v := range steps.Delete {
		errs = append(errs, p.remove(ctx, v))
	}
	for _, c := range steps.Refuse {
		if !p.refused[string(c.UID)] {
			p.recorder.Event(c, corev1.EventTypeWarning, "ProvisioningFailed", "the sandbox has no block devices: use volumeMode Filesystem")
			p.refused[string(c.UID)] = true
		}
	}
	return errors.Join(errs...)
}

func (p provider) create(ctx context.Context, v *corev1.PersistentVolume) error {
	path := v.Spec.HostPath.Path
	if err := os.MkdirAll(path, dirMode); err != nil {
		return fmt.Errorf("create the directory of volume %s: %w", v.Name, err)
	}
	if err := os.Chmod(path, dirMode); err != nil { // whatever the umask is
		return fmt.Errorf("set the mode of volume %s: %w", v.Name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	_, err := p.client.CoreV1().PersistentVolumes().Create(ctx, v, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create volume %s: %w", v.Name, err)
	}
	return nil
}

// remove removes a volume and its directory, whose path it forms itself: a user may have
// changed the object.
func (p provider) remove(ctx context.Context, v *corev1.PersistentVolume) error {
	if err := os.RemoveAll(filepath.Join(p.dir, filepath.Base(v.Name))); err != nil {
		return fmt.Errorf("remove the directory of volume %s: %w", v.Name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	err := p.client.CoreV1().PersistentVolumes().Delete(ctx, v.Name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete volume %s: %w", v.Name, err)
	}
	return nil
}
