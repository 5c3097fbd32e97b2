// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package adopters

import (
	"context"
	"fmt"
	"testing"
	"time"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	certclient "github.com/cert-manager/cert-manager/pkg/client/clientset/versioned"
	certinformers "github.com/cert-manager/cert-manager/pkg/client/informers/externalversions"
	"github.com/cert-manager/cert-manager/pkg/client/informers/externalversions/certmanager"
	certinformersv1 "github.com/cert-manager/cert-manager/pkg/client/informers/externalversions/certmanager/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/features"
	featurestesting "k8s.io/client-go/features/testing"
	"k8s.io/client-go/rest"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/clientgo"
	"github.com/kinformer/kinformer/fake"
)

const namespace = "team-a"

// startServer starts a server of custom resources. It returns a config for it, as programs have it.
func startServer(t *testing.T, resources ...fake.CustomResource) *rest.Config {
	t.Helper()
	server, err := fake.StartAPIServer(fake.APIServerOptions{CustomResources: resources})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return server.Config()
}

// startPrepared is startServer with a config for which EnableStreaming was called.
func startPrepared(t *testing.T, resources ...fake.CustomResource) *rest.Config {
	t.Helper()
	config := startServer(t, resources...)
	cache.EnableStreaming(config)
	return config
}

// factory is the part of a generated factory that a program starts.
type factory interface {
	Start(stop <-chan struct{})
	Shutdown()
}

// start starts a factory until the end of the test and waits until its informers have synced.
func start(t *testing.T, f factory, informers ...clientcache.SharedIndexInformer) {
	t.Helper()
	stop := make(chan struct{})
	f.Start(stop)
	t.Cleanup(f.Shutdown)
	t.Cleanup(func() { close(stop) })
	for _, informer := range informers {
		await(t, "the initial sync", informer.HasSynced)
	}
}

// await waits until a condition holds.
func await(t *testing.T, what string, condition func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for !condition() {
		select {
		case <-ctx.Done():
			t.Fatalf("%s: %v", what, ctx.Err())
		case <-time.After(time.Millisecond):
		}
	}
}

// eachVariant runs a test with the options whose informers hold the same objects as client-go's,
// with lists and with WatchLists. The objects of a list have the kind that the server sends, those
// of a WatchList have none.
func eachVariant(t *testing.T, test func(t *testing.T, options clientgo.Options)) {
	t.Helper()
	for _, watchList := range []bool{false, true} {
		for name, options := range map[string]clientgo.Options{
			"live": {}, "ShareEqual": {ShareEqual: true}, "packed": {Packed: true}, "packed, not streaming": {Packed: true, DisableStreaming: true},
		} {
			t.Run(fmt.Sprintf("%s, WatchList %v", name, watchList), func(t *testing.T) {
				featurestesting.SetFeatureDuringTest(t, features.WatchListClient, watchList)
				test(t, options)
			})
		}
	}
}

// expectAdopted checks that an informer is one of package clientgo, and whether it streams.
func expectAdopted(t *testing.T, informer clientcache.SharedIndexInformer, streaming bool) {
	t.Helper()
	status := clientgo.StatusOf(informer)
	if !status.Synced || status.Err != nil {
		t.Errorf("%T: phase %v, %v, want an informer of kinformer that has synced", informer, status.Phase, status.Err)
	}
	if status.Requests.Streaming != streaming {
		t.Errorf("streaming: %v (%s), want %v", status.Requests.Streaming, status.Requests.NotStreamingReason, streaming)
	}
}

func certificates() fake.CustomResource {
	return fake.CustomResource{Group: "cert-manager.io", Versions: []string{"v1"}, Kind: "Certificate", StatusSubresource: true}
}

