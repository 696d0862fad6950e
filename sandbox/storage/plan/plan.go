// Package plan decides which persistent volumes a cluster of the sandbox gets and loses. It
// does no IO.
package plan

import (
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The sandbox's StorageClass, and the name of its provisioner.
const (
	Class       = "sandbox"
	Provisioner = "sandbox.open-cluster-management.io/directory"
)

// annotationProvisionedBy names a volume's provisioner, as in external provisioners:
// https://kubernetes.io/docs/reference/labels-annotations-taints/#pv-kubernetes-io-provisioned-by
const annotationProvisionedBy = "pv.kubernetes.io/provisioned-by"

// Steps are the next steps for a cluster's claims and volumes.
type Steps struct {
	// Create are the volumes to create, each with its directory, for waiting claims.
	Create []*corev1.PersistentVolume
	// Delete are the volumes to delete, each with its directory, because their claims are
	// gone.
	Delete []*corev1.PersistentVolume
	// Refuse are the claims that ask for a block device.
	Refuse []*corev1.PersistentVolumeClaim
}

// Next returns the steps for all claims and volumes of a cluster. dir is the directory of the
// volumes' directories.
func Next(claims []*corev1.PersistentVolumeClaim, volumes []*corev1.PersistentVolume, dir string) Steps {
	var steps Steps
	there := map[string]bool{}
	for _, v := range volumes {
		there[v.Name] = true
		if v.Annotations[annotationProvisionedBy] == Provisioner && v.Status.Phase == corev1.VolumeReleased &&
			v.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete && v.DeletionTimestamp == nil {
			steps.Delete = append(steps.Delete, v)
		}
	}
	for _, c := range claims {
		switch {
		case c.Spec.StorageClassName == nil || *c.Spec.StorageClassName != Class || c.Spec.VolumeName != "" || c.DeletionTimestamp != nil:
		case c.Spec.VolumeMode != nil && *c.Spec.VolumeMode == corev1.PersistentVolumeBlock:
			steps.Refuse = append(steps.Refuse, c)
		case !there[nameOf(c)]:
			steps.Create = append(steps.Create, volumeFor(c, dir))
		}
	}
	return steps
}

// nameOf returns the name of a claim's volume, as external provisioners form it.
func nameOf(c *corev1.PersistentVolumeClaim) string { return "pvc-" + string(c.UID) }

func volumeFor(c *corev1.PersistentVolumeClaim, dir string) *corev1.PersistentVolume {
	name, directory := nameOf(c), corev1.HostPathDirectory
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{annotationProvisionedBy: Provisioner}},
		Spec: corev1.PersistentVolumeSpec{
			StorageClassName:              Class,
			AccessModes:                   c.Spec.AccessModes,
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: c.Spec.Resources.Requests[corev1.ResourceStorage]},
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
			ClaimRef: &corev1.ObjectReference{
				APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: c.Namespace, Name: c.Name, UID: c.UID,
			},
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				HostPath: &corev1.HostPathVolumeSource{Path: filepath.Join(dir, name), Type: &directory},
			},
		},
	}
}
