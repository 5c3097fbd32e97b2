package cache

import "errors"

// ResourceEventHandler is told what changes.
//
// OnEvent is called for one event at a time, in order for each object, after the
// change is in the store (by then, further changes may be too). It may take its
// time: nobody but this handler waits, and HandlerOptions.Delivery says what becomes of
// the events. A panic ends the process, as anywhere in Kubernetes, unless
// HandlerOptions.ContinueOnPanic says otherwise.
type ResourceEventHandler[T Object] interface {
	OnEvent(event Event[T])
}

// ResourceEventHandlerFuncs is a ResourceEventHandler of functions, each of which
// may be nil.
type ResourceEventHandlerFuncs[T Object] struct {
	AddFunc    func(obj T)
	UpdateFunc func(oldObj, newObj T)
	DeleteFunc func(obj T) // the last known state, always
}

// OnEvent calls the function for the event's type.
func (f ResourceEventHandlerFuncs[T]) OnEvent(event Event[T]) {
	switch {
	case event.Type == EventAdd && f.AddFunc != nil:
		f.AddFunc(event.New)
	case event.Type == EventUpdate && f.UpdateFunc != nil:
		f.UpdateFunc(event.Old, event.New)
	case event.Type == EventDelete && f.DeleteFunc != nil:
		f.DeleteFunc(event.Old)
	}
}

// ResourceEventHandlerDetailedFuncs is ResourceEventHandlerFuncs whose AddFunc is
// told whether the addition is part of the initial list.
type ResourceEventHandlerDetailedFuncs[T Object] struct {
	AddFunc    func(obj T, isInInitialList bool)
	UpdateFunc func(oldObj, newObj T)
	DeleteFunc func(obj T)
}

// OnEvent calls the function for the event's type.
func (f ResourceEventHandlerDetailedFuncs[T]) OnEvent(event Event[T]) {
	if event.Type == EventAdd {
		if f.AddFunc != nil {
			f.AddFunc(event.New, event.InInitialList)
		}
		return
	}
	ResourceEventHandlerFuncs[T]{UpdateFunc: f.UpdateFunc, DeleteFunc: f.DeleteFunc}.OnEvent(event)
}

// FilteringResourceEventHandler passes on to Handler what concerns the objects
// that FilterFunc accepts. An object that begins to be accepted is an addition,
// one that no longer is a deletion (of the last state that was, with Departed
// set). What was added is deleted, even if the state in which an object is deleted
// would not be accepted. FilterFunc must depend on the object alone. Both are required.
type FilteringResourceEventHandler[T Object] struct {
	FilterFunc func(obj T) bool
	Handler    ResourceEventHandler[T]
}

// checkHandler returns an error if a handler cannot be called.
func checkHandler[T Object](handler ResourceEventHandler[T]) error {
	if isNil(handler) {
		return errNoHandler
	}
	filter, ok := filtering(handler)
	switch {
	case !ok:
		return nil
	case filter.FilterFunc == nil:
		return errNoFilterFunc
	default:
		return checkHandler(filter.Handler)
	}
}

// filtering returns a handler as the filtering one that it may be.
func filtering[T Object](handler ResourceEventHandler[T]) (filter FilteringResourceEventHandler[T], ok bool) {
	if pointer, isPointer := handler.(*FilteringResourceEventHandler[T]); isPointer {
		return *pointer, true
	}
	filter, ok = handler.(FilteringResourceEventHandler[T])
	return filter, ok
}

var (
	errNoHandler    = errors.New("the handler is nil")
	errNoFilterFunc = errors.New("the FilteringResourceEventHandler has no FilterFunc")
)

// OnEvent passes the event on as what it is for the filtered collection.
func (f FilteringResourceEventHandler[T]) OnEvent(event Event[T]) {
	told := event.Old
	if event.Type == EventDelete && !isNil(event.told) {
		told = event.told
	}
	before := event.Type != EventAdd && f.FilterFunc(told)
	after := event.Type != EventDelete && f.FilterFunc(event.New)
	var none T
	switch {
	case !before && !after:
		return
	case !before:
		event.Type, event.Old = EventAdd, none
	case !after && event.Type == EventUpdate:
		event.Type, event.New, event.told, event.LeftScope = EventDelete, none, event.Old, true
	}
	f.Handler.OnEvent(event)
}
