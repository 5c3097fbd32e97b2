// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package defaults

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
)

func setStorageClass(class *storagev1.StorageClass) {
	setNil(&class.ReclaimPolicy, corev1.PersistentVolumeReclaimDelete)
	setNil(&class.VolumeBindingMode, storagev1.VolumeBindingImmediate)
}

func setCSIDriver(driver *storagev1.CSIDriver) {
	spec := &driver.Spec
	setNil(&spec.AttachRequired, true)
	setNil(&spec.PodInfoOnMount, false)
	setNil(&spec.StorageCapacity, false)
	setNil(&spec.FSGroupPolicy, storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy)
	setNil(&spec.RequiresRepublish, false)
	setNil(&spec.SELinuxMount, false)
	if len(spec.VolumeLifecycleModes) == 0 {
		spec.VolumeLifecycleModes = []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecyclePersistent}
	}
}
