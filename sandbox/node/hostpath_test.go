package node

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"open-cluster-management.io/helloworld-addon/sandbox/node/plan"
)

func TestOpenHostPath(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	allowed, outside := filepath.Join(base, "allowed"), filepath.Join(base, "outside")
	for _, dir := range []string{allowed, outside, filepath.Join(allowed, "dir")} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(allowed, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"inside": "dir", "escape": outside, "dangling": filepath.Join(outside, "made")} {
		if err := os.Symlink(to, filepath.Join(allowed, name)); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(base, "link") // the allowed directory may be a link itself
	if err := os.Symlink(allowed, link); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path       string
		kind       corev1.HostPathType
		want, fail string
	}{
		{allowed, "", allowed, ""},
		{filepath.Join(allowed, "dir"), corev1.HostPathDirectory, filepath.Join(allowed, "dir"), ""},
		{filepath.Join(allowed, "file"), corev1.HostPathFile, filepath.Join(allowed, "file"), ""},
		{filepath.Join(link, "dir"), corev1.HostPathDirectory, filepath.Join(allowed, "dir"), ""},
		{filepath.Join(allowed, "inside"), "", filepath.Join(allowed, "dir"), ""},
		{filepath.Join(allowed, "new/deep"), corev1.HostPathDirectoryOrCreate, filepath.Join(allowed, "new/deep"), ""},
		{filepath.Join(allowed, "new/file"), corev1.HostPathFileOrCreate, filepath.Join(allowed, "new/file"), ""},
		{filepath.Join(allowed, "none"), corev1.HostPathDirectory, "", "does not exist"},
		{filepath.Join(allowed, "none"), "", filepath.Join(allowed, "none"), ""},
		{filepath.Join(allowed, "escape/none"), "", "", "leads out of the allowed directories"},
		{filepath.Join(allowed, "file"), corev1.HostPathDirectory, "", "is not a Directory"},
		{filepath.Join(allowed, "dir"), corev1.HostPathFile, "", "is not a File"},
		{filepath.Join(allowed, "file"), corev1.HostPathSocket, "", "is not a Socket"},
		{filepath.Join(allowed, "file"), corev1.HostPathCharDev, "", "is not a CharDevice"},
		{filepath.Join(allowed, "file"), corev1.HostPathBlockDev, "", "is not a BlockDevice"},
		{outside, "", "", "outside of the allowed directories"},
		{allowed + "/../outside", "", "", "outside of the allowed directories"},
		{allowed + "-not", "", "", "outside of the allowed directories"},
		{filepath.Join(allowed, "escape"), "", "", "leads out of the allowed directories"},
		{filepath.Join(allowed, "escape/made"), corev1.HostPathDirectoryOrCreate, "", "leads out of the allowed directories"},
		{filepath.Join(allowed, "escape/made"), corev1.HostPathFileOrCreate, "", "leads out of the allowed directories"},
		{filepath.Join(allowed, "dangling"), corev1.HostPathDirectoryOrCreate, "", "does not exist"},
		{filepath.Join(allowed, "dangling/made"), corev1.HostPathDirectoryOrCreate, "", "does not exist"},
	} {
		got, err := openHostPath(&corev1.HostPathVolumeSource{Path: c.path, Type: &c.kind}, []string{allowed, link})
		if got != c.want || (err == nil) != (c.fail == "") || err != nil && !strings.Contains(err.Error(), c.fail) {
			t.Errorf("%s as %q: got %q, %v, want %q, %q", c.path, c.kind, got, err, c.want, c.fail)
		}
	}
	if made, err := os.ReadDir(outside); err != nil || len(made) > 0 {
		t.Errorf("created outside: %v, %v", made, err)
	}
}

// A pod waits until its claim is bound, and mounts the directory.
func TestWorkerClaim(t *testing.T) {
	pod := appPod()
	pod.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data", ReadOnly: true}}}}
	pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "v", MountPath: "/data"}}
	b := newBench(t, pod)
	volumes, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b.worker.VolumeDir = volumes
	dir := filepath.Join(volumes, "pv")
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data", Namespace: "ns"}}
	if _, err := b.client.CoreV1().PersistentVolumeClaims("ns").Create(t.Context(), claim, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	b.run()
	b.stepUntil("it waits for the volume", func() error {
		if !b.told(`FailedMount MountVolume.SetUp failed for volume "v" : claim "data" is not bound`) {
			return errors.New("no event")
		}
		return nil
	})
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}, Spec: corev1.PersistentVolumeSpec{
		PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: dir, Type: ptr.To(corev1.HostPathDirectory)}}}}
	if _, err := b.client.CoreV1().PersistentVolumes().Create(t.Context(), volume, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	claim.Spec.VolumeName, claim.Status.Phase = "pv", corev1.ClaimBound
	if _, err := b.client.CoreV1().PersistentVolumeClaims("ns").Update(t.Context(), claim, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	b.stepUntil("it starts", b.isRunning())
	mounts := b.runtime.last().spec.Mounts
	if want := (Mount{Source: dir, Target: "/data", ReadOnly: true}); len(mounts) == 0 || mounts[0] != want {
		t.Errorf("mounts: %v, want %v", mounts, want)
	}
}

func TestHostPathOf(t *testing.T) {
	local := &corev1.PersistentVolume{}
	local.Spec.Local = &corev1.LocalVolumeSource{Path: "/x"}
	if got, err := plan.HostPathOf(local); err != nil || got.Path != "/x" || *got.Type != corev1.HostPathDirectory {
		t.Errorf("a local volume: %v, %v", got, err)
	}
	other := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "nfs"}}
	if _, err := plan.HostPathOf(other); fmt.Sprint(err) != `persistent volume "nfs" is neither of the kind hostPath nor local` {
		t.Errorf("another volume: %v", err)
	}
}
