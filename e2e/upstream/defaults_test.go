// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/admissionregistration/install"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/discovery/install"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	_ "k8s.io/kubernetes/pkg/apis/rbac/install"
	_ "k8s.io/kubernetes/pkg/apis/scheduling/install"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"

	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/randomapi"
)

// withDefaults are the kinds whose defaults fake.APIServer sets.
var withDefaults = []fake.Object{
	&corev1.Pod{}, &corev1.PodTemplate{}, &corev1.ReplicationController{}, &corev1.Service{}, &corev1.Secret{},
	&corev1.Endpoints{},
	&corev1.Node{}, &corev1.LimitRange{}, &corev1.PersistentVolume{}, &corev1.PersistentVolumeClaim{}, &corev1.ConfigMap{},
	&appsv1.Deployment{}, &appsv1.ReplicaSet{}, &appsv1.StatefulSet{}, &appsv1.DaemonSet{}, &appsv1.ControllerRevision{},
	&batchv1.Job{}, &batchv1.CronJob{}, &discoveryv1.EndpointSlice{}, &rbacv1.RoleBinding{}, &rbacv1.ClusterRoleBinding{},
	&networkingv1.NetworkPolicy{}, &networkingv1.IngressClass{}, &networkingv1.Ingress{}, &storagev1.StorageClass{}, &storagev1.CSIDriver{},
	&schedulingv1.PriorityClass{}, &autoscalingv1.HorizontalPodAutoscaler{}, &autoscalingv2.HorizontalPodAutoscaler{},
	&admissionregistrationv1.ValidatingWebhookConfiguration{}, &admissionregistrationv1.MutatingWebhookConfiguration{},
}

// TestFakeServerSetsDefaultsOfKubernetes creates random objects and compares what the fake server
// stores with what Kubernetes' own code makes of the request, and of what is stored.
func TestFakeServerSetsDefaultsOfKubernetes(t *testing.T) {
	server, err := fake.StartAPIServer(fake.APIServerOptions{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	for _, example := range withDefaults {
		t.Run(fmt.Sprintf("%T", example), func(t *testing.T) {
			for seed := range int64(100) {
				compareDefaults(t, server, randomRequest(reflect.TypeOf(example), seed))
			}
		})
	}
}

// randomRequest returns an object that a client creates.
func randomRequest(typ reflect.Type, seed int64) fake.Object {
	request := randomapi.New(typ, seed)
	value := reflect.ValueOf(request).Elem()
	value.FieldByName("TypeMeta").SetZero()
	value.FieldByName("ObjectMeta").Set(reflect.ValueOf(metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprint("n", seed), Labels: request.GetLabels()}))
	if status := value.FieldByName("Status"); status.IsValid() {
		status.SetZero()
	}
	validate(value, rand.New(rand.NewPCG(uint64(seed), 0)))
	return request.(fake.Object)
}

// images are valid ones, with each kind of tag.
var images = []string{"i", "a/i:latest", "a:1/i:2", "i@sha256:" + strings.Repeat("0", 64)}

// validate replaces random values that kube-apiserver refuses and that defaults depend on: images
// and strategies. It clears the resources of a whole Pod, which have no defaults in the fake
// server.
func validate(value reflect.Value, random *rand.Rand) {
	switch kind := value.Kind(); {
	case kind == reflect.Pointer && !value.IsNil():
		validate(value.Elem(), random)
	case kind == reflect.Slice:
		for i := range value.Len() {
			validate(value.Index(i), random)
		}
	case kind == reflect.Struct:
		for field, of := range value.Fields() {
			if field.IsExported() {
				validateField(value, field.Name, of, random)
			}
		}
	}
}

func validateField(of reflect.Value, name string, value reflect.Value, random *rand.Rand) {
	switch {
	case (name == "Image" || name == "Reference") && value.Kind() == reflect.String:
		value.SetString(images[random.IntN(len(images))])
	case strings.HasSuffix(name, "Strategy") && value.Kind() == reflect.Struct:
		value.FieldByName("Type").SetString("")
	case of.Type() == reflect.TypeFor[corev1.PodSpec]() && name == "Resources":
		value.SetZero()
	default:
		validate(value, random)
	}
}

func compareDefaults(t *testing.T, server *fake.APIServer, request fake.Object) {
	t.Helper()
	want := throughKubernetes(t, request)
	stored := request.DeepCopyObject().(fake.Object)
	if !namespaced(request) {
		stored.SetNamespace("")
	}
	if err := server.Create(stored); err != nil {
		t.Fatal(err)
	}
	if again := throughKubernetes(t, stored); !apiequality.Semantic.DeepEqual(again, stored) {
		t.Fatalf("defaults that the fake server does not set (-stored +Kubernetes):\n%s", cmp.Diff(stored, again))
	}
	forget(want, stored)
	if !apiequality.Semantic.DeepEqual(want, stored) {
		t.Fatalf("fields of the request that differ (-Kubernetes +stored):\n%s", cmp.Diff(want, stored))
	}
}

// namespaced reports whether objects of a type are in a Namespace.
func namespaced(obj fake.Object) bool {
	switch obj.(type) {
	case *corev1.Node, *corev1.PersistentVolume, *rbacv1.ClusterRoleBinding, *networkingv1.IngressClass, *storagev1.StorageClass,
		*storagev1.CSIDriver, *schedulingv1.PriorityClass, *admissionregistrationv1.ValidatingWebhookConfiguration,
		*admissionregistrationv1.MutatingWebhookConfiguration:
		return false
	}
	return true
}

// throughKubernetes returns an object as Kubernetes decodes and encodes it.
func throughKubernetes(t *testing.T, obj fake.Object) fake.Object {
	t.Helper()
	scheme := legacyscheme.Scheme
	external := obj.DeepCopyObject()
	scheme.Default(external)
	gvks, _, err := scheme.ObjectKinds(external)
	if err != nil {
		t.Fatal(err)
	}
	internal, err := scheme.ConvertToVersion(external, runtime.InternalGroupVersioner)
	if err != nil {
		t.Fatal(err)
	}
	external, err = scheme.ConvertToVersion(internal, gvks[0].GroupVersion())
	if err != nil {
		t.Fatal(err)
	}
	external.GetObjectKind().SetGroupVersionKind(obj.GetObjectKind().GroupVersionKind())
	scheme.Default(external)
	return external.(fake.Object)
}

// forget clears what the server assigns when it creates an object.
func forget(objects ...fake.Object) {
	for _, obj := range objects {
		labels := obj.GetLabels()
		reflect.ValueOf(obj).Elem().FieldByName("ObjectMeta").SetZero()
		obj.SetLabels(labels)
		if status := reflect.ValueOf(obj).Elem().FieldByName("Status"); status.IsValid() {
			status.SetZero()
		}
		switch obj := obj.(type) {
		case *corev1.Pod:
			obj.Spec.Tolerations, obj.Spec.Priority, obj.Spec.PreemptionPolicy = nil, nil, nil
		case *corev1.Service:
			spec := &obj.Spec
			spec.ClusterIP, spec.ClusterIPs, spec.IPFamilies, spec.IPFamilyPolicy, spec.HealthCheckNodePort = "", nil, nil, nil, 0
			for i := range spec.Ports {
				spec.Ports[i].NodePort = 0
			}
		case *batchv1.Job:
			obj.Labels, obj.Spec.Selector, obj.Spec.Template.Labels = nil, nil, nil
		}
	}
}
