package clientgo_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/clientgo"
)

// With KUBE_CACHE_MUTATION_DETECTOR, which client-go reads when the process starts, whoever
// writes into a cached object ends it.
func TestMutationDetector(t *testing.T) {
	const variable = "KUBE_CACHE_MUTATION_DETECTOR"
	if os.Getenv(variable) != "" {
		synctest.Test(t, func(t *testing.T) {
			s := run(t, newServer("a"), clientgo.Options{})
			obj, _, _ := s.informer.GetStore().GetByKey("ns/a")
			labelled(obj.(*corev1.Pod), "written", "into the cache")
			<-time.After(time.Minute)
		})
		return
	}
	again := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestMutationDetector$")
	again.Env = append(os.Environ(), variable+"=true")
	out, err := again.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "ALTERED") || !strings.Contains(string(out), "*v1.Pod") {
		t.Errorf("the process ended with %v and said:\n%s", err, out)
	}
}
