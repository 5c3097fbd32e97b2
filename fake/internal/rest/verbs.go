package rest

import (
	"errors"
	"fmt"
	"io"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/fake/internal/codec"
	"github.com/kinformer/kinformer/fake/internal/history"
)

// maxBody is the largest body that is read, as in the real server.
const maxBody = 3 << 20

func (c *call) get() error {
	obj, err := c.store.Get(c.target.namespace, c.target.name)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, obj)
}

func (c *call) listOrWatch() error {
	opts, err := c.listOptions()
	if err != nil {
		return err
	}
	if opts.Watch {
		return c.watch(opts)
	}
	list, err := c.store.List(c.target.namespace, opts)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, list)
}

func (c *call) create() error {
	obj, err := c.object()
	if err != nil {
		return err
	}
	stored, err := c.store.Create(c.target.namespace, obj)
	if err != nil {
		return err
	}
	return c.answer(http.StatusCreated, stored)
}

// update writes the body's object with one of the store's two ways to update.
func (c *call) update(write func(namespace, name string, obj history.Object) (history.Object, error)) error {
	obj, err := c.object()
	if err != nil {
		return err
	}
	stored, err := write(c.target.namespace, c.target.name, obj)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, stored)
}

func (c *call) delete() error {
	opts, err := c.deleteOptions()
	if err != nil {
		return err
	}
	gone, err := c.store.Delete(c.target.namespace, c.target.name, opts)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, &metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusSuccess,
		Details:  &metav1.StatusDetails{Name: gone.GetName(), Group: c.target.Group, Kind: c.target.Resource, UID: gone.GetUID()},
	})
}

// body reads the request's body and finds its format.
func (c *call) body() ([]byte, *codec.Format, error) {
	data, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, maxBody))
	if err != nil {
		if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
			return nil, nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", maxBody))
		}
		return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("cannot read the body: %v", err))
	}
	format := c.Codecs.ForContentType(c.r.Header.Get("Content-Type"))
	if format == nil {
		return nil, nil, unsupportedMediaType(c.r.Header.Get("Content-Type"), c.Codecs.Supported())
	}
	return data, format, nil
}

// object reads an object of the store's type from the body.
func (c *call) object() (history.Object, error) {
	data, format, err := c.body()
	if err != nil {
		return nil, err
	}
	obj := c.store.New()
	decoded, kind, err := format.Decode(data, c.store.Kind, obj)
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("cannot read a %s from the body: %v", c.store.Kind.Kind, err))
	}
	if *kind != c.store.Kind || decoded != obj {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s", kind.Kind, kind.GroupVersion(), c.store.Kind.Kind))
	}
	return obj, nil
}

// deleteOptions reads the options of a delete, which are the body or nothing.
func (c *call) deleteOptions() (*metav1.DeleteOptions, error) {
	opts := &metav1.DeleteOptions{}
	data, format, err := c.body()
	if err != nil || len(data) == 0 {
		return opts, err
	}
	if _, _, err := format.Decode(data, metav1.SchemeGroupVersion.WithKind("DeleteOptions"), opts); err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("cannot read DeleteOptions from the body: %v", err))
	}
	return opts, nil
}
