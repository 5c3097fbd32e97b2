// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/base64"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
)

const (
	storePrefix    = "/registry/" // of all keys
	protobufPrefix = "k8s\x00"    // of a value in protobuf
)

// Message is an object of a generated type.
type Message interface{ Marshal() ([]byte, error) }

// Put writes an object directly to etcd, as kube-apiserver stores it: at
// /registry/RESOURCE/NAMESPACE/NAME, in protobuf, with an empty resourceVersion. To kube-apiserver
// it is a write like any other. An object can thus be created with a status, managers and times
// that a client cannot set in one request, and twenty thousand objects within seconds. The object
// is not validated: kube-apiserver fails later on an invalid one.
func (c *Cluster) Put(ctx context.Context, key, apiVersion, kind string, object Message) error {
	raw, err := object.Marshal()
	if err != nil {
		return fmt.Errorf("encode %s for etcd: %w", key, err)
	}
	envelope := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: apiVersion, Kind: kind}, Raw: raw}
	value, err := envelope.Marshal()
	if err != nil {
		return fmt.Errorf("encode %s for etcd: %w", key, err)
	}
	return c.etcd.put(ctx, storePrefix+key, append([]byte(protobufPrefix), value...))
}

func (e *etcd) put(ctx context.Context, key string, value []byte) error {
	request := fmt.Sprintf(`{"key": %q, "value": %q}`,
		base64.StdEncoding.EncodeToString([]byte(key)), base64.StdEncoding.EncodeToString(value))
	if err := e.call(ctx, "kv/put", request, &struct{}{}); err != nil {
		return fmt.Errorf("write %s to etcd: %w", key, err)
	}
	return nil
}
