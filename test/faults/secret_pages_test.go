// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/debug"
	"github.com/kinformer/kinformer/metrics"
)

// current is the informer that the debug pages show.
type current struct{ cache.Viewable }

var (
	shownInformer current
	debugPages    = debug.Handler(debug.Options{ShowObjects: true}, &shownInformer)
)

// shown returns the metrics of an informer and its debug pages, two in HTML and one in JSON. They
// may show the content of objects that are not Secrets.
func shown(informer cache.Viewable) string {
	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics.NewCollector(informer))
	families, err := registry.Gather()
	text := fmt.Sprintln(families, err)
	shownInformer.Viewable = informer
	id := informer.Views()[0].ID()
	for _, path := range []string{"informers.json", "informer?id=%d", "object?id=%d&key=ns/s"} {
		if strings.Contains(path, "%d") {
			path = fmt.Sprintf(path, id)
		}
		response := httptest.NewRecorder()
		debugPages.ServeHTTP(response, httptest.NewRequest(http.MethodGet, "/"+path, nil))
		text += response.Body.String()
	}
	return text
}
