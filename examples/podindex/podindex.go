// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kinformer/kinformer/cache"
)

// podFields are the fields of Pods that the informer keeps beside the metadata.
type podFields struct {
	Spec struct {
		NodeName   string      `json:"nodeName"`
		Containers []container `json:"containers"`
	} `json:"spec"`
	Status struct {
		Phase corev1.PodPhase `json:"phase"`
	} `json:"status"`
}

type container struct {
	Image string `json:"image"`
}

// Pod is a Pod with podFields.
type Pod = cache.PartialObject[*corev1.Pod, podFields]

// byNode is the name of the index by spec.nodeName.
const byNode = "node"

// newInformer returns an informer of all Pods of a source.
func newInformer(source cache.ListerWatcher) *cache.SharedInformer[*Pod] {
	return cache.NewSharedInformer(source, &Pod{}, cache.InformerOptions[*Pod]{
		Packed:   true,
		Indexers: cache.Indexers[*Pod]{byNode: cache.ByField[*Pod]("spec.nodeName")},
	})
}

// handler answers from the store of an informer.
func handler(pods *cache.SharedInformer[*Pod]) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /nodes/{name}", func(w http.ResponseWriter, r *http.Request) {
		found, err := pods.Store().ByIndex(byNode, r.PathValue("name"))
		answer(w, found, err)
	})
	lister := cache.NewLister(pods.Store(), corev1.Resource("pods"))
	mux.HandleFunc("GET /pods", func(w http.ResponseWriter, r *http.Request) {
		selector, err := labels.Parse(r.FormValue("selector"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		answer(w, lister.List(selector), nil) // decodes only the Pods that match
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !pods.HasSynced() {
			http.Error(w, "the Pods have not been listed yet", http.StatusServiceUnavailable)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// podJSON is a Pod in an answer.
type podJSON struct {
	Namespace string          `json:"namespace"`
	Name      string          `json:"name"`
	Node      string          `json:"node,omitempty"`
	Phase     corev1.PodPhase `json:"phase"`
	Images    []string        `json:"images"`
}

// answer writes Pods, or an error.
func answer(w http.ResponseWriter, pods []*Pod, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	list := make([]podJSON, 0, len(pods))
	for _, pod := range pods {
		p := podJSON{pod.Namespace, pod.Name, pod.Fields.Spec.NodeName, pod.Fields.Status.Phase, []string{}}
		for _, c := range pod.Fields.Spec.Containers {
			p.Images = append(p.Images, c.Image)
		}
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b podJSON) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(list) // fails only if the client has gone
}
