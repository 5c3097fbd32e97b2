// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package defaults

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Values that all Pods share; see the package comment.
var (
	gracePeriod     = new(int64(corev1.DefaultTerminationGracePeriodSeconds))
	serviceLinks    = new(corev1.DefaultEnableServiceLinks)
	securityContext = &corev1.PodSecurityContext{}
	noPriority      = new(int32(0))
	preemptLower    = new(corev1.PreemptLowerPriority)
	tolerations     = slices.Clip([]corev1.Toleration{
		toleration(corev1.TaintNodeNotReady), toleration(corev1.TaintNodeUnreachable),
	})
)

// toleration returns the toleration that Pods have by default for a taint of their node.
func toleration(key string) corev1.Toleration {
	return corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(300))}
}

// setPod sets the defaults of a Pod, those of Pod templates included.
func setPod(pod *corev1.Pod) {
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			setRequests(&containers[i].Resources)
			if pod.Spec.HostNetwork {
				setHostPorts(containers[i].Ports)
			}
		}
	}
	if pod.Spec.EnableServiceLinks == nil {
		pod.Spec.EnableServiceLinks = serviceLinks
	}
	setPodSpec(&pod.Spec)
	if *pod.Spec.TerminationGracePeriodSeconds < 0 {
		pod.Spec.TerminationGracePeriodSeconds = new(int64(1))
	}
	setPodStatus(&pod.Status)
}

// setRequests sets the requests of a container to its limits, for the resources without a request.
func setRequests(resources *corev1.ResourceRequirements) {
	for name, limit := range resources.Limits {
		if _, ok := resources.Requests[name]; ok {
			continue
		}
		if resources.Requests == nil {
			resources.Requests = corev1.ResourceList{}
		}
		resources.Requests[name] = limit.DeepCopy()
	}
}

// setHostPorts sets the host ports of a container in the network of the host.
func setHostPorts(ports []corev1.ContainerPort) {
	for i := range ports {
		setZero(&ports[i].HostPort, ports[i].ContainerPort)
	}
}

// setPodStatus makes the list of addresses agree with the single address, which decides.
func setPodStatus(status *corev1.PodStatus) {
	switch {
	case status.PodIP != "" && (len(status.PodIPs) == 0 || status.PodIPs[0].IP != status.PodIP):
		status.PodIPs = []corev1.PodIP{{IP: status.PodIP}}
	case len(status.PodIPs) > 0:
		status.PodIP = status.PodIPs[0].IP
	}
}

// setPodSpec sets the defaults of a Pod or a Pod template.
func setPodSpec(spec *corev1.PodSpec) {
	setZero(&spec.DNSPolicy, corev1.DNSClusterFirst)
	setZero(&spec.RestartPolicy, corev1.RestartPolicyAlways)
	setZero(&spec.SchedulerName, corev1.DefaultSchedulerName)
	setZero(&spec.ServiceAccountName, spec.DeprecatedServiceAccount)
	spec.DeprecatedServiceAccount = spec.ServiceAccountName
	if spec.SecurityContext == nil {
		spec.SecurityContext = securityContext
	}
	if spec.TerminationGracePeriodSeconds == nil {
		spec.TerminationGracePeriodSeconds = gracePeriod
	}
	for i := range spec.Volumes {
		setPodVolume(&spec.Volumes[i].VolumeSource)
	}
	for i := range spec.InitContainers {
		setContainer(&spec.InitContainers[i])
	}
	for i := range spec.Containers {
		setContainer(&spec.Containers[i])
	}
	for i := range spec.EphemeralContainers {
		setContainer((*corev1.Container)(&spec.EphemeralContainers[i].EphemeralContainerCommon))
	}
	roundUp(spec.Overhead)
	if spec.Resources != nil {
		roundUp(spec.Resources.Limits)
		roundUp(spec.Resources.Requests)
	}
}

func setContainer(container *corev1.Container) {
	setZero(&container.ImagePullPolicy, pullPolicy(container.Image))
	setZero(&container.TerminationMessagePath, corev1.TerminationMessagePathDefault)
	setZero(&container.TerminationMessagePolicy, corev1.TerminationMessageReadFile)
	for i := range container.Ports {
		setZero(&container.Ports[i].Protocol, corev1.ProtocolTCP)
	}
	for i := range container.Env {
		setEnvVar(container.Env[i].ValueFrom)
	}
	for _, probe := range []*corev1.Probe{container.LivenessProbe, container.ReadinessProbe, container.StartupProbe} {
		setProbe(probe)
	}
	if lifecycle := container.Lifecycle; lifecycle != nil {
		setLifecycleHandler(lifecycle.PostStart)
		setLifecycleHandler(lifecycle.PreStop)
	}
	roundUp(container.Resources.Limits)
	roundUp(container.Resources.Requests)
}

