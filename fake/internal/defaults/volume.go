// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package defaults

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// setPodVolume sets the defaults of a volume of a Pod. One without a source is an emptyDir.
func setPodVolume(volume *corev1.VolumeSource) {
	setZero(volume, corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}})
	if volume.Secret != nil {
		setNil(&volume.Secret.DefaultMode, corev1.SecretVolumeSourceDefaultMode)
	}
	if volume.ConfigMap != nil {
		setNil(&volume.ConfigMap.DefaultMode, corev1.ConfigMapVolumeSourceDefaultMode)
	}
	if volume.DownwardAPI != nil {
		setNil(&volume.DownwardAPI.DefaultMode, corev1.DownwardAPIVolumeSourceDefaultMode)
		setDownwardFiles(volume.DownwardAPI.Items)
	}
	if volume.Projected != nil {
		setProjected(volume.Projected)
	}
	if volume.Ephemeral != nil && volume.Ephemeral.VolumeClaimTemplate != nil {
		setClaimSpec(&volume.Ephemeral.VolumeClaimTemplate.Spec)
	}
	if volume.Image != nil {
		setImage(volume.Image)
	}
	setHostPath(volume.HostPath)
	setAzureDisk(volume.AzureDisk)
	if volume.ISCSI != nil {
		setZero(&volume.ISCSI.ISCSIInterface, "default")
	}
	if rbd := volume.RBD; rbd != nil {
		setRBD(&rbd.RBDPool, &rbd.RadosUser, &rbd.Keyring)
	}
	if volume.ScaleIO != nil {
		setScaleIO(&volume.ScaleIO.StorageMode, &volume.ScaleIO.FSType)
	}
}

// setVolume sets the defaults of a PersistentVolume.
func setVolume(volume *corev1.PersistentVolume) {
	setZero(&volume.Status.Phase, corev1.VolumePending)
	spec := &volume.Spec
	setZero(&spec.PersistentVolumeReclaimPolicy, corev1.PersistentVolumeReclaimRetain)
	setNil(&spec.VolumeMode, corev1.PersistentVolumeFilesystem)
	roundUp(spec.Capacity)
	setHostPath(spec.HostPath)
	setAzureDisk(spec.AzureDisk)
	if spec.ISCSI != nil {
		setZero(&spec.ISCSI.ISCSIInterface, "default")
	}
	if rbd := spec.RBD; rbd != nil {
		setRBD(&rbd.RBDPool, &rbd.RadosUser, &rbd.Keyring)
	}
	if spec.ScaleIO != nil {
		setScaleIO(&spec.ScaleIO.StorageMode, &spec.ScaleIO.FSType)
	}
}

// setClaim sets the defaults of a PersistentVolumeClaim.
func setClaim(claim *corev1.PersistentVolumeClaim) {
	setZero(&claim.Status.Phase, corev1.ClaimPending)
	setClaimSpec(&claim.Spec)
	roundUp(claim.Status.Capacity)
	roundUp(claim.Status.AllocatedResources)
}

func setClaimSpec(spec *corev1.PersistentVolumeClaimSpec) {
	setNil(&spec.VolumeMode, corev1.PersistentVolumeFilesystem)
	roundUp(spec.Resources.Limits)
	roundUp(spec.Resources.Requests)
}

func setDownwardFiles(files []corev1.DownwardAPIVolumeFile) {
	for i := range files {
		setFieldRef(files[i].FieldRef)
	}
}

func setProjected(volume *corev1.ProjectedVolumeSource) {
	setNil(&volume.DefaultMode, corev1.ProjectedVolumeSourceDefaultMode)
	for _, source := range volume.Sources {
		if source.DownwardAPI != nil {
			setDownwardFiles(source.DownwardAPI.Items)
		}
		if source.ServiceAccountToken != nil {
			setNil(&source.ServiceAccountToken.ExpirationSeconds, 3600)
		}
	}
}

func setImage(image *corev1.ImageVolumeSource) {
	setZero(&image.PullPolicy, pullPolicy(image.Reference))
}

func setHostPath(volume *corev1.HostPathVolumeSource) {
	if volume != nil {
		setNil(&volume.Type, corev1.HostPathUnset)
	}
}

func setAzureDisk(volume *corev1.AzureDiskVolumeSource) {
	if volume == nil {
		return
	}
	setNil(&volume.CachingMode, corev1.AzureDataDiskCachingReadWrite)
	setNil(&volume.FSType, "ext4")
	setNil(&volume.ReadOnly, false)
	setNil(&volume.Kind, corev1.AzureSharedBlobDisk)
}

func setRBD(pool, user, keyring *string) {
	setZero(pool, "rbd")
	setZero(user, "admin")
	setZero(keyring, "/etc/ceph/keyring")
}

func setScaleIO(mode, fsType *string) {
	setZero(mode, "ThinProvisioned")
	setZero(fsType, "xfs")
}

// roundUp rounds quantities up to thousandths.
func roundUp(list corev1.ResourceList) {
	for name, quantity := range list {
		rounded := quantity.DeepCopy()
		if !rounded.RoundUp(resource.Milli) {
			list[name] = rounded
		}
	}
}
