// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package agreement

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/bench/child"
	"github.com/kinformer/kinformer/bench/dataset"
	"github.com/kinformer/kinformer/bench/listserver"
	"github.com/kinformer/kinformer/bench/podserver"
	"github.com/kinformer/kinformer/internal/testing/envelope"
	"github.com/kinformer/kinformer/internal/testing/loopback"
)

// TestMain runs the test, or a child process of it.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 || os.Args[1] != child.Arg {
		os.Exit(m.Run())
	}
	if err := child.Main(os.Args[2:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "child process:", err)
		os.Exit(1)
	}
}

const (
	pods      = 20_000 // as in the rows
	tolerance = 0.1
	// variation, in bytes, is by how much the peak of one process differs from run to run: that of
	// packed Pods is 24 to 28 MB.
	variation = 4e6
)

// TestCostAgreesWithRows compares heap (row memory-per-object) and peak RSS above idle (row
// initial-sync). It takes about a minute. The peak of client-go with WatchList is left out: it
// differs by more from run to run.
func TestCostAgreesWithRows(t *testing.T) {
	if testing.Short() {
		t.Skip("it syncs 20000 Pods 15 times")
	}
	encoded, err := podserver.Pods(20, pods)
	if err != nil {
		t.Fatal(err)
	}
	printed := printedBy(t, encoded)
	packed, err := dataset.PackPods(20, pods)
	if err != nil {
		t.Fatal(err)
	}
	for _, cache := range []struct {
		name string // as the command prints it
		side string // of the rows
	}{
		{"client-go", child.ClientGo},
		{"kinformer", child.Kinformer},
		{"kinformer, ShareEqual", child.ShareEqual},
		{"kinformer, packed", child.Packed},
	} {
		compare(t, cache.name+": heap", printed[cache.name].HeapBytes, heapOf(t, packed, cache.side))
		compare(t, cache.name+": peak RSS", printed[cache.name].PeakRSSBytes, peakOf(t, encoded, cache.side))
	}
}

func compare(t *testing.T, what string, printed, row float64) {
	t.Helper()
	difference := printed/row - 1
	t.Logf("%-40s kinformer cost %7.2f MB, row %7.2f MB, %+.1f %%", what, printed/1e6, row/1e6, 100*difference)
	if !(math.Abs(difference) <= tolerance) && !(math.Abs(printed-row) <= variation) {
		t.Errorf("%s: they differ by more than %.0f %% and %.0f MB", what, 100*tolerance, variation/1e6)
	}
}

// figures are those of one cache.
type figures struct {
	Cache                   string
	HeapBytes, PeakRSSBytes float64
}

// printedBy runs the command, which reads the Pods page by page, and returns the figures by cache.
func printedBy(t *testing.T, encoded *dataset.Encoded) map[string]figures {
	t.Helper()
	server, err := loopback.Start(apiServer(encoded))
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, built(t), "cost", "pods", "--yes", "--qps=1000", "--output=json", "--server", server.URL())
	command.Env, command.Stderr = []string{"HOME=" + t.TempDir()}, os.Stderr
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	var report struct{ Resources []struct{ Caches []figures } }
	if err := json.Unmarshal(out, &report); err != nil || len(report.Resources) != 1 {
		t.Fatalf("report %s, error %v", out, err)
	}
	byCache := make(map[string]figures)
	for _, cache := range report.Resources[0].Caches {
		byCache[cache.Cache] = cache
	}
	return byCache
}

// built builds the command, in its own module.
func built(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kinformer")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", file, ".")
	build.Dir, build.Stderr = "../../cmd/kinformer", os.Stderr
	if err := build.Run(); err != nil {
		t.Fatal(err)
	}
	return file
}

// apiServer serves the Pods in pages, and that they are the only resource.
func apiServer(encoded *dataset.Encoded) http.Handler {
	mux := http.NewServeMux()
	for path, document := range map[string]any{
		"/api": metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}},
		"/api/v1": metav1.APIResourceList{GroupVersion: "v1", APIResources: []metav1.APIResource{
			{Name: "pods", SingularName: "pod", Namespaced: true, Kind: "Pod", Verbs: metav1.Verbs{"list", "watch"}},
		}},
		"/apis": metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}},
	} {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(document)
		})
	}
	mux.HandleFunc("GET /api/v1/pods", func(w http.ResponseWriter, r *http.Request) { servePage(w, r, encoded) })
	return mux
}

// servePage serves the Pods from the continue token on, at most limit.
func servePage(w http.ResponseWriter, r *http.Request, encoded *dataset.Encoded) {
	start, _ := strconv.Atoi(r.FormValue("continue"))
	limit, _ := strconv.Atoi(r.FormValue("limit"))
	end := min(start+limit, encoded.Len())
	meta := metav1.ListMeta{ResourceVersion: dataset.Version(encoded.Len())}
	if remaining := int64(encoded.Len() - end); remaining > 0 {
		meta.Continue, meta.RemainingItemCount = strconv.Itoa(end), &remaining
	}
	size := int64(0)
	for i := start; i < end; i++ {
		size += envelope.ItemSize(encoded.Raw(i))
	}
	format := envelope.Of("v1", "Pod", false)
	w.Header().Set("Content-Type", format.ListContentType())
	list, err := format.NewListWriter(w, meta, size)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	for i := start; i < end; i++ {
		_ = list.Write(encoded.Raw(i)) // Close returns the error
	}
	_ = list.Close() // fails if the client has disconnected
}

// heapOf measures a side as row memory-per-object does.
func heapOf(t *testing.T, packed *dataset.Packed, side string) float64 {
	t.Helper()
	server, err := listserver.Start(packed, pods)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	run, err := child.RunFootprint(t.Context(), child.FootprintJob{Side: side, Kind: child.Pods, URL: server.URL(), Objects: pods})
	if err != nil {
		t.Fatal(err)
	}
	return run.Heap
}

// peakOf measures a side as row initial-sync does.
func peakOf(t *testing.T, encoded *dataset.Encoded, side string) float64 {
	t.Helper()
	server, err := podserver.Start(encoded)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	cost, err := child.RunSync(t.Context(), child.SyncJob{Side: side, Server: child.Server{URL: server.URL()}, Pods: pods})
	if err != nil {
		t.Fatal(err)
	}
	return cost.PeakRSS
}
