package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func claim(change func(*corev1.PersistentVolumeClaim)) *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data", Namespace: "ns", UID: "1"}}
	c.Spec.StorageClassName = ptr.To(Class)
	c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
	c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	if change != nil {
		change(c)
	}
	return c
}

func released(change func(*corev1.PersistentVolume)) *corev1.PersistentVolume {
	v := volumeFor(claim(nil), "/volumes")
	v.Status.Phase = corev1.VolumeReleased
	if change != nil {
		change(v)
	}
	return v
}

func TestNext(t *testing.T) {
	type claims = []*corev1.PersistentVolumeClaim
	type volumes = []*corev1.PersistentVolume
	for _, c := range []struct {
		name                   string
		claims                 claims
		volumes                volumes
		create, remove, refuse int
	}{
		{"new", claims{claim(nil)}, nil, 1, 0, 0},
		{"has its volume, not bound yet", claims{claim(nil)}, volumes{volumeFor(claim(nil), "/volumes")}, 0, 0, 0},
		{"bound", claims{claim(func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeName = "pvc-1" })}, nil, 0, 0, 0},
		{"another class", claims{claim(func(c *corev1.PersistentVolumeClaim) { c.Spec.StorageClassName = ptr.To("other") })}, nil, 0, 0, 0},
		{"no class", claims{claim(func(c *corev1.PersistentVolumeClaim) { c.Spec.StorageClassName = nil })}, nil, 0, 0, 0},
		{"being deleted", claims{claim(func(c *corev1.PersistentVolumeClaim) { c.DeletionTimestamp = &metav1.Time{} })}, nil, 0, 0, 0},
		{"a block device", claims{claim(func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeMode = ptr.To(corev1.PersistentVolumeBlock) })}, nil, 0, 0, 1},
		{"released", nil, volumes{released(nil)}, 0, 1, 0},
		{"still bound", nil, volumes{released(func(v *corev1.PersistentVolume) { v.Status.Phase = corev1.VolumeBound })}, 0, 0, 0},
		{"to be retained", nil, volumes{released(func(v *corev1.PersistentVolume) {
			v.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRetain
		})}, 0, 0, 0},
		{"a user's own", nil, volumes{released(func(v *corev1.PersistentVolume) { v.Annotations = nil })}, 0, 0, 0},
		{"already deleted", nil, volumes{released(func(v *corev1.PersistentVolume) { v.DeletionTimestamp = &metav1.Time{} })}, 0, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Next(c.claims, c.volumes, "/volumes")
			if len(got.Create) != c.create || len(got.Delete) != c.remove || len(got.Refuse) != c.refuse {
				t.Errorf("got %+v, want %d to create, %d to delete, %d to refuse", got, c.create, c.remove, c.refuse)
			}
		})
	}
}

func TestVolume(t *testing.T) {
	v := Next([]*corev1.PersistentVolumeClaim{claim(nil)}, nil, "/volumes").Create[0]
	if v.Name != "pvc-1" || v.Spec.HostPath.Path != "/volumes/pvc-1" || v.Spec.ClaimRef.UID != "1" || v.Spec.StorageClassName != Class {
		t.Errorf("volume: %+v", v)
	}
	if diff := cmp.Diff([]corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}, v.Spec.AccessModes); diff != "" {
		t.Error(diff)
	}
	if got := v.Spec.Capacity[corev1.ResourceStorage]; got.String() != "1Gi" {
		t.Errorf("capacity: %v", got)
	}
}
