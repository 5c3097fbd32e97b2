// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package dataset

import (
	"fmt"

	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PackPriorityClasses packs n priority classes.
func PackPriorityClasses(n int) (*Packed, error) {
	return packAll(schedulingv1.SchemeGroupVersion.WithKind("PriorityClass"), false, n, func(i int) (metav1.Object, []byte, error) {
		r := newRandom(1, streamPriorityClass, i)
		return encoded(&schedulingv1.PriorityClass{
			ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprintf("%s-%d", r.team(), i), UID: r.uid(), ResourceVersion: Version(i), CreationTimestamp: r.moment(60),
			},
			Value: int32(1000 * i), Description: "Pods of " + r.word(),
		})
	})
}
