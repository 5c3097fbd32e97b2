// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// apiServices is the part of a list of APIServices that matters here.
type apiServices struct {
	Metadata struct {
		Continue string `json:"continue"`
	} `json:"metadata"`
	Items []struct {
		Spec struct {
			Group   string    `json:"group"`
			Version string    `json:"version"`
			Service *struct{} `json:"service"`
		} `json:"spec"`
	} `json:"items"`
}

// AggregatedVersions returns the groups and versions that other servers serve behind this one:
// those whose APIService names a Service. A server without APIServices has none.
func (c *Client) AggregatedVersions() (map[schema.GroupVersion]bool, error) {
	aggregated := map[schema.GroupVersion]bool{}
	for token := ""; ; {
		list, err := c.apiServices(token)
		switch {
		case apierrors.IsNotFound(err):
			return aggregated, nil
		case err != nil:
			return nil, fmt.Errorf("list APIServices: %w", err)
		}
		for _, item := range list.Items {
			if item.Spec.Service != nil {
				aggregated[schema.GroupVersion{Group: item.Spec.Group, Version: item.Spec.Version}] = true
			}
		}
		if token = list.Metadata.Continue; token == "" {
			return aggregated, nil
		}
	}
}

// apiServices returns a page of APIServices.
func (c *Client) apiServices(token string) (*apiServices, error) {
	const pageSize, maxBody = 500, 64 << 20
	query := url.Values{"limit": {strconv.Itoa(pageSize)}}
	if token != "" {
		query.Set("continue", token)
	}
	response, err := c.Get("/apis/apiregistration.k8s.io/v1/apiservices", query, runtime.ContentTypeJSON)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var list apiServices
	return &list, json.NewDecoder(io.LimitReader(response.Body, maxBody)).Decode(&list)
}
