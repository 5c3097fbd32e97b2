package rest

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
)

// An answer that breaks off must not look like a whole one: nothing sent, the error is answered; something sent, the connection is cut.
func TestAbort(t *testing.T) {
	broken := errors.New("broken")
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	small := (&Handler{}).compressor(httptest.NewRecorder(), request)
	if _, err := small.Write([]byte("some")); err != nil {
		t.Fatal(err)
	}
	if err := small.abort(broken); !errors.Is(err, broken) {
		t.Errorf("got %v for an answer of which nothing was sent", err)
	}

	large := (&Handler{}).compressor(httptest.NewRecorder(), request)
	if _, err := large.Write(make([]byte, compressFrom)); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if p, ok := recover().(error); !ok || !errors.Is(p, http.ErrAbortHandler) {
			t.Errorf("got panic %v for an answer of which a part was sent", p)
		}
	}()
	_ = large.abort(broken)
}
