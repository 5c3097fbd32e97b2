// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Backup is a snapshot of a cluster's etcd. Stopping the cluster removes it.
type Backup struct {
	// Revision is a lower bound of the snapshot's revision: it contains every write up to this
	// resourceVersion.
	Revision int64
	path     string
}

// Revision returns etcd's current revision, which is the resourceVersion of the last write to any
// object.
func (c *Cluster) Revision(ctx context.Context) (int64, error) { return c.etcd.revision(ctx) }

// Compact removes from etcd all history before its current revision, which it returns.
// kube-apiserver still serves watches from older versions while they are in its watch cache; after
// a restart it responds with 410 Gone.
func (c *Cluster) Compact(ctx context.Context) (int64, error) {
	revision, err := c.etcd.revision(ctx)
	if err != nil {
		return 0, err
	}
	return revision, c.etcd.compact(ctx, revision)
}

// Backup takes a snapshot of etcd while the servers run.
func (c *Cluster) Backup(ctx context.Context) (Backup, error) {
	revision, err := c.etcd.revision(ctx)
	if err != nil {
		return Backup{}, err
	}
	file, err := os.CreateTemp(c.dir, "backup-*.db")
	if err != nil {
		return Backup{}, fmt.Errorf("create the file for a backup: %w", err)
	}
	backup := Backup{Revision: revision, path: file.Name()}
	return backup, errors.Join(file.Close(), c.etcd.snapshot(ctx, backup.path))
}

// Restore restores a backup as documented by Kubernetes: all servers stop, etcd's data is replaced,
// and etcd and kube-apiserver start. Replicas stay stopped, and those that are cut off from etcd go
// on. Later writes are lost, and their resourceVersions are assigned a second time.
func (c *Cluster) Restore(ctx context.Context, backup Backup) error {
	if err := c.stopServers(true); err != nil {
		return err
	}
	// Restored to another folder first, so that a failure does not lose the current data.
	restored := filepath.Join(c.dir, "restored")
	if err := c.etcd.restore(ctx, c.programs.Etcdutl(), backup.path, restored); err != nil {
		return err
	}
	err := errors.Join(os.RemoveAll(c.dataDir()), os.Rename(restored, c.dataDir()))
	if err != nil {
		return fmt.Errorf("replace etcd's data: %w", err)
	}
	if err := c.etcdServer.Start(ctx); err != nil {
		return err
	}
	return c.apiServer.Start(ctx)
}
