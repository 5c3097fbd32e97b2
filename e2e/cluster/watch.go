// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

// Write is a write to etcd.
type Write struct {
	Revision int64  // the object's resourceVersion
	Key      string // RESOURCE/NAMESPACE/NAME
	Object   []byte // in protobuf, of the stored version; nil if it was deleted
}

// Watch calls see for each write to the objects below a key, such as "configmaps/", after a
// revision, in order and without gaps, until ctx ends. It does not depend on kube-apiserver, but
// ends with an error if etcd stops, or no longer has the revision.
func (c *Cluster) Watch(ctx context.Context, below string, after int64, see func(Write)) error {
	encode := func(key string) string { return base64.StdEncoding.EncodeToString([]byte(key)) }
	first := storePrefix + below
	end := first[:len(first)-1] + string(first[len(first)-1]+1)
	request := fmt.Sprintf(`{"create_request": {"key": %q, "range_end": %q, "start_revision": %d}}`, encode(first), encode(end), after+1)
	err := c.etcd.post(ctx, "watch", request, func(body io.Reader) error {
		for decoder := json.NewDecoder(body); ; {
			var response watchResponse
			if err := decoder.Decode(&response); err != nil {
				return err
			}
			if err := response.pass(see); err != nil {
				return err
			}
		}
	})
	if ctx.Err() == nil {
		return fmt.Errorf("watch %s in etcd: %w", below, err)
	}
	return nil
}

// watchResponse is a message of etcd's gateway.
type watchResponse struct {
	Result struct {
		Canceled     bool   `json:"canceled"`
		CancelReason string `json:"cancel_reason"`
		Events       []struct {
			Type string `json:"type"` // empty or "DELETE"
			KV   struct {
				Key, Value  []byte
				ModRevision int64 `json:"mod_revision,string"`
			} `json:"kv"`
		} `json:"events"`
	} `json:"result"`
}

var errCanceled = errors.New("canceled by etcd")

func (r watchResponse) pass(see func(Write)) error {
	if r.Result.Canceled {
		return fmt.Errorf("%w: %s", errCanceled, r.Result.CancelReason)
	}
	for _, event := range r.Result.Events {
		write := Write{Revision: event.KV.ModRevision, Key: strings.TrimPrefix(string(event.KV.Key), storePrefix)}
		if event.Type != "DELETE" {
			var envelope runtime.Unknown
			if err := envelope.Unmarshal(bytes.TrimPrefix(event.KV.Value, []byte(protobufPrefix))); err != nil {
				return fmt.Errorf("%s: %w", write.Key, err)
			}
			write.Object = envelope.Raw
		}
		see(write)
	}
	return nil
}
