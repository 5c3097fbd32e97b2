package history

import (
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ErrEnded is what a watcher's Next returns once what it watched is gone: the stream ends without an ERROR event.
var ErrEnded = errors.New("the watch has ended: the server was restored from a backup, or serves this resource no longer")

// errContinueExpired is the text of the real server, word for word, since clients have been seen to look for it.
const errContinueExpired = "The provided continue parameter is too old to display a consistent list result. " +
	"You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. " +
	"Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first " +
	"chunk was returned and now may show up in the list."

// expired is 410 for a watch whose version the log has passed.
func expired(version, floor uint64) error {
	return apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", version, floor))
}

// TooLarge is the 504 for a version that this server has not reached: it asks to be tried again in a second, as a lagging replica does.
func TooLarge(wanted, current uint64) error {
	err := apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", wanted, current), 1)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{
		Type:    metav1.CauseTypeResourceVersionTooLarge,
		Message: "Too large resource version",
	}}
	err.ErrStatus.Code = http.StatusGatewayTimeout
	return err
}

// continueExpired is 410 for a continue token whose version is forgotten. It brings a token that goes on, inconsistently, at the current version.
func continueExpired(start string) error {
	err := apierrors.NewResourceExpired(errContinueExpired)
	err.ErrStatus.Continue = encodeToken(token{Version: anyVersion, Start: start})
	return err
}
