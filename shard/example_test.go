// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package shard_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/clientgo"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/shard"
)

// cluster starts a server with 20 ConfigMaps, and returns a client for it.
func cluster() (client kubernetes.Interface, closeServer func()) {
	server, err := fake.StartAPIServer(fake.APIServerOptions{ShardedListAndWatch: true})
	if err != nil {
		log.Fatal(err)
	}
	for n := range 20 {
		meta := metav1.ObjectMeta{Namespace: "web", Name: fmt.Sprintf("item-%02d", n)}
		if err := server.Create(&corev1.ConfigMap{ObjectMeta: meta}); err != nil {
			log.Fatal(err)
		}
	}
	config := server.Config()
	config.QPS, config.Burst = 50, 100
	return kubernetes.NewForConfigOrDie(config), func() { _ = server.Close(context.Background()) }
}

// newMember returns a replica of a group with four slots. It retries fast, for the examples.
func newMember(client kubernetes.Interface, name string, leaseDuration time.Duration) *shard.Member {
	member, err := shard.New(client.CoordinationV1().Leases("web"), shard.Options{
		Group: "web", Identity: name, Slots: 4, LeaseDuration: leaseDuration, RetryPeriod: 100 * time.Millisecond,
	})
	if err != nil {
		log.Fatal(err)
	}
	return member
}

// start calls the Run methods of informers and members. The returned function stops them.
func start(run ...func(context.Context) error) (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- cache.RunAll(ctx, run...) }()
	return func() error {
		cancel()
		return <-stopped
	}
}

// awaitSlots waits until a member owns n slots.
func awaitSlots(member *shard.Member, n int) []*shard.Slot {
	for slots := range member.Changes(context.Background()) {
		if len(slots) == n {
			return slots
		}
	}
	return nil
}

// Two replicas hold the ConfigMaps of their slots, and annotate them. Each has an informer over the
// scopes of its member, and writes an object with the context of its slot and the resourceVersion
// of the object. In a program the handler adds keys to a work queue, which repeats writes that
// fail: see examples/sharded.
func Example() {
	client, closeServer := cluster()
	defer closeServer()
	annotated := make(chan *corev1.ConfigMap, 100)

	replica := func(name string) (*shard.Member, *cache.SharedInformer[*corev1.ConfigMap]) {
		member, err := shard.New(client.CoordinationV1().Leases("web"), shard.Options{
			Group: "web", Identity: name, Slots: 4, LeaseDuration: time.Second, // short, for this example
		})
		if err != nil {
			log.Fatal(err)
		}
		configMaps := cache.NewSharedInformer(cache.ListWatchOf(client.CoreV1().ConfigMaps("web")), &corev1.ConfigMap{},
			cache.InformerOptions[*corev1.ConfigMap]{Scopes: member.Scopes()})
		reconcile := func(configMap *corev1.ConfigMap) {
			slot, ok := member.Slot(configMap)
			if !ok || configMap.Annotations["owner"] == name {
				return
			}
			ctx, cancel := slot.Context(context.Background())
			defer cancel()
			changed := configMap.DeepCopy()
			metav1.SetMetaDataAnnotation(&changed.ObjectMeta, "owner", name)
			if changed, err := client.CoreV1().ConfigMaps("web").Update(ctx, changed, metav1.UpdateOptions{}); err == nil {
				annotated <- changed
			}
		}
		if _, err := configMaps.AddEventHandler(cache.ResourceEventHandlerFuncs[*corev1.ConfigMap]{AddFunc: reconcile}, cache.HandlerOptions{}); err != nil {
			log.Fatal(err)
		}
		return member, configMaps
	}
	blue, blueConfigMaps := replica("blue")
	green, greenConfigMaps := replica("green")
	stop := start(blue.Run, blueConfigMaps.Run, green.Run, greenConfigMaps.Run)

	owners := make(map[string]string)
	for len(owners) < 20 || len(blue.Slots()) != 2 || len(green.Slots()) != 2 {
		select {
		case configMap := <-annotated:
			owners[configMap.Name] = configMap.Annotations["owner"]
		case <-time.After(100 * time.Millisecond):
		}
	}
	fmt.Println(len(owners), "ConfigMaps have an owner")
	fmt.Println("stopped:", stop())
	// Output:
	// 20 ConfigMaps have an owner
	// stopped: <nil>
}

