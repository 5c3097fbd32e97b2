// Package mutation finds who writes into cached objects, in programs that are being
// debugged.
//
// What a cache hands out belongs to everybody who reads from it: a caller that
// writes into an object changes it for all others, and races with them. A
// [Detector] keeps a copy of each object as it was when it was stored, and compares:
//
//	d := mutation.New()
//	d.Add(key, object)           // whenever the store gets an object
//	for _, err := range d.Check() { ... } // spec.replicas of "default/web" was 3, is 5
//
// It doubles the memory that the cache takes, and a check walks over all of it: it
// is for tests and debugging, like client-go's KUBE_CACHE_MUTATION_DETECTOR.
package mutation