// pullPolicy returns the pull policy for an image: Always if its tag is "latest" or if it has
// neither tag nor digest.
func pullPolicy(image string) corev1.PullPolicy {
	name, _, hasDigest := strings.Cut(image, "@")
	_, tag, hasTag := strings.Cut(name[strings.LastIndex(name, "/")+1:], ":")
	if tag == "latest" || !hasTag && !hasDigest && name != "" {
		return corev1.PullAlways
	}
	return corev1.PullIfNotPresent
}

func setEnvVar(source *corev1.EnvVarSource) {
	if source == nil {
		return
	}
	setFieldRef(source.FieldRef)
	if source.FileKeyRef != nil {
		setNil(&source.FileKeyRef.Optional, false)
	}
}

func setFieldRef(ref *corev1.ObjectFieldSelector) {
	if ref != nil {
		setZero(&ref.APIVersion, "v1")
	}
}

func setProbe(probe *corev1.Probe) {
	if probe == nil {
		return
	}
	setZero(&probe.TimeoutSeconds, 1)
	setZero(&probe.PeriodSeconds, 10)
	setZero(&probe.SuccessThreshold, 1)
	setZero(&probe.FailureThreshold, 3)
	setHTTPGet(probe.HTTPGet)
	if probe.GRPC != nil {
		setNil(&probe.GRPC.Service, "")
	}
}

func setLifecycleHandler(handler *corev1.LifecycleHandler) {
	if handler != nil {
		setHTTPGet(handler.HTTPGet)
	}
}

func setHTTPGet(action *corev1.HTTPGetAction) {
	if action != nil {
		setZero(&action.Path, "/")
		setZero(&action.Scheme, corev1.URISchemeHTTP)
	}
}

// setNewPod sets the fields of a Pod that the strategy and the admission plugins of kube-apiserver
// set when it is created.
func setNewPod(pod *corev1.Pod) {
	pod.Status.Phase = corev1.PodPending
	pod.Status.QOSClass = qosClass(&pod.Spec)
	if len(pod.Spec.SchedulingGates) > 0 {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonSchedulingGated,
			Message: "Scheduling is blocked due to non-empty scheduling gates",
		})
	}
	setTolerations(&pod.Spec)
	if pod.Spec.PriorityClassName == "" && pod.Spec.Priority == nil {
		pod.Spec.Priority = noPriority
		if pod.Spec.PreemptionPolicy == nil {
			pod.Spec.PreemptionPolicy = preemptLower
		}
	}
}

// keepPod keeps the priority of a Pod, and sets its tolerations.
func keepPod(next, current *corev1.Pod) {
	setTolerations(&next.Spec)
	if next.Spec.Priority == nil {
		next.Spec.Priority = current.Spec.Priority
	}
	if next.Spec.PreemptionPolicy == nil {
		next.Spec.PreemptionPolicy = current.Spec.PreemptionPolicy
	}
}

// setTolerations adds the tolerations for nodes that are not ready or not reachable, unless the Pod
// has its own.
func setTolerations(spec *corev1.PodSpec) {
	if len(spec.Tolerations) == 0 {
		spec.Tolerations = tolerations
		return
	}
	for _, t := range tolerations {
		has := slices.ContainsFunc(spec.Tolerations, func(own corev1.Toleration) bool {
			return (own.Key == t.Key || own.Key == "") && (own.Effect == t.Effect || own.Effect == "")
		})
		if !has {
			spec.Tolerations = append(slices.Clip(spec.Tolerations), t)
		}
	}
}

// qosClass returns the quality of service class of a Pod. Only CPU and memory count.
func qosClass(spec *corev1.PodSpec) corev1.PodQOSClass {
	all := []corev1.ResourceRequirements{}
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			all = append(all, containers[i].Resources)
		}
	}
	if spec.Resources != nil { // those of the Pod count alone
		all = []corev1.ResourceRequirements{*spec.Resources}
	}
	requests, limits, limited := corev1.ResourceList{}, corev1.ResourceList{}, true
	for i := range all {
		limited = addQuantities(limits, all[i].Limits) == 2 && limited
		addQuantities(requests, all[i].Requests)
	}
	switch {
	case len(requests) == 0 && len(limits) == 0:
		return corev1.PodQOSBestEffort
	case limited && equalQuantities(requests, limits):
		return corev1.PodQOSGuaranteed
	}
	return corev1.PodQOSBurstable
}

// addQuantities adds the positive quantities of CPU and memory, and returns how many there are.
func addQuantities(sum, list corev1.ResourceList) int {
	count := 0
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		quantity, ok := list[name]
		if !ok || quantity.Sign() <= 0 {
			continue
		}
		count++
		total := sum[name].DeepCopy()
		total.Add(quantity)
		sum[name] = total
	}
	return count
}

// equalQuantities reports whether all requests equal the limits, and there are as many.
func equalQuantities(requests, limits corev1.ResourceList) bool {
	for name, request := range requests {
		if limit, ok := limits[name]; !ok || limit.Cmp(request) != 0 {
			return false
		}
	}
	return len(requests) == len(limits)
}
