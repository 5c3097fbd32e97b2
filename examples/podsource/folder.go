// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
)

// folderSource passes on the Pods of the manifests in a folder.
type folderSource struct {
	folder, node string
	config       *podConfig
	retry        time.Duration // after which a folder that could not be watched is tried again
	failures     failureLog
}

func newFolderSource(folder, node string, config *podConfig) *folderSource {
	folder = filepath.Clean(folder) // as in the names of fsnotify's events
	return &folderSource{folder: folder, node: node, config: config, retry: 20 * time.Second, failures: failureLog{origin: folder}}
}

// Run passes on the Pods after each change in the folder until ctx ends. A folder that does not
// exist yet, or is replaced, is tried again.
func (s *folderSource) Run(ctx context.Context) error {
	for {
		if err := s.watch(ctx); err != nil {
			s.failures.failed(ctx, err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(s.retry):
		}
	}
}

var errFolderReplaced = errors.New("the folder was removed or renamed")

// watch passes on the Pods after each change in the folder until ctx ends or the folder is gone.
func (s *folderSource) watch(ctx context.Context) error {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	defer func() { _ = watcher.Close() }()
	if err := watcher.Add(s.folder); err != nil {
		return fmt.Errorf("watch %s: %w", s.folder, err)
	}
	s.pass(ctx)
	for {
		select {
		case <-ctx.Done():
			return nil
		case event := <-watcher.Events:
			if event.Name == s.folder && event.Op.Has(fsnotify.Remove|fsnotify.Rename) {
				return fmt.Errorf("watch %s: %w", s.folder, errFolderReplaced)
			}
			s.pass(ctx)
		case err := <-watcher.Errors: // events may be lost
			klog.FromContext(ctx).Error(err, "Reading the manifests again", "folder", s.folder)
			s.pass(ctx)
		}
	}
}

// pass passes on the Pods of the folder, or logs why it keeps the last good set.
func (s *folderSource) pass(ctx context.Context) {
	pods, err := s.read()
	if err != nil {
		s.failures.failed(ctx, err)
		return
	}
	s.failures.succeeded()
	s.config.set(ctx, "file", pods)
}

// read returns the Pods of all manifests. A manifest that cannot be read is an error that names it.
func (s *folderSource) read() ([]*corev1.Pod, error) {
	files, err := os.ReadDir(s.folder)
	if err != nil {
		return nil, err
	}
	var all []*corev1.Pod
	for _, file := range files {
		if !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(file.Name())) || strings.HasPrefix(file.Name(), ".") {
			continue
		}
		path := filepath.Join(s.folder, file.Name())
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		pods, err := readManifest(data, "file", path, s.node)
		if err != nil {
			return nil, fmt.Errorf("manifest %s: %w", path, err)
		}
		all = append(all, pods...)
	}
	return all, nil
}
