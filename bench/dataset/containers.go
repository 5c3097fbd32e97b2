// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package dataset

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// randomContainers returns an application container and its sidecars. The environment variables and
// the volume mounts are distributed among them.
func randomContainers(r random, app string, volumes []corev1.Volume) []corev1.Container {
	names := []string{app, "istio-proxy", "metrics-exporter", "log-shipper"}[:1+r.few(maxContainers-1)]
	containers := make([]corev1.Container, len(names))
	for i, name := range names {
		containers[i] = randomContainer(r, name, i > 0)
	}
	for i, env := range randomEnv(r, r.few(maxEnv)) {
		c := &containers[0]
		if i%3 == 2 { // the application has most of them
			c = &containers[i%len(containers)]
		}
		c.Env = append(c.Env, env)
	}
	for i, volume := range volumes {
		c := &containers[i%len(containers)]
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{
			Name: volume.Name, MountPath: "/mnt/" + volume.Name, ReadOnly: volume.ConfigMap != nil || volume.Secret != nil,
		})
	}
	return containers
}

// randomContainer returns a container. Sidecars have fewer optional fields.
func randomContainer(r random, name string, sidecar bool) corev1.Container {
	share := 100
	if sidecar {
		share = 35
	}
	c := corev1.Container{
		Name:                     name,
		Image:                    fmt.Sprintf("registry.example.com/%s/%s:%s", r.team(), name, version(r)),
		Resources:                randomResources(r),
		TerminationMessagePath:   corev1.TerminationMessagePathDefault,
		TerminationMessagePolicy: corev1.TerminationMessageReadFile,
		ImagePullPolicy:          corev1.PullIfNotPresent,
	}
	for port := range r.few(3) {
		c.Ports = append(c.Ports, corev1.ContainerPort{
			Name: []string{"http", "grpc", "metrics"}[port], ContainerPort: int32(8080 + 100*port + r.IntN(100)), Protocol: corev1.ProtocolTCP,
		})
	}
	if r.chance(share / 3) {
		c.Args = []string{"--log-format=json", fmt.Sprintf("--workers=%d", r.between(1, 64)), "--config=/etc/" + name + "/config.yaml"}
	}
	if r.chance(share / 2) {
		c.ReadinessProbe = randomProbe(r)
	}
	if r.chance(share * 2 / 5) {
		c.LivenessProbe = randomProbe(r)
	}
	if r.chance(share / 8) {
		c.StartupProbe = randomProbe(r)
	}
	if r.chance(share / 3) {
		c.SecurityContext = &corev1.SecurityContext{
			AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true),
			Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		}
	}
	return c
}

func randomResources(r random) corev1.ResourceRequirements {
	quantities := func(factor int) corev1.ResourceList {
		return corev1.ResourceList{
			corev1.ResourceCPU:    resource.MustParse(fmt.Sprintf("%dm", factor*pick(r, 10, 50, 100, 250))),
			corev1.ResourceMemory: resource.MustParse(fmt.Sprintf("%dMi", factor*pick(r, 64, 128, 256, 384))),
		}
	}
	switch r.IntN(4) {
	case 0:
		return corev1.ResourceRequirements{}
	case 1:
		return corev1.ResourceRequirements{Requests: quantities(1)}
	default:
		return corev1.ResourceRequirements{Requests: quantities(1), Limits: quantities(4)}
	}
}

func randomProbe(r random) *corev1.Probe {
	probe := &corev1.Probe{
		InitialDelaySeconds: int32(r.between(1, 30)), TimeoutSeconds: int32(r.between(1, 5)), PeriodSeconds: 10,
		SuccessThreshold: 1, FailureThreshold: int32(r.between(3, 6)),
	}
	if r.chance(25) {
		probe.TCPSocket = &corev1.TCPSocketAction{Port: intstr.FromInt32(int32(r.between(8080, 9090)))}
		return probe
	}
	probe.HTTPGet = &corev1.HTTPGetAction{
		Path: pick(r, "/healthz", "/livez", "/ready", "/-/healthy"), Port: intstr.FromString("http"), Scheme: corev1.URISchemeHTTP,
	}
	return probe
}

func randomEnv(r random, n int) []corev1.EnvVar {
	env := make([]corev1.EnvVar, n)
	for i := range env {
		env[i].Name = fmt.Sprintf("%s_%s%d", pick(r, "DB", "API", "AUTH", "CACHE", "LOG", "QUEUE"), pick(r, "URL", "KEY", "HOST", "TTL"), i)
		switch from := r.IntN(10); {
		case from == 0:
			env[i].ValueFrom = &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.name"}}
		case from <= 2:
			env[i].ValueFrom = &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: r.word()}, Key: r.suffix(6),
			}}
		case from == 3:
			env[i].Value = fmt.Sprintf("https://%s.%s.svc.cluster.local:%d/v%d", r.word(), r.team(), r.between(8000, 9000), r.between(1, 3))
		default:
			env[i].Value = r.suffix(r.between(1, 16))
		}
	}
	return env
}
