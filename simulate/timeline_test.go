// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"github.com/kinformer/kinformer/simulate"
)

func wantReport(t *testing.T, found simulate.Found, want string) {
	t.Helper()
	if found.Report != want {
		t.Errorf("got timeline\n%s\nwant\n%s", found.Report, want)
	}
}

// The events of the program's own writes are left out, unless they were held.
func TestTimelineOfHeldEvents(t *testing.T) {
	found := simulate.RunPlan(t, copying(createUnlessCached), 0, simulate.Lag{After: "1st create of secrets default/a-*"})
	wantReport(t, found, `        0s  steps      settle
        0s  process 1  watch of configmaps, secrets at version 2
        0s  process 1  receives ADDED ConfigMap default/a at version 2
        0s  process 1  receives BOOKMARK Secret, ConfigMap at version 2
        0s             simulate.Lag{After: "1st create of secrets default/a-*"}
        0s  process 1  1st create of secrets default/a-* at version 3
     500ms             another client writes to 1 configmaps, without effect
     500ms  process 1  receives MODIFIED ConfigMap default/a at version 4
     500ms  process 1  2nd create of secrets default/a-* at version 5
       10s             the events of secrets are delivered
       10s  process 1  receives ADDED Secret default/a-cbhtc at version 3
       10s  process 1  receives ADDED Secret default/a-bsvjp at version 5
    20m10s  steps      at rest (settle 1)
    20m10s  steps      update ConfigMap default/a at version 6
    20m10s  steps      settle
    20m10s  process 1  receives MODIFIED ConfigMap default/a at version 6
    40m10s  steps      at rest (settle 2)
    40m10s  steps      delete ConfigMap default/a at version 7
    40m10s  steps      settle
    40m10s  process 1  receives DELETED ConfigMap default/a at version 7
   1h0m10s  steps      at rest (settle 3)
`)
}

func TestTimelineMarksDisturbedRequests(t *testing.T) {
	found := simulate.RunPlan(t, copying(copyConfigMap), 0,
		simulate.LostResponse{To: "1st create of secrets default/a"}, simulate.Crash{Before: "1st update of secrets default/a"},
		simulate.Crash{Before: "2nd update of secrets default/a"},
		simulate.ServerError{To: "1st delete of secrets default/a"},
		simulate.Crash{After: "2nd delete of secrets default/a"})
	for text, times := range map[string]int{
		"1st create of secrets default/a at version 3 (the response is lost)\n": 1,
		"receives ADDED Secret default/a at version 3\n":                        3, // of the lost write, and twice when started again
		"1st update of secrets default/a (not executed, the process crashes)\n": 1,
		"2nd update of secrets default/a (not executed, the process crashes)\n": 1,
		"process 1  watch of configmaps, secrets at version 4\n":                2,
		"1st delete of secrets default/a: 500 InternalError (not executed)\n":   1,
		"2nd delete of secrets default/a at version 7 (the process crashes)\n":  1,
	} {
		if n := strings.Count(found.Report, text); n != times {
			t.Errorf("got %q %d times, want %d times in\n%s", text, n, times, found.Report)
		}
	}
}

func TestTimelineMarksConflict(t *testing.T) {
	found := simulate.RunPlan(t, copying(copyConfigMap), 0, simulate.Conflict{To: "1st update of secrets default/a"})
	if want := "1st update of secrets default/a: 409 Conflict (after a write of another client)\n"; !strings.Contains(found.Report, want) {
		t.Errorf("got timeline\n%s\nwant %q in it", found.Report, want)
	}
}

// grow is a cluster that creates three Secrets, one after the other, when there is a ConfigMap b.
func grow(s simulate.State) []simulate.Action {
	if len(simulate.All[*corev1.ConfigMap](s)) < 2 {
		return nil
	}
	names := []string{"x", "y", "z"}[min(len(simulate.All[*corev1.Secret](s)), 3):]
	var actions []simulate.Action
	for _, name := range names {
		actions = append(actions, simulate.Action{Verb: "create", Object: &corev1.Secret{ObjectMeta: named(name)}})
	}
	return actions
}

// watchInTurn watches ConfigMaps and Secrets, each time for five minutes.
func watchInTurn(ctx context.Context, client kubernetes.Interface) error {
	for ctx.Err() == nil {
		short, cancel := context.WithTimeout(ctx, 5*time.Minute)
		var watches []apiwatch.Interface
		for _, open := range []func(context.Context, metav1.ListOptions) (apiwatch.Interface, error){
			client.CoreV1().ConfigMaps("default").Watch, client.CoreV1().Secrets("default").Watch,
		} {
			if w, err := open(short, metav1.ListOptions{}); err == nil {
				watches = append(watches, w)
			}
		}
		<-short.Done()
		cancel()
		for _, w := range watches {
			w.Stop()
		}
	}
	return nil
}

// Watches that are renewed are a line, and so are the writes of the cluster.
func TestTimelineFoldsWatchesAndWritesOfCluster(t *testing.T) {
	found := simulate.RunPlan(t, simulate.Test{
		Start: withClient(watchInTurn), Cluster: []simulate.Actor{grow}, Without: []simulate.Oracle{simulate.EndState},
		Steps: func(w *simulate.World) {
			w.Create(source("1"))
			w.Create(&corev1.ConfigMap{ObjectMeta: named("b")})
		},
	}, 0)
	wantReport(t, found, `        0s  steps      settle
        0s  process 1  watch of configmaps default (5 times), secrets default (5 times) at version 1
     20m0s  steps      at rest (settle 1)
     20m0s  steps      create ConfigMap default/a at version 2
     20m0s  steps      create ConfigMap default/b at version 3
     20m0s  steps      settle
     20m0s  cluster    create Secret default/x, create Secret default/y, create Secret default/z
     20m0s  process 1  receives ADDED ConfigMap default/a at version 2
     20m0s  process 1  receives ADDED Secret default/x at version 4
     20m0s  process 1  receives ADDED ConfigMap default/b at version 3
     20m0s  process 1  receives ADDED Secret default/y at version 5
     20m0s  process 1  receives ADDED Secret default/z at version 6
     25m0s  process 1  watch of configmaps default (4 times), secrets default (4 times) at version 6
     25m0s  process 1  receives ADDED ConfigMap default/a at version 2
     25m0s  process 1  receives ADDED ConfigMap default/b at version 3
     25m0s  process 1  receives ADDED Secret default/x at version 4
     25m0s  process 1  receives ADDED Secret default/y at version 5
     25m0s  process 1  receives ADDED Secret default/z at version 6
     40m0s             these 5 lines 3 times more
     40m0s  steps      at rest (settle 2)
`)
}
