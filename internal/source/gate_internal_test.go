package source

import (
	"errors"
	"testing"
)

// TestClosedGatePassesNothing pushes through an open gate and a closed one.
func TestClosedGatePassesNothing(t *testing.T) {
	var g gate
	pushed := errors.New("pushed")
	if err := g.push(func() error { return pushed }); !errors.Is(err, pushed) {
		t.Errorf("push returned %v", err)
	}
	g.close()
	g.close()
	err := g.push(func() error {
		t.Error("a closed gate called the function")
		return nil
	})
	if !errors.Is(err, errGateClosed) {
		t.Errorf("push returned %v", err)
	}
}
