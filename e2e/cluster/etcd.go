package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
)

// etcd speaks to etcd by its JSON gateway, which spares this module etcd's client and all that it requires.
type etcd struct {
	client *http.Client
	url    string // of clients
	peer   string // of other members, of which there are none, but etcd wants to listen
}

// memberName is the name of the only member. A restored snapshot has to give the same.
const memberName = "e2e"

func newEtcd(clientAddr, peerAddr string) *etcd {
	return &etcd{client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}, url: "http://" + clientAddr, peer: "http://" + peerAddr}
}

func (e *etcd) args(dataDir string) []string {
	return append(e.memberArgs(dataDir),
		"--listen-client-urls="+e.url,
		"--advertise-client-urls="+e.url,
		"--listen-peer-urls="+e.peer,
		"--unsafe-no-fsync", // nobody pulls the plug; tests are several times as fast
		"--log-level=warn",
	)
}

// memberArgs are what starting a member and restoring it from a snapshot have in common.
func (e *etcd) memberArgs(dataDir string) []string {
	return []string{
		"--name=" + memberName,
		"--data-dir=" + dataDir,
		"--initial-advertise-peer-urls=" + e.peer,
		"--initial-cluster=" + memberName + "=" + e.peer,
	}
}

// restoreArgs are etcdutl's, for a new data folder made from a snapshot. Revisions go on from the snapshot's, as they do
// for everybody who restores without --bump-revision: the hard case for clients.
func (e *etcd) restoreArgs(snapshot, dataDir string) []string {
	return append([]string{"snapshot", "restore", snapshot}, e.memberArgs(dataDir)...)
}

// ready says whether etcd has a leader and answers reads.
func (e *etcd) ready(ctx context.Context) error {
	_, err := e.revision(ctx)
	return err
}

// revision is the store's current revision, of which Kubernetes makes resourceVersions.
func (e *etcd) revision(ctx context.Context) (int64, error) {
	var answer struct {
		Header struct {
			Revision int64 `json:"revision,string"`
		} `json:"header"`
	}
	// Any key does: the header is what is wanted. "AA==" is the zero byte.
	if err := e.call(ctx, "kv/range", `{"key": "AA==", "count_only": true}`, &answer); err != nil {
		return 0, fmt.Errorf("read etcd's revision: %w", err)
	}
	return answer.Header.Revision, nil
}

// compact forgets all history before revision, and returns when it is gone from the disk too.
func (e *etcd) compact(ctx context.Context, revision int64) error {
	request := fmt.Sprintf(`{"revision": "%d", "physical": true}`, revision)
	if err := e.call(ctx, "kv/compaction", request, &struct{}{}); err != nil {
		return fmt.Errorf("compact etcd at revision %s: %w", strconv.FormatInt(revision, 10), err)
	}
	return nil
}

// snapshot writes the whole store to path while etcd goes on working.
func (e *etcd) snapshot(ctx context.Context, path string) error {
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("make the file for a snapshot of etcd: %w", err)
	}
	err = e.post(ctx, "maintenance/snapshot", "{}", func(body io.Reader) error { return copyBlobs(file, body) })
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("take a snapshot of etcd: %w", err)
	}
	return nil
}

// copyBlobs joins the pieces that a snapshot is sent in. The pieces end with the store's hash, which etcdutl checks, so a
// cut answer is found when the snapshot is restored at the latest.
func copyBlobs(w io.Writer, body io.Reader) error {
	pieces := json.NewDecoder(body)
	for {
		var piece struct {
			Result struct {
				Blob []byte `json:"blob"`
			} `json:"result"`
			Error json.RawMessage `json:"error"`
		}
		err := pieces.Decode(&piece)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil && piece.Error != nil {
			err = fmt.Errorf("etcd answered %s", piece.Error)
		}
		if err == nil {
			_, err = w.Write(piece.Result.Blob)
		}
		if err != nil {
			return err
		}
	}
}

// call posts a request to the gateway and decodes the answer.
func (e *etcd) call(ctx context.Context, method, request string, answer any) error {
	return e.post(ctx, method, request, func(body io.Reader) error { return json.NewDecoder(body).Decode(answer) })
}

func (e *etcd) post(ctx context.Context, method, request string, read func(io.Reader) error) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url+"/v3/"+method, bytes.NewBufferString(request))
	if err != nil {
		return err
	}
	resp, err := e.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1000))
		return fmt.Errorf("etcd answered %s: %s", resp.Status, text)
	}
	return read(resp.Body)
}

// restore makes dataDir from a snapshot with etcdutl.
func (e *etcd) restore(ctx context.Context, etcdutl, snapshot, dataDir string) error {
	out, err := exec.CommandContext(ctx, etcdutl, e.restoreArgs(snapshot, dataDir)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("restore %s: %w: %s", snapshot, err, out)
	}
	return nil
}
