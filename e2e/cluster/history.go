package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Backup is a snapshot of a cluster's etcd. It lasts as long as the cluster.
type Backup struct {
	// Revision is at least etcd's revision when the snapshot was begun: what had that resourceVersion or an older one is
	// in it.
	Revision int64
	path     string
}

// Revision is etcd's current revision: the resourceVersion of the last write, whatever it was to.
func (c *Cluster) Revision(ctx context.Context) (int64, error) { return c.etcd.revision(ctx) }

// Compact removes from etcd all history before its current revision, which it returns. kube-apiserver goes on answering
// watches of older versions from its own memory for as long as that reaches back; after a restart it answers 410 Gone.
func (c *Cluster) Compact(ctx context.Context) (int64, error) {
	revision, err := c.etcd.revision(ctx)
	if err != nil {
		return 0, err
	}
	return revision, c.etcd.compact(ctx, revision)
}

// Backup takes a snapshot of etcd while everything goes on working.
func (c *Cluster) Backup(ctx context.Context) (Backup, error) {
	revision, err := c.etcd.revision(ctx)
	if err != nil {
		return Backup{}, err
	}
	file, err := os.CreateTemp(c.dir, "backup-*.db")
	if err != nil {
		return Backup{}, fmt.Errorf("make the file for a backup: %w", err)
	}
	backup := Backup{Revision: revision, path: file.Name()}
	return backup, errors.Join(file.Close(), c.etcd.snapshot(ctx, backup.path))
}

// Restore sets the cluster back to a backup as Kubernetes' documentation has it done: both servers end, etcd's data is
// replaced, both start. Everything written since is gone, and resourceVersions are given out a second time.
func (c *Cluster) Restore(ctx context.Context, backup Backup) error {
	if err := c.stopServers(); err != nil {
		return err
	}
	// Made aside first, so that a backup which cannot be restored costs no data.
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
