package cache_test

import (
	"errors"
	"net/url"
	"syscall"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Errors of the connection as net/http returns them.
const (
	errConnectionRefused = syscall.ECONNREFUSED
	errConnectionReset   = syscall.ECONNRESET
)

var urlError = url.Error{Op: "Get", URL: "https://server/api/v1/pods", Err: errors.New("dial tcp: lookup server: no such host")}

var podResource = schema.GroupResource{Resource: "pods"}
