package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/helloworld-addon/sandbox/node/plan"
)

// findHostVolumes finds the files and directories of the machine that the pod's volumes
// mount, once for a pod.
func (w *worker) findHostVolumes(ctx context.Context, pod *corev1.Pod) error {
	for _, v := range pod.Spec.Volumes {
		if _, known := w.volumes.host[v.Name]; known {
			continue
		}
		source, allowed := v.HostPath, w.HostPaths
		if claim := plan.ClaimOf(pod, v); claim != "" {
			var err error
			if source, err = w.claimed(ctx, pod.Namespace, claim); err != nil {
				return &volumeError{Volume: v.Name, Err: err}
			}
			allowed = append(slices.Clone(allowed), w.VolumeDir)
		}
		if source == nil {
			continue
		}
		path, err := openHostPath(source, allowed)
		if err != nil {
			return &volumeError{Volume: v.Name, Err: err}
		}
		w.volumes.host[v.Name] = path
	}
	return nil
}

// claimed returns the path of the volume that is bound to a claim. A node may read the
// claims and volumes of its pods.
func (w *worker) claimed(ctx context.Context, namespace, name string) (*corev1.HostPathVolumeSource, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	claim, err := w.client.CoreV1().PersistentVolumeClaims(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read claim %q: %w: %w", name, errNotRead, err)
	}
	if claim.Status.Phase != corev1.ClaimBound || claim.Spec.VolumeName == "" {
		return nil, fmt.Errorf("claim %q is not bound to a volume", name)
	}
	volume, err := w.client.CoreV1().PersistentVolumes().Get(ctx, claim.Spec.VolumeName, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read the volume of claim %q: %w: %w", name, errNotRead, err)
	}
	return plan.HostPathOf(volume)
}

// openHostPath creates the file or directory if the type of the source requires it, checks
// the type, and returns the path with all links resolved, which is inside of an allowed
// directory: https://kubernetes.io/docs/concepts/storage/volumes/#hostpath-volume-types
func openHostPath(source *corev1.HostPathVolumeSource, allowed []string) (string, error) {
	path, kind := filepath.Clean(source.Path), corev1.HostPathUnset
	if source.Type != nil {
		kind = *source.Type
	}
	if !plan.Within(path, allowed) {
		return "", fmt.Errorf("path %s is outside of the allowed directories", path)
	}
	// without a type nothing is checked, and container runtimes create what is missing:
	// https://github.com/containerd/containerd/blob/v1.7.29/pkg/cri/opts/spec_linux_opts.go
	if kind == corev1.HostPathUnset || kind == corev1.HostPathDirectoryOrCreate || kind == corev1.HostPathFileOrCreate {
		if err := createHostPath(path, kind, allowed); err != nil {
			return "", err
		}
	}
	resolved, err := resolveWithin(path, allowed)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(resolved)
	if err != nil {
		return "", fmt.Errorf("hostPath type check failed: %w", err)
	}
	if !isOfType(info.Mode(), kind) {
		return "", fmt.Errorf("hostPath type check failed: %s is not a %s", path, kind)
	}
	return resolved, nil
}

// createHostPath creates what does not exist, with kubelet's modes.
func createHostPath(path string, kind corev1.HostPathType, allowed []string) error {
	if _, err := os.Lstat(path); err == nil {
		return nil
	}
	// what exists of the path must not lead out
	above := filepath.Dir(path)
	for ; ; above = filepath.Dir(above) {
		if _, err := os.Lstat(above); err == nil {
			break
		}
	}
	if _, err := resolveWithin(above, allowed); err != nil {
		return err
	}
	if kind != corev1.HostPathFileOrCreate {
		if err := os.MkdirAll(path, 0o755); err != nil {
			return fmt.Errorf("create the hostPath: %w", err)
		}
		return nil
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("create the hostPath: %w", err)
	}
	return file.Close()
}

// resolveWithin resolves all links of a path, which must not lead out of the allowed
// directories.
func resolveWithin(path string, allowed []string) (string, error) {
	resolved, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("hostPath type check failed: %s does not exist", path)
	}
	if err != nil {
		return "", fmt.Errorf("resolve the links of %s: %w", path, err)
	}
	var real []string
	for _, dir := range allowed {
		if dir, err := filepath.EvalSymlinks(dir); err == nil {
			real = append(real, dir)
		}
	}
	if !plan.Within(resolved, real) {
		return "", fmt.Errorf("a symbolic link of path %s leads out of the allowed directories, to %s", path, resolved)
	}
	return resolved, nil
}

// isOfType reports whether a file's mode is that of a hostPath's type.
func isOfType(mode fs.FileMode, kind corev1.HostPathType) bool {
	switch kind {
	case corev1.HostPathDirectory, corev1.HostPathDirectoryOrCreate:
		return mode.IsDir()
	case corev1.HostPathFile, corev1.HostPathFileOrCreate:
		return mode.IsRegular()
	case corev1.HostPathSocket:
		return mode&fs.ModeSocket != 0
	case corev1.HostPathCharDev:
		return mode&fs.ModeCharDevice != 0
	case corev1.HostPathBlockDev:
		return mode&fs.ModeDevice != 0 && mode&fs.ModeCharDevice == 0
	}
	return true
}
