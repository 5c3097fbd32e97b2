// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// accountPath is the mount path of the service account's token.
const accountPath = "/var/run/secrets/kubernetes.io/serviceaccount"

func podSpec(d draw, app string) corev1.PodSpec {
	spec := corev1.PodSpec{
		ServiceAccountName: app,
		Volumes:            append(volumes(d, app), accountVolume(d)),
		Tolerations:        tolerations(),
		Affinity:           affinity(d, app),
		SecurityContext:    &corev1.PodSecurityContext{RunAsNonRoot: new(true), FSGroup: new(int64(d.between(1000, 9999)))},
	}
	if d.chance(25) {
		spec.InitContainers = []corev1.Container{container(d, "init-config", app, 0, spec.Volumes)}
	}
	for i, name := range []string{"app", "istio-proxy", "log-shipper", "metrics"}[:pick(d, 1, 1, 1, 1, 1, 2, 2, 2, 3, 4)] {
		c := container(d, name, app, i+1, spec.Volumes)
		port := corev1.ContainerPort{Name: fmt.Sprintf("http-%d", i), ContainerPort: int32(8080 + i), Protocol: corev1.ProtocolTCP}
		c.Ports = []corev1.ContainerPort{port}
		c.ReadinessProbe = probe(d, "/ready", port.Name)
		if i == 0 {
			c.LivenessProbe = probe(d, "/healthz", port.Name)
		}
		spec.Containers = append(spec.Containers, c)
	}
	return spec
}

// container returns a container. Number 1 is the application and mounts all volumes; the others are
// init containers and sidecars.
func container(d draw, name, app string, number int, volumes []corev1.Volume) corev1.Container {
	c := corev1.Container{
		Name:  name,
		Image: fmt.Sprintf("registry.example.com/%s/%s:%d.%d.%d", app, name, d.IntN(9), d.IntN(40), d.IntN(99)),
		Args:  []string{"--config=/etc/" + app + "/config.yaml", fmt.Sprintf("--workers=%d", d.between(1, 64))},
		Env:   env(d, app, number),
		Resources: corev1.ResourceRequirements{
			Requests: resources(d.between(50, 500), d.between(64, 512)),
			Limits:   resources(d.between(500, 2000), d.between(512, 4096)),
		},
		SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true)},
	}
	for i, v := range volumes {
		if number != 1 && i > 1 && v.Projected == nil {
			continue
		}
		path := "/etc/" + v.Name
		if v.Projected != nil {
			path = accountPath
		}
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: v.Name, MountPath: path, ReadOnly: v.EmptyDir == nil})
	}
	return c
}

func resources(milliCPU, mebibytes int) corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse(fmt.Sprintf("%dm", milliCPU)),
		corev1.ResourceMemory: resource.MustParse(fmt.Sprintf("%dMi", mebibytes)),
	}
}

// env returns environment variables: most for the application, as in production, where sidecars are
// configured by files.
func env(d draw, app string, number int) []corev1.EnvVar {
	most := 1
	if number == 1 {
		most = pick(d, 2, 4, 8, 30)
	}
	var vars []corev1.EnvVar
	for i := range d.between(0, most) {
		v := corev1.EnvVar{Name: fmt.Sprintf("%s_%d", pick(d, "DB_HOST", "CACHE_URL", "FEATURE", "TIMEOUT", "QUEUE"), i)}
		switch d.IntN(4) {
		case 0:
			v.ValueFrom = &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: app + "-env"}, Key: d.suffix(8)}}
		case 1:
			v.ValueFrom = &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "status.podIP"}}
		default:
			v.Value = fmt.Sprintf("%s.%s.svc.cluster.local:%d", d.suffix(6), d.suffix(5), d.between(1024, 9999))
		}
		vars = append(vars, v)
	}
	return vars
}

func volumes(d draw, app string) []corev1.Volume {
	var all []corev1.Volume
	for i := range d.between(0, pick(d, 1, 2, 7)) {
		v := corev1.Volume{Name: fmt.Sprintf("%s-%d", pick(d, "config", "tls", "cache", "rules"), i)}
		switch i % 3 {
		case 0:
			v.ConfigMap = &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: app + "-" + v.Name}}
		case 1:
			v.Secret = &corev1.SecretVolumeSource{SecretName: app + "-" + v.Name}
		default:
			v.EmptyDir = &corev1.EmptyDirVolumeSource{SizeLimit: new(resource.MustParse("1Gi"))}
		}
		all = append(all, v)
	}
	return all
}

// accountVolume returns the volume that the admission plugin ServiceAccount adds to nearly every
// Pod.
func accountVolume(d draw) corev1.Volume {
	return corev1.Volume{Name: "kube-api-access-" + d.suffix(5), VolumeSource: corev1.VolumeSource{
		Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{ExpirationSeconds: new(int64(3607)), Path: "token"}},
			{ConfigMap: &corev1.ConfigMapProjection{
				LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"},
				Items:                []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}}}},
			{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{
				Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"}}}}},
		}},
	}}
}

func probe(d draw, path, port string) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler:        corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromString(port)}},
		InitialDelaySeconds: int32(d.between(1, 30)),
		PeriodSeconds:       int32(d.between(5, 30)),
		TimeoutSeconds:      int32(d.between(1, 5)),
	}
}

// tolerations returns those that the admission plugin DefaultTolerationSeconds adds.
func tolerations() []corev1.Toleration {
	var all []corev1.Toleration
	for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		all = append(all, corev1.Toleration{
			Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(300)),
		})
	}
	return all
}

// affinity returns nil for half of the workloads, and otherwise a preference to spread over zones.
func affinity(d draw, app string) *corev1.Affinity {
	if d.chance(50) {
		return nil
	}
	return &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{
			Weight: int32(d.between(1, 100)),
			PodAffinityTerm: corev1.PodAffinityTerm{
				TopologyKey:   corev1.LabelTopologyZone,
				LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app.kubernetes.io/name": app}},
			},
		}},
	}}
}
