// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"fmt"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/informer"
	"github.com/kinformer/kinformer/internal/mutation"
	"github.com/kinformer/kinformer/internal/reflector"
	"github.com/kinformer/kinformer/internal/scope"
	"github.com/kinformer/kinformer/internal/scoped"
	"github.com/kinformer/kinformer/internal/served"
	"github.com/kinformer/kinformer/internal/store"
)

// Errors of informers and reflectors, for errors.Is.
var (
	// ErrAlreadyRunning ("already running") is returned by Run, and by ListAndWatch of a Reflector,
	// while another call is active.
	ErrAlreadyRunning error = informer.ErrAlreadyRunning
	// ErrStopped ("the informer has stopped") is returned once Run of an informer, Controller,
	// Factory or Group has returned: by a second Run, by methods that wait, by methods that add a
	// handler, and by InformerFor. A Reflector can run again.
	ErrStopped error = informer.ErrStopped
	// ErrHandlerBlocked ("a handler's call has not returned") is returned by Run if a handler's
	// call has not returned ten seconds after the context ended, and by Registration.Stop if its
	// context ends first. The call goes on.
	ErrHandlerBlocked error = informer.ErrHandlerBlocked
	// ErrFunctionBlocked ("a transform, filter, index function or ErrorHandler has not returned")
	// is returned by Run if the function has not returned ten seconds after the context ended. The
	// call goes on.
	ErrFunctionBlocked error = informer.ErrFunctionBlocked
)

// Errors that an ErrorHandler receives, for errors.Is. Errors of the API server are passed on
// unchanged: use apierrors.IsForbidden and the like. The reasons for a relist are in
// Status.Requests.Relists.
var (
	// ErrVersionRegressed ("server is at an older resourceVersion than before") reports a list or
	// bookmark whose version is older than one that the server has sent before: the API server
	// lags behind another one, or etcd was restored from a backup.
	ErrVersionRegressed error = reflector.ErrVersionRegressed
	// ErrHistoryChanged ("server does not repeat the last changes") reports a resumed watch that
	// did not begin with the changes that the server had sent last: etcd was restored from a
	// backup, or the server lost events.
	ErrHistoryChanged error = reflector.ErrHistoryChanged
	// ErrStalled ("nothing received within the idle timeout") reports a request that was canceled
	// because nothing was received for longer than a working server is silent.
	ErrStalled error = reflector.ErrStalled
	// ErrMutated ("cached object was modified") reports an object that the program has modified
	// although it belongs to the cache; see InformerOptions.DetectMutations.
	ErrMutated error = mutation.ErrMutated
)

// ErrNotStored ("the object's newest state could not be stored") reports that the state could not
// be decoded, was too large, or made Transform, Filter or the key function fail. The errors of
// Reader.KeyError, Reader.Get, Lister.Get, WaitForObject and, with FailOnQuarantined, HealthCheck
// wrap it and the cause, which the ErrorHandler has received, too. The object is requested again.
var ErrNotStored error = store.ErrNotStored

// ErrNoScope ("the informer does not hold the scope") is wrapped by the errors of an InformerScope
// that is not in the informer's Scopes.
//
// The errors of Reader.KeyError, Reader.Get, Lister.Get, WaitForObject and WaitForDelete also wrap
// it if the informer cannot tell whether an object exists:
//   - No scope can hold the object, by its namespace, its name or the hash of its namespace.
//   - A scope that can hold it has not been listed.
//   - The scopes are ranges of hashes of UIDs and do not have all hashes.
var ErrNoScope error = scoped.ErrNoScope

// ErrNotServed ("the server does not serve the resource") is wrapped by errors of an informer in
// PhaseNotServed: those of Reader.KeyError, Reader.Get, Lister.Get, of reads by an index and of the
// methods that wait for a version or an object, but not of WaitForSync, which waits for the
// resource. After the deletion of the CustomResourceDefinition, the objects are known to be gone:
// reads of an informer that had synced report them as absent, without an error.
var ErrNotServed error = served.ErrNotServed

