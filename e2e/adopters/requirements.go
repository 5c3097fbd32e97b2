//go:build never

package adopters

// What docs/adopting.md imports, for go.mod: its test checks the types of its blocks without
// importing the packages.
import _ "sigs.k8s.io/controller-runtime/pkg/cache"
