// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
)

// recorder is the http.ResponseWriter of a request that is not a watch.
type recorder struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

func newRecorder() *recorder { return &recorder{header: http.Header{}, code: http.StatusOK} }

// Header implements http.ResponseWriter.
func (r *recorder) Header() http.Header { return r.header }

// WriteHeader implements http.ResponseWriter.
func (r *recorder) WriteHeader(code int) { r.code = code }

// Write implements http.ResponseWriter.
func (r *recorder) Write(p []byte) (int, error) { return r.body.Write(p) }

// reason returns why a request has failed: the reason of a Status, such as AlreadyExists, or the
// text of the status code.
func (r *recorder) reason() string {
	if r.code < http.StatusBadRequest {
		return ""
	}
	return cmp.Or(string(r.status().Reason), http.StatusText(r.code))
}

// refusal returns the error of a request that the server has answered with a 4xx code, else nil.
func (r *recorder) refusal() *apierrors.StatusError {
	if r.code < http.StatusBadRequest || r.code >= http.StatusInternalServerError {
		return nil
	}
	return &apierrors.StatusError{ErrStatus: r.status()}
}

// status returns the Status of a request that has failed.
func (r *recorder) status() metav1.Status {
	var status metav1.Status
	if err := json.Unmarshal(r.body.Bytes(), &status); err != nil {
		_, _, _ = scheme.Codecs.UniversalDeserializer().Decode(r.body.Bytes(), nil, &status) // protobuf, or no Status
	}
	if status.Code == 0 {
		status = metav1.Status{Status: metav1.StatusFailure, Code: int32(r.code), Message: strings.TrimSpace(r.body.String())}
	}
	return status
}

func (r *recorder) response() *http.Response {
	return &http.Response{
		Status: http.StatusText(r.code), StatusCode: r.code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: r.header, Body: io.NopCloser(bytes.NewReader(r.body.Bytes())), ContentLength: int64(r.body.Len()),
	}
}
