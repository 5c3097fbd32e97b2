// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package dataset

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The maximum of each in a Pod. The volume of the service account token is one of the volumes.
const (
	maxContainers = 4
	maxEnv        = 30
	maxVolumes    = 8
)

// randomSpec returns the spec of a Deployment's Pod template, with the API server's defaults.
func randomSpec(r random, app string) corev1.PodSpec {
	spec := corev1.PodSpec{
		Volumes:                       randomVolumes(r, app),
		RestartPolicy:                 corev1.RestartPolicyAlways,
		TerminationGracePeriodSeconds: new(int64(pick(r, 30, 30, 60, 120))),
		DNSPolicy:                     corev1.DNSClusterFirst,
		ServiceAccountName:            pick(r, "default", app),
		SecurityContext:               &corev1.PodSecurityContext{},
		SchedulerName:                 corev1.DefaultSchedulerName,
		Affinity:                      randomAffinity(r, app),
		Priority:                      new(int32(0)),
		EnableServiceLinks:            new(true),
		PreemptionPolicy:              new(corev1.PreemptLowerPriority),
	}
	spec.DeprecatedServiceAccount = spec.ServiceAccountName
	spec.Containers = randomContainers(r, app, spec.Volumes)
	if r.chance(40) {
		spec.SecurityContext = &corev1.PodSecurityContext{
			RunAsUser: new(int64(r.between(1000, 9999))), RunAsNonRoot: new(true), FSGroup: new(int64(2000)),
		}
	}
	if r.chance(30) {
		spec.NodeSelector = map[string]string{"node.kubernetes.io/pool": r.team()}
		spec.Tolerations = []corev1.Toleration{{
			Key: "dedicated", Operator: corev1.TolerationOpEqual, Value: r.team(), Effect: corev1.TaintEffectNoSchedule,
		}}
	}
	if r.chance(30) {
		spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "registry-" + r.suffix(4)}}
	}
	if r.chance(30) {
		spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: selector(app),
		}}
	}
	return spec
}

func selector(app string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app.kubernetes.io/name": app}}
}

// randomVolumes returns all volumes except that of the token.
func randomVolumes(r random, app string) []corev1.Volume {
	var volumes []corev1.Volume
	for i := range r.few(maxVolumes - 1) {
		var source corev1.VolumeSource
		switch r.IntN(5) {
		case 0:
			source.ConfigMap = &corev1.ConfigMapVolumeSource{
				LocalObjectReference: corev1.LocalObjectReference{Name: app + "-config-" + r.suffix(4)}, DefaultMode: new(int32(420)),
			}
		case 1:
			source.Secret = &corev1.SecretVolumeSource{SecretName: app + "-" + r.suffix(6), DefaultMode: new(int32(420))}
		case 2:
			source.EmptyDir = &corev1.EmptyDirVolumeSource{}
		case 3:
			source.PersistentVolumeClaim = &corev1.PersistentVolumeClaimVolumeSource{ClaimName: app + "-data-" + r.suffix(5)}
		default:
			source.HostPath = &corev1.HostPathVolumeSource{Path: "/var/lib/" + r.word(), Type: new(corev1.HostPathDirectory)}
		}
		volumes = append(volumes, corev1.Volume{Name: fmt.Sprintf("%s-%d", r.word(), i), VolumeSource: source})
	}
	return volumes
}

func randomAffinity(r random, app string) *corev1.Affinity {
	term := corev1.PodAffinityTerm{LabelSelector: selector(app), TopologyKey: corev1.LabelHostname}
	switch r.IntN(5) {
	case 0:
		return &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 100, PodAffinityTerm: term}},
		}}
	case 1:
		return &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term},
		}}
	case 2:
		return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{
					{Key: corev1.LabelArchStable, Operator: corev1.NodeSelectorOpIn, Values: []string{"amd64", "arm64"}},
					{Key: "node.kubernetes.io/pool", Operator: corev1.NodeSelectorOpNotIn, Values: []string{r.team()}},
				},
			}}},
		}}
	default:
		return nil
	}
}