// Changes returns the slots whenever they have changed, for example to log them, or to hold other
// things than objects for each slot.
func ExampleMember_Changes() {
	client, closeServer := cluster()
	defer closeServer()
	member := newMember(client, "blue", time.Minute)
	stop := start(member.Run)

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for slots := range member.Changes(ctx) {
		if len(slots) < 4 {
			continue // the member takes one after the other
		}
		for _, slot := range slots {
			fmt.Printf("slot %d: owner number %d, hashes from %016x to %016x\n", slot.Number, slot.Transition, slot.Hash.First, slot.Hash.Last)
		}
		cancel() // ends the loop
	}
	fmt.Println(len(member.Ranges()), "range, as the slots are adjacent")
	fmt.Println("stopped:", stop())
	fmt.Println(len(member.Slots()), "slots")
	// Output:
	// slot 0: owner number 1, hashes from 0000000000000000 to 3fffffffffffffff
	// slot 1: owner number 1, hashes from 4000000000000000 to 7fffffffffffffff
	// slot 2: owner number 1, hashes from 8000000000000000 to bfffffffffffffff
	// slot 3: owner number 1, hashes from c000000000000000 to ffffffffffffffff
	// 1 range, as the slots are adjacent
	// stopped: <nil>
	// 0 slots
}

// A replica loses a slot while it prepares a write. The write fails before it is sent.
func ExampleSlot_Context() {
	client, closeServer := cluster()
	defer closeServer()
	member := newMember(client, "blue", time.Minute)
	stop := start(member.Run)
	awaitSlots(member, 4)

	configMap, err := client.CoreV1().ConfigMaps("web").Get(context.Background(), "item-00", metav1.GetOptions{})
	if err != nil {
		log.Fatal(err)
	}
	slot, ok := member.Slot(configMap)
	fmt.Println("owned:", ok)
	ctx, cancel := slot.Context(context.Background())
	defer cancel()
	configMap, err = client.CoreV1().ConfigMaps("web").Update(ctx, configMap, metav1.UpdateOptions{})
	fmt.Println("first write:", err)

	fmt.Println("stopped:", stop())
	_, err = client.CoreV1().ConfigMaps("web").Update(ctx, configMap, metav1.UpdateOptions{})
	fmt.Println("second write failed:", err != nil, errors.Is(context.Cause(ctx), shard.ErrNotOwner))
	fmt.Println("owned:", member.Owns(configMap))
	// Output:
	// owned: true
	// first write: <nil>
	// stopped: <nil>
	// second write failed: true true
	// owned: false
}

// A replica that stops hands its slots over, so that the other one owns all of them without waiting
// for LeaseDuration.
func ExampleMember_Run() {
	client, closeServer := cluster()
	defer closeServer()
	blue, green := newMember(client, "blue", 5*time.Second), newMember(client, "green", 5*time.Second)
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- blue.Run(ctx) }()
	stopGreen := start(green.Run)
	awaitSlots(blue, 2)
	awaitSlots(green, 2)
	cancel()
	fmt.Println("stopped:", <-stopped)
	awaitSlots(green, 4)

	status := green.Status()
	fmt.Println(status.Members, "member,", status.Owned, "slots")
	fmt.Println("stopped:", stopGreen())
	// Output:
	// stopped: <nil>
	// 1 member, 4 slots
	// stopped: <nil>
}

// A program that shows its informers finds the members over whose scopes they are.
func ExampleMembersOf() {
	client, closeServer := cluster()
	defer closeServer()
	member := newMember(client, "blue", time.Minute)
	configMaps := cache.NewSharedInformer(cache.ListWatchOf(client.CoreV1().ConfigMaps("web")), &corev1.ConfigMap{},
		cache.InformerOptions[*corev1.ConfigMap]{Scopes: member.Scopes()})
	for _, member := range shard.MembersOf(configMaps.Views()) {
		status := member.Status()
		fmt.Println(status.Group, status.Identity, "runs:", status.Running)
	}
	// Output: web blue runs: false
}

// The informers of a client-go factory hold the objects of the member's slots. Other types, here
// all but ConfigMaps, are held whole.
func ExampleMember_Scopes_clientgo() {
	client, closeServer := cluster()
	defer closeServer()
	member := newMember(client, "blue", time.Minute)
	informers := clientgo.With(clientgo.Options{Scopes: func(example runtime.Object) *cache.Scopes {
		if _, ok := example.(*corev1.ConfigMap); ok {
			return member.Scopes()
		}
		return nil
	}})
	factory := informers.NewSharedInformerFactory(client, 0)
	configMaps := factory.Core().V1().ConfigMaps()
	lister := configMaps.Lister()
	ctx, cancel := context.WithCancel(context.Background())
	factory.StartWithContext(ctx)
	fmt.Println("synced without an assignment:", configMaps.Informer().HasSynced())

	stop := start(member.Run)
	awaitSlots(member, 4)
	if err := factory.WaitForCacheSyncWithContext(ctx).AsError(); err != nil {
		log.Fatal(err)
	}
	list, err := lister.List(labels.Everything())
	for len(list) < 20 && err == nil { // until the informer has listed them
		list, err = lister.List(labels.Everything())
	}
	fmt.Println("with all slots:", len(list), err)
	cancel()
	factory.Shutdown()
	fmt.Println("stopped:", stop())
	// Output:
	// synced without an assignment: false
	// with all slots: 20 <nil>
	// stopped: <nil>
}
