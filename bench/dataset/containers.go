package dataset

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// drawContainers draws an application and its sidecars, who share the environment
// out among themselves and mount the volumes.
func drawContainers(d draw, app string, volumes []corev1.Volume) []corev1.Container {
	names := []string{app, "istio-proxy", "metrics-exporter", "log-shipper"}[:1+d.few(maxContainers-1)]
	containers := make([]corev1.Container, len(names))
	for i, name := range names {
		containers[i] = drawContainer(d, name, i > 0)
	}
	for i, env := range drawEnv(d, d.few(maxEnv)) {
		c := &containers[0]
		if i%3 == 2 { // the application has most of it
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

// drawContainer draws a container; a sidecar has less of everything.
func drawContainer(d draw, name string, sidecar bool) corev1.Container {
	share := 100
	if sidecar {
		share = 35
	}
	c := corev1.Container{
		Name:                     name,
		Image:                    fmt.Sprintf("registry.example.com/%s/%s:%s", d.team(), name, version(d)),
		Resources:                drawResources(d),
		TerminationMessagePath:   corev1.TerminationMessagePathDefault,
		TerminationMessagePolicy: corev1.TerminationMessageReadFile,
		ImagePullPolicy:          corev1.PullIfNotPresent,
	}
	for port := range d.few(3) {
		c.Ports = append(c.Ports, corev1.ContainerPort{
			Name: []string{"http", "grpc", "metrics"}[port], ContainerPort: int32(8080 + 100*port + d.IntN(100)), Protocol: corev1.ProtocolTCP,
		})
	}
	if d.chance(share / 3) {
		c.Args = []string{"--log-format=json", fmt.Sprintf("--workers=%d", d.between(1, 64)), "--config=/etc/" + name + "/config.yaml"}
	}
	if d.chance(share / 2) {
		c.ReadinessProbe = drawProbe(d)
	}
	if d.chance(share * 2 / 5) {
		c.LivenessProbe = drawProbe(d)
	}
	if d.chance(share / 8) {
		c.StartupProbe = drawProbe(d)
	}
	if d.chance(share / 3) {
		c.SecurityContext = &corev1.SecurityContext{
			AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true),
			Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		}
	}
	return c
}

func drawResources(d draw) corev1.ResourceRequirements {
	quantities := func(factor int) corev1.ResourceList {
		return corev1.ResourceList{
			corev1.ResourceCPU:    resource.MustParse(fmt.Sprintf("%dm", factor*pick(d, 10, 50, 100, 250))),
			corev1.ResourceMemory: resource.MustParse(fmt.Sprintf("%dMi", factor*pick(d, 64, 128, 256, 384))),
		}
	}
	switch d.IntN(4) {
	case 0:
		return corev1.ResourceRequirements{}
	case 1:
		return corev1.ResourceRequirements{Requests: quantities(1)}
	default:
		return corev1.ResourceRequirements{Requests: quantities(1), Limits: quantities(4)}
	}
}

func drawProbe(d draw) *corev1.Probe {
	probe := &corev1.Probe{
		InitialDelaySeconds: int32(d.between(1, 30)), TimeoutSeconds: int32(d.between(1, 5)), PeriodSeconds: 10,
		SuccessThreshold: 1, FailureThreshold: int32(d.between(3, 6)),
	}
	if d.chance(25) {
		probe.TCPSocket = &corev1.TCPSocketAction{Port: intstr.FromInt32(int32(d.between(8080, 9090)))}
		return probe
	}
	probe.HTTPGet = &corev1.HTTPGetAction{
		Path: pick(d, "/healthz", "/livez", "/ready", "/-/healthy"), Port: intstr.FromString("http"), Scheme: corev1.URISchemeHTTP,
	}
	return probe
}

func drawEnv(d draw, n int) []corev1.EnvVar {
	env := make([]corev1.EnvVar, n)
	for i := range env {
		env[i].Name = fmt.Sprintf("%s_%s%d", pick(d, "DB", "API", "AUTH", "CACHE", "LOG", "QUEUE"), pick(d, "URL", "KEY", "HOST", "TTL"), i)
		switch from := d.IntN(10); {
		case from == 0:
			env[i].ValueFrom = &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.name"}}
		case from <= 2:
			env[i].ValueFrom = &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: d.word()}, Key: d.suffix(6),
			}}
		case from == 3:
			env[i].Value = fmt.Sprintf("https://%s.%s.svc.cluster.local:%d/v%d", d.word(), d.team(), d.between(8000, 9000), d.between(1, 3))
		default:
			env[i].Value = d.suffix(d.between(1, 16))
		}
	}
	return env
}