// createCertificate creates a Certificate that has most kinds of fields.
func createCertificate(t *testing.T, client certclient.Interface, i int) {
	t.Helper()
	certificate := &certmanagerv1.Certificate{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("web-%02d", i), Labels: map[string]string{"app": "web"}},
		Spec: certmanagerv1.CertificateSpec{
			SecretName: fmt.Sprintf("web-%02d-tls", i),
			CommonName: "web.example.com",
			DNSNames:   []string{"web.example.com", fmt.Sprintf("web-%02d.example.com", i)},
			Duration:   &metav1.Duration{Duration: 90 * 24 * time.Hour},
			Subject:    &certmanagerv1.X509Subject{Organizations: []string{"Example"}},
			PrivateKey: &certmanagerv1.CertificatePrivateKey{Algorithm: certmanagerv1.ECDSAKeyAlgorithm, Size: 256},
			Usages:     []certmanagerv1.KeyUsage{certmanagerv1.UsageServerAuth},
		},
	}
	client1 := client.CertmanagerV1().Certificates(namespace)
	created, err := client1.Create(t.Context(), certificate, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	revision, expires := i, metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	created.Status = certmanagerv1.CertificateStatus{Revision: &revision, NotAfter: &expires, Conditions: []certmanagerv1.CertificateCondition{{
		Type: certmanagerv1.CertificateConditionReady, Status: "True", LastTransitionTime: &expires, Reason: "Ready",
	}}}
	if _, err := client1.UpdateStatus(t.Context(), created, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestGeneratedFactoryOfCertManager checks that a factory of cert-manager's clientset has this
// module's informers once they were asked for through Generated, and that they stream.
func TestGeneratedFactoryOfCertManager(t *testing.T) {
	eachVariant(t, func(t *testing.T, options clientgo.Options) {
		client := certclient.NewForConfigOrDie(startServer(t, certificates()))
		for i := range 20 {
			createCertificate(t, client, i)
		}
		factory := certinformers.NewSharedInformerFactory(client, 0)

		generated := clientgo.Generated(factory, options)
		certmanager.New(generated, generated.Namespace(), generated.TweakListOptions()).V1().Certificates().Informer()

		// The program's own lines.
		lister, informer := factory.Certmanager().V1().Certificates().Lister(), factory.Certmanager().V1().Certificates().Informer()
		start(t, factory, informer)
		for kind, synced := range factory.WaitForCacheSync(t.Context().Done()) {
			if !synced {
				t.Errorf("%v has not synced", kind)
			}
		}
		expectAdopted(t, informer, !options.DisableStreaming)
		if again := factory.Certmanager().V1().Certificates().Informer(); again != informer {
			t.Errorf("the accessor returns %T, then %T", informer, again)
		}
		reference := referenceCertificates(t, client)
		expectEqual(t, reference.GetStore(), informer.GetStore())
		if list, err := lister.Certificates(namespace).List(labels.SelectorFromSet(labels.Set{"app": "web"})); err != nil || len(list) != 20 {
			t.Errorf("the lister has %d certificates, %v", len(list), err)
		}
		changeCertificates(t, client)
		await(t, "the changes", func() bool { return changed(reference.GetStore()) && changed(informer.GetStore()) })
		expectEqual(t, reference.GetStore(), informer.GetStore())
	})
}

// TestGeneratedKeepsTheSelectionOfAFactory checks the namespace and the list options of
// cert-manager's factory.
func TestGeneratedKeepsTheSelectionOfAFactory(t *testing.T) {
	client := certclient.NewForConfigOrDie(startServer(t, certificates()))
	for i := range 3 {
		createCertificate(t, client, i)
	}
	tweak := func(options *metav1.ListOptions) { options.FieldSelector = "metadata.name=web-01" }
	for name, c := range map[string]struct {
		option certinformers.SharedInformerOption
		want   int
	}{
		"another namespace": {certinformers.WithNamespace("team-b"), 0},
		"the namespace":     {certinformers.WithNamespace(namespace), 3},
		"one name":          {certinformers.WithTweakListOptions(tweak), 1},
	} {
		factory := certinformers.NewSharedInformerFactoryWithOptions(client, 0, c.option)
		generated := clientgo.Generated(factory, clientgo.Options{})
		informer := certmanager.New(generated, generated.Namespace(), generated.TweakListOptions()).V1().Certificates().Informer()
		start(t, factory, informer)
		if got := len(informer.GetStore().List()); got != c.want {
			t.Errorf("%s: %d certificates, want %d", name, got, c.want)
		}
	}
}

// referenceCertificates returns an informer of client-go that has synced.
func referenceCertificates(t *testing.T, client certclient.Interface) clientcache.SharedIndexInformer {
	t.Helper()
	factory := certinformers.NewSharedInformerFactory(client, 0)
	informer := factory.Certmanager().V1().Certificates().Informer()
	start(t, factory, informer)
	return informer
}

// changeCertificates creates web-20, changes web-00 and deletes web-01.
func changeCertificates(t *testing.T, client certclient.Interface) {
	t.Helper()
	createCertificate(t, client, 20)
	certificates := client.CertmanagerV1().Certificates(namespace)
	certificate, err := certificates.Get(t.Context(), "web-00", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	certificate.Labels["app"] = "changed"
	if _, err := certificates.Update(t.Context(), certificate, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := certificates.Delete(t.Context(), "web-01", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// changed reports whether a store has the last change of a collection.
func changed(store clientcache.Store) bool {
	_, found, _ := store.GetByKey(namespace + "/web-01")
	return !found
}

// TestAdoptedCertificateInformer checks that an informer that generated code has made is replaced
// with its indexes.
func TestAdoptedCertificateInformer(t *testing.T) {
	client := certclient.NewForConfigOrDie(startPrepared(t, certificates()))
	for i := range 20 {
		createCertificate(t, client, i)
	}
	indexers := clientcache.Indexers{"secret": func(obj any) ([]string, error) {
		return []string{obj.(*certmanagerv1.Certificate).Spec.SecretName}, nil
	}}

	informer := clientgo.Adopt(certinformersv1.NewCertificateInformer(client, namespace, 0, indexers), clientgo.Options{Packed: true})

	start(t, newRunning(informer), informer)
	expectAdopted(t, informer, true)
	found, err := informer.GetIndexer().ByIndex("secret", "web-07-tls")
	if err != nil || len(found) != 1 || found[0].(*certmanagerv1.Certificate).Name != "web-07" {
		t.Errorf("the index has %v, %v", found, err)
	}
	expectEqual(t, referenceCertificates(t, client).GetStore(), informer.GetStore())
}

// running starts an informer as if it was a factory's.
type running struct {
	clientcache.SharedIndexInformer

	stopped chan struct{}
}

func newRunning(informer clientcache.SharedIndexInformer) running {
	return running{informer, make(chan struct{})}
}

func (r running) Start(stop <-chan struct{}) {
	go func() {
		defer close(r.stopped)
		r.Run(stop)
	}()
}

func (r running) Shutdown() { <-r.stopped }
