// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

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

// etcd is a client of etcd's JSON gateway. With it this module does not depend on etcd's own
// client.
type etcd struct {
	client *http.Client
	addr   string // for clients
	url    string // of addr
	peer   string // for other members; etcd requires it, though there are none
}

// memberName is the name of the only member. A restore must use the same name.
const memberName = "e2e"

func newEtcd(clientAddr, peerAddr string) *etcd {
	return &etcd{client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}, addr: clientAddr, url: "http://" + clientAddr, peer: "http://" + peerAddr}
}

func (e *etcd) args(dataDir string) []string {
	return append(e.memberArgs(dataDir),
		"--listen-client-urls="+e.url,
		"--advertise-client-urls="+e.url,
		"--listen-peer-urls="+e.peer,
		"--unsafe-no-fsync", // makes tests several times as fast; a power failure does not matter
		"--log-level=warn",
	)
}

// memberArgs returns the flags shared by a member and its restore from a snapshot.
func (e *etcd) memberArgs(dataDir string) []string {
	return []string{
		"--name=" + memberName,
		"--data-dir=" + dataDir,
		"--initial-advertise-peer-urls=" + e.peer,
		"--initial-cluster=" + memberName + "=" + e.peer,
	}
}

// restoreArgs returns the arguments with which etcdutl creates a data folder from a snapshot.
// Revisions continue at the snapshot's, as without --bump-revision, which is the hard case for
// clients.
func (e *etcd) restoreArgs(snapshot, dataDir string) []string {
	return append([]string{"snapshot", "restore", snapshot}, e.memberArgs(dataDir)...)
}

// ready returns an error until etcd has a leader and responds to reads.
func (e *etcd) ready(ctx context.Context) error {
	_, err := e.revision(ctx)
	return err
}

// revision returns the current revision, which Kubernetes uses as resourceVersion.
func (e *etcd) revision(ctx context.Context) (int64, error) {
	var response struct {
		Header struct {
			Revision int64 `json:"revision,string"`
		} `json:"header"`
	}
	// Only the header of the response is used, so any key will do. "AA==" is the zero byte.
	if err := e.call(ctx, "kv/range", `{"key": "AA==", "count_only": true}`, &response); err != nil {
		return 0, fmt.Errorf("read etcd's revision: %w", err)
	}
	return response.Header.Revision, nil
}

// compact removes all history before revision, and returns when it is removed from the disk, too.
func (e *etcd) compact(ctx context.Context, revision int64) error {
	request := fmt.Sprintf(`{"revision": "%d", "physical": true}`, revision)
	if err := e.call(ctx, "kv/compaction", request, &struct{}{}); err != nil {
		return fmt.Errorf("compact etcd at revision %s: %w", strconv.FormatInt(revision, 10), err)
	}
	return nil
}

// snapshot writes the whole store to path while etcd continues to run.
func (e *etcd) snapshot(ctx context.Context, path string) error {
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("create the file for a snapshot of etcd: %w", err)
	}
	err = e.post(ctx, "maintenance/snapshot", "{}", func(body io.Reader) error { return copyBlobs(file, body) })
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("take a snapshot of etcd: %w", err)
	}
	return nil
}

// copyBlobs joins the messages of a streamed snapshot. They end with the store's hash, which
// etcdutl checks, so a truncated snapshot is detected when it is restored at the latest.
func copyBlobs(w io.Writer, body io.Reader) error {
	messages := json.NewDecoder(body)
	for {
		var message struct {
			Result struct {
				Blob []byte `json:"blob"`
			} `json:"result"`
			Error json.RawMessage `json:"error"`
		}
		err := messages.Decode(&message)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil && message.Error != nil {
			err = fmt.Errorf("etcd responded %s", message.Error)
		}
		if err == nil {
			_, err = w.Write(message.Result.Blob)
		}
		if err != nil {
			return err
		}
	}
}

// call posts a request to the gateway and decodes the response.
func (e *etcd) call(ctx context.Context, method, request string, response any) error {
	return e.post(ctx, method, request, func(body io.Reader) error { return json.NewDecoder(body).Decode(response) })
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
		return fmt.Errorf("etcd responded %s: %s", resp.Status, text)
	}
	return read(resp.Body)
}

// restore creates dataDir from a snapshot with etcdutl.
func (e *etcd) restore(ctx context.Context, etcdutl, snapshot, dataDir string) error {
	out, err := exec.CommandContext(ctx, etcdutl, e.restoreArgs(snapshot, dataDir)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("restore %s: %w: %s", snapshot, err, out)
	}
	return nil
}
