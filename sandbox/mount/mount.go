// Package mount writes the data of a Secret to a directory and updates it, as kubelet
// does for a volume: for programs of a cluster that run outside its nodes.
//
// As in kubelet, the files stay when the Secret is deleted, and a new pod waits until
// the Secret exists. Unlike kubelet, which takes up to a minute, it writes a change
// within milliseconds.
package mount

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// Volume is one Secret as a directory.
type Volume struct {
	dir, namespace, name string
	client               kubernetes.Interface

	mu   sync.Mutex
	data map[string][]byte // nil while there is no Secret
}

// New returns the volume of a Secret of the cluster that config reaches. Run starts it.
func New(config *rest.Config, namespace, name, dir string) (*Volume, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("client for the volume of secret %s/%s: %w", namespace, name, err)
	}
	return &Volume{dir: dir, namespace: namespace, name: name, client: client}, nil
}

// String names the Secret.
func (v *Volume) String() string { return "Secret " + v.namespace + "/" + v.name }

// Run updates the files until ctx ends.
func (v *Volume) Run(ctx context.Context) {
	selector := fields.OneTermEqualSelector("metadata.name", v.name)
	watch := cache.NewListWatchFromClient(v.client.CoreV1().RESTClient(), "secrets", v.namespace, selector)
	informer := cache.NewSharedIndexInformer(watch, &corev1.Secret{}, 0, nil)
	set := func(object any) { v.set(ctx, object) }
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    set,
		UpdateFunc: func(_, object any) { set(object) },
		DeleteFunc: func(any) { set(nil) },
	})
	if err != nil {
		// only a stopped informer refuses a handler
		klog.FromContext(ctx).Error(err, "Cannot watch a secret", "namespace", v.namespace, "name", v.name)
		return
	}
	informer.RunWithContext(ctx)
}

func (v *Volume) set(ctx context.Context, object any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.data = nil
	if secret, ok := object.(*corev1.Secret); ok {
		v.data = secret.Data
		if err := v.write(); err != nil {
			klog.FromContext(ctx).Error(err, "Cannot write a secret's files", "namespace", v.namespace, "name", v.name)
		}
	}
}

// write makes the files equal to the data. It replaces each file atomically.
func (v *Volume) write() error {
	if err := os.MkdirAll(v.dir, 0o700); err != nil {
		return fmt.Errorf("create a volume's directory: %w", err)
	}
	for key, content := range v.data {
		if err := replace(filepath.Join(v.dir, key), content); err != nil {
			return err
		}
	}
	entries, err := os.ReadDir(v.dir)
	if err != nil {
		return fmt.Errorf("list a volume: %w", err)
	}
	for _, entry := range entries {
		if _, ok := v.data[entry.Name()]; ok {
			continue
		}
		if err := os.Remove(filepath.Join(v.dir, entry.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove the file of a removed key: %w", err)
		}
	}
	return nil
}

func replace(file string, content []byte) error {
	if present, err := os.ReadFile(file); err == nil && bytes.Equal(present, content) {
		return nil
	}
	// beside the volume, not in it, because programs may read all its files
	temporary := filepath.Join(filepath.Dir(filepath.Dir(file)), "."+filepath.Base(filepath.Dir(file))+"."+filepath.Base(file))
	if err := os.WriteFile(temporary, content, 0o600); err != nil {
		return fmt.Errorf("write a volume's file: %w", err)
	}
	if err := os.Rename(temporary, file); err != nil {
		return fmt.Errorf("write a volume's file: %w", err)
	}
	return nil
}

// Ready reports whether a new pod with this volume could start. If so, it writes the
// files, which a restarted program may have removed.
func (v *Volume) Ready() (bool, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.data == nil {
		return false, nil
	}
	return true, v.write()
}
