package cachetest

import (
	"errors"
	"net/url"
	"syscall"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Errors of the connection as net/http returns them.
const (
	ErrConnectionRefused = syscall.ECONNREFUSED
	ErrConnectionReset   = syscall.ECONNRESET
)

var URLError = url.Error{Op: "Get", URL: "https://server/api/v1/pods", Err: errors.New("dial tcp: lookup server: no such host")}

var PodResource = schema.GroupResource{Resource: "pods"}
