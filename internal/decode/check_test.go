// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// wholeObjects returns objects with the fields that API servers usually send.
func wholeObjects() []generatedMessage {
	now := metav1.NewTime(time.Unix(1_700_000_000, 0))
	meta := metav1.ObjectMeta{
		Name: "web-7d9c5b8f6d-x2x4q", GenerateName: "web-7d9c5b8f6d-", Namespace: "default", UID: "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0",
		ResourceVersion: "123456789", Generation: 3, CreationTimestamp: now, DeletionTimestamp: &now, DeletionGracePeriodSeconds: new(int64(30)),
		Labels: map[string]string{"app": "web", "pod-template-hash": "7d9c5b8f6d"}, Annotations: map[string]string{"a": strings.Repeat("x", 300)},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-7d9c5b8f6d", UID: "uid", Controller: new(true)}},
		Finalizers:      []string{"example.com/a", ""},
		ManagedFields:   []metav1.ManagedFieldsEntry{{Manager: "kubelet", Operation: "Update", APIVersion: "v1", Time: &now, FieldsType: "FieldsV1", FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:status":{}}`)}}},
	}
	resources := corev1.ResourceRequirements{
		Limits:   corev1.ResourceList{"cpu": resource.MustParse("2"), "memory": resource.MustParse("512Mi")},
		Requests: corev1.ResourceList{"cpu": resource.MustParse("250m"), "ephemeral-storage": resource.MustParse("0")},
	}
	pod := &corev1.Pod{ObjectMeta: meta, Spec: corev1.PodSpec{
		Volumes: []corev1.Volume{
			{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: new(resource.MustParse("1Gi"))}}},
			{Name: "token", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{DefaultMode: new(int32(420)), Sources: []corev1.VolumeProjection{
				{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{ExpirationSeconds: new(int64(3607)), Path: "token"}},
			}}}},
		},
		Containers: []corev1.Container{{
			Name: "web", Image: "registry.example.com/web:v1", Resources: resources, Ports: []corev1.ContainerPort{{ContainerPort: 8080, Protocol: "TCP"}},
			Env:             []corev1.EnvVar{{Name: "A", Value: "b"}, {Name: "IP", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.podIP"}}}},
			LivenessProbe:   &corev1.Probe{PeriodSeconds: 10, ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromString("http")}}},
			ReadinessProbe:  &corev1.Probe{ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(8080)}}},
			SecurityContext: &corev1.SecurityContext{RunAsUser: new(int64(1000)), ReadOnlyRootFilesystem: new(false)},
		}},
		NodeSelector: map[string]string{"pool": "web"}, Priority: new(int32(1000)), EnableServiceLinks: new(true), SchedulerName: "default-scheduler",
		SecurityContext: &corev1.PodSecurityContext{FSGroup: new(int64(2000)), SupplementalGroups: []int64{1, 2000}},
		Tolerations:     []corev1.Toleration{{Key: "node.kubernetes.io/not-ready", Operator: "Exists", TolerationSeconds: new(int64(300))}},
	}, Status: corev1.PodStatus{
		Phase: "Running", PodIP: "10.0.0.1", PodIPs: []corev1.PodIP{{IP: "10.0.0.1"}, {IP: "fd00::1"}}, StartTime: &now,
		Conditions:        []corev1.PodCondition{{Type: "Ready", Status: "True", LastTransitionTime: now}},
		ContainerStatuses: []corev1.ContainerStatus{{Name: "web", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}, Started: new(true), RestartCount: 300}},
	}}
	node := &corev1.Node{ObjectMeta: meta, Spec: corev1.NodeSpec{PodCIDRs: []string{"10.0.0.0/24"}, Taints: []corev1.Taint{{Key: "a", TimeAdded: &now}}}, Status: corev1.NodeStatus{
		Capacity: resources.Limits, Conditions: []corev1.NodeCondition{{Type: "Ready", Status: "True", LastHeartbeatTime: now}},
		Images: []corev1.ContainerImage{{Names: []string{"a", "b"}, SizeBytes: 123_456_789}},
	}}
	lease := &coordinationv1.Lease{ObjectMeta: meta, Spec: coordinationv1.LeaseSpec{RenewTime: new(metav1.NewMicroTime(time.Unix(1_700_000_000, 123_456_000)))}}
	secret := &corev1.Secret{ObjectMeta: meta, Data: map[string][]byte{"a": {0, 1, 2}, "b": {}}, Type: "Opaque"}
	configMap := &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"a": "b", "c": strings.Repeat("x", 20_000)}, BinaryData: map[string][]byte{"d": {1}}}
	return []generatedMessage{pod, node, lease, secret, configMap}
}

// encodingOf returns an object's bytes.
func encodingOf(tb testing.TB, object generatedMessage) []byte {
	tb.Helper()
	raw, err := object.Marshal()
	if err != nil {
		tb.Fatal(err)
	}
	return raw
}

// TestCheckDoesNotDecode checks whole objects, also those of a newer API server with fields that
// the types do not have. Check builds nothing.
func TestCheckDoesNotDecode(t *testing.T) {
	for _, object := range wholeObjects() {
		d := newDecoder(t, reflect.TypeOf(object).Elem(), Options{})
		raw := encodingOf(t, object)
		newer := join(raw, bytesField(3, bytesField(100, []byte("new"))), varintField(200, 1), bytesField(14, varintField(1, 1)))
		for _, b := range [][]byte{raw, newer} {
			if err := d.Check(b); err != nil {
				t.Errorf("%T: %v", object, err)
			}
			if allocs := testing.AllocsPerRun(10, func() { _ = d.Check(b) }); allocs != 0 {
				t.Errorf("%T: Check allocates %v times", object, allocs)
			}
		}
	}
}

// TestCheckAgreesWithDecodeOnCorruptObjects cuts and changes whole objects at every byte.
func TestCheckAgreesWithDecodeOnCorruptObjects(t *testing.T) {
	random, rejected := rand.New(rand.NewPCG(1, 1)), 0
	for _, object := range wholeObjects() {
		d := newDecoder(t, reflect.TypeOf(object).Elem(), Options{})
		raw := encodingOf(t, object)
		agree := func(b []byte) {
			checkErr := d.Check(b)
			if _, err := d.Decode(b); (err == nil) != (checkErr == nil) {
				t.Fatalf("%T: Check returns %v, Decode %v\n%x", object, checkErr, err, b)
			}
			if checkErr != nil {
				rejected++
			}
		}
		for i := range min(len(raw), 3000) {
			agree(raw[:i])
			was := raw[i]
			for _, c := range []byte{0, was + 1, was ^ 1<<random.IntN(8), 0xff} {
				raw[i] = c
				agree(raw)
			}
			raw[i] = was
		}
	}
	if rejected < 1000 {
		t.Errorf("only %d of the corrupt objects are rejected", rejected)
	}
}
