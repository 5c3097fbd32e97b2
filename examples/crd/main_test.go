// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/kinformer/kinformer/examples/internal/program"
	"github.com/kinformer/kinformer/fake"
)

// TestProgram runs the example until a change was painted, and both informers have delivered that.
func TestProgram(t *testing.T) {
	p := program.Start(t)
	p.Expect("typed ", "painted default/gear green, size 1")
	p.Expect("unstructured ", "Update", `default/gear is red, painted "red"`)
	p.Stop()
}

// TestManifest runs the example against a server that gets widgets.yaml, and no other definition of
// Widgets. It refuses requests whose user agent does not name the program.
func TestManifest(t *testing.T) {
	server, err := fake.StartAPIServer(fake.APIServerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close(context.Background()) })
	server.InjectFault(-1, func(r fake.APIRequest) bool {
		return strings.HasPrefix(r.HTTP.UserAgent(), "Go-http-client/")
	}, fake.Fault{Err: errors.New("the request has no user agent")})
	manifest, err := os.ReadFile("widgets.yaml")
	if err != nil {
		t.Fatal(err)
	}
	definition := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(manifest, &definition.Object); err != nil {
		t.Fatal(err)
	}
	for _, obj := range []fake.Object{definition, widget("lever", "blue", 2)} {
		if err := server.Create(obj); err != nil {
			t.Fatal(err)
		}
	}
	p := program.Start(t, "-kubeconfig", program.Kubeconfig(t, server.Config()))
	p.ExpectEach([]string{"typed ", "painted default/lever blue, size 2"}, []string{"unstructured ", `default/lever is blue, painted "blue"`})
	p.Stop()
}
