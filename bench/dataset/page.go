// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package dataset

import (
	"net/http"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Page is a part of a list: the objects from number First to End, exclusively.
type Page struct{ First, End int }

// PageOf returns the page of n objects that a list request asks for. As in an API server, a limit
// has no effect at resourceVersion 0. The continue token is the number of the next object.
func PageOf(r *http.Request, n int) Page {
	first, _ := strconv.Atoi(r.FormValue("continue"))
	limit, _ := strconv.Atoi(r.FormValue("limit"))
	if limit == 0 || r.FormValue("resourceVersion") == "0" {
		limit = n
	}
	return Page{First: min(first, n), End: min(first+limit, n)}
}

// setRest sets what the metadata of a page says of the rest of n objects.
func (p Page) setRest(meta *metav1.ListMeta, n int) {
	if rest := int64(n - p.End); rest > 0 {
		meta.Continue, meta.RemainingItemCount = strconv.Itoa(p.End), &rest
	}
}
