// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"net/netip"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/api/validation"
)

// maxCronJobName leaves room for the suffix of the names of the Jobs, which are DNS labels.
const maxCronJobName = 52

// ValidateName returns what is wrong with the name of a new object, or with the prefix of a
// generated one. The rules are those of kube-apiserver 1.36, except that it checks the names of few
// kinds against the rest of the object.
func (r *Resource) ValidateName(name string, prefix bool) []string {
	switch kind := r.Stored.GroupKind().String(); kind {
	case "Namespace", "Service", "StatefulSet.apps":
		return validation.NameIsDNSLabel(name, prefix)
	case "CronJob.batch":
		return validateCronJobName(name, prefix)
	case "IPAddress.networking.k8s.io":
		if _, err := netip.ParseAddr(name); err != nil {
			return []string{"must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"}
		}
		return nil
	default:
		if isPathName(kind) {
			return validatePathSegment(name, prefix)
		}
		return validation.NameIsDNSSubdomain(name, prefix)
	}
}

// isPathName reports whether names of a kind only have to fit in a path.
func isPathName(kind string) bool {
	switch kind {
	case "Event", "PodDisruptionBudget.policy",
		"Role.rbac.authorization.k8s.io", "RoleBinding.rbac.authorization.k8s.io",
		"ClusterRole.rbac.authorization.k8s.io", "ClusterRoleBinding.rbac.authorization.k8s.io",
		"CertificateSigningRequest.certificates.k8s.io", "ClusterTrustBundle.certificates.k8s.io",
		"StorageVersion.internal.apiserver.k8s.io":
		return true
	}
	return false
}

func validatePathSegment(name string, prefix bool) []string {
	if prefix {
		return content.IsPathSegmentPrefix(name)
	}
	return content.IsPathSegmentName(name)
}

func validateCronJobName(name string, prefix bool) []string {
	errs := validation.NameIsDNSSubdomain(name, prefix)
	if !prefix && len(name) > maxCronJobName {
		errs = append(errs, "must be no more than 52 characters")
	}
	return errs
}