// ErrNotSelected ("the informer does not select the object") is wrapped by the error of
// WaitForObject for an object that the informer never stores: it is in another namespace, or a
// selector or the Filter refuses it. With Scopes, the errors of WaitForObject and WaitForDelete for
// an object of no scope wrap it, too, together with ErrNoScope, and so do those of writes into the
// store of such an informer, through package clientgo.
var ErrNotSelected error = scope.ErrNotSelected

// ErrSkip ("skip this state of the object") is returned by a Transform, possibly wrapped, to ignore
// a state of an object: the store keeps the earlier state, or none if there is none, and there is
// no event, error or relist. A deletion is applied all the same, and delivered with the last stored
// state. To remove objects, use Filter. The transforms of package clientgo may return it, too.
var ErrSkip error = feed.ErrSkip

// ObjectError reports that one object could not be decoded, transformed, indexed or stored.
type ObjectError struct {
	// Key is the object's key, empty if it could not be read.
	Key string
	// Effect is the consequence for the stored object.
	Effect ObjectEffect
	// Err is the cause.
	Err error
}

// ObjectEffect is the consequence of an ObjectError for the stored object.
type ObjectEffect string

// The values of ObjectEffect.
const (
	EffectAbsent            ObjectEffect = "Absent"            // the store does not hold the object
	EffectLastStateKept     ObjectEffect = "LastStateKept"     // the store holds the last good state instead of the newest
	EffectNotIndexed        ObjectEffect = "NotIndexed"        // the store holds the object, and an index does not find it
	EffectUnreadable        ObjectEffect = "Unreadable"        // the store holds the object packed, and cannot decode it
	EffectFinalStateUnknown ObjectEffect = "FinalStateUnknown" // the object is deleted; its event has the last known state
	EffectDuplicate         ObjectEffect = "Duplicate"         // a list has the object more than once; the store holds the newest version
)

// Error names the object.
func (e *ObjectError) Error() string { return fmt.Sprintf("object %q: %v", e.Key, e.Err) }

// Unwrap returns the cause.
func (e *ObjectError) Unwrap() error { return e.Err }

// HandlerError reports a panic of a handler.
type HandlerError struct {
	// Handler is the handler's name.
	Handler string
	// Key is the key of the object that was delivered; of a batch, the first.
	Key string
	// Panic is the value passed to panic.
	Panic any
}

// Error names the handler and the object.
func (e *HandlerError) Error() string {
	return fmt.Sprintf("handler %q panicked on object %q: %v", e.Handler, e.Key, e.Panic)
}

// Unwrap returns the panic's value if it is an error.
func (e *HandlerError) Unwrap() error {
	err, _ := e.Panic.(error)
	return err
}

// ErrorHandler receives the errors of an informer or reflector: each failed attempt to list or
// watch, the reason of a relist, each error on one object (an *ObjectError), each modified object
// (ErrMutated), and each panic of a handler (a *HandlerError).
//
// It is called in the goroutine that met the error, which may be the informer's, a handler's or a
// reader's, so it must be safe for concurrent use and should return soon. The goroutine holds no
// lock of the store: an ErrorHandler may read from a store and write to it. ctx is that of Run,
// with a logger that names the informer.
//
// The default logs errors, and the program's ErrorHandler replaces this log. An error that occurs
// again is logged at most once in five minutes; that of a request also after a recovery, up to
// three times in this time. An error that several informers of the process have at the same time,
// such as a refused connection, is one line a minute with their number. Of the errors on objects,
// the default logs the first ten of each effect. After these it logs one line a minute with the
// number of further ones, until there was none for five minutes. From verbosity 2 on, it logs each
// of them, and each watch that ends because its version has expired (410 Gone).
type ErrorHandler func(ctx context.Context, err error)
