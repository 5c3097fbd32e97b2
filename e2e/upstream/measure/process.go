// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kinformer/kinformer/e2e/cluster"
)

// measurement measures programs.
type measurement struct {
	binary, dir string
	config      *rest.Config
	contents    *contents
	options     *options
	runs        int
}

// figures are the results of one run.
type figures struct {
	syncCPU   time.Duration
	peak      int // bytes
	changeCPU time.Duration
	after     int // bytes
}

func (f figures) String() string {
	return fmt.Sprintf("%.1f s | %.0f MB | %.0f µs | %.0f MB",
		f.syncCPU.Seconds(), float64(f.peak)/1e6, float64(f.changeCPU.Nanoseconds())/1e3, float64(f.after)/1e6)
}

// medians returns the median of each figure.
func medians(runs []figures) figures {
	return figures{
		syncCPU:   median(runs, func(f figures) time.Duration { return f.syncCPU }),
		peak:      median(runs, func(f figures) int { return f.peak }),
		changeCPU: median(runs, func(f figures) time.Duration { return f.changeCPU }),
		after:     median(runs, func(f figures) int { return f.after }),
	}
}

func median[N int | time.Duration](runs []figures, of func(figures) N) N {
	var all []N
	for _, f := range runs {
		all = append(all, of(f))
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// run measures one program with one implementation of informers.
func (m *measurement) run(ctx context.Context, program, informers string) (f figures, err error) {
	m.runs++
	kubeconfig, err := m.kubeconfig()
	if err != nil {
		return f, err
	}
	cmd := exec.CommandContext(ctx, m.binary, "--kubeconfig="+kubeconfig, "--programs="+program, "--informers="+informers)
	log, err := os.Create(filepath.Join(m.dir, fmt.Sprintf("log-%d", m.runs)))
	if err != nil {
		return f, err
	}
	defer log.Close()
	cmd.Stderr = log
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return f, err
	}
	if err := cmd.Start(); err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, cmd.Process.Signal(syscall.SIGTERM), cmd.Wait()) }()
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil || line != "ready\n" {
		return f, fmt.Errorf("the program printed %q: %w", line, err)
	}
	return m.observe(ctx, cmd.Process.Pid)
}

func (m *measurement) observe(ctx context.Context, pid int) (f figures, err error) {
	if f.syncCPU, err = awaitIdle(ctx, pid); err != nil {
		return f, err
	}
	if f.peak, err = memory(pid, "VmHWM"); err != nil {
		return f, err
	}
	if err := m.contents.change(ctx, m.options.changes, strconv.Itoa(m.runs)); err != nil {
		return f, err
	}
	cpu, err := awaitIdle(ctx, pid)
	if err != nil {
		return f, err
	}
	f.changeCPU = (cpu - f.syncCPU) / time.Duration(m.options.changes)
	f.after, err = memory(pid, "VmRSS")
	return f, err
}

// awaitIdle waits until a process uses almost no CPU time, and returns the CPU time it has used.
func awaitIdle(ctx context.Context, pid int) (time.Duration, error) {
	ticker := time.NewTicker(2 * time.Second)
	defer ticker.Stop()
	before := -time.Hour
	for {
		now, err := cluster.CPUTime(pid)
		if err != nil || now-before < 60*time.Millisecond {
			return now, err
		}
		before = now
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// memory returns a memory figure of a process from /proc.
func memory(pid int, name string) (bytes int, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); fields[0] == name+":" {
			kilobytes, err := strconv.Atoi(fields[1])
			return kilobytes * 1024, err
		}
	}
	return 0, fmt.Errorf("/proc has no %s of process %d", name, pid)
}

// kubeconfig writes a kubeconfig for the program and returns its path.
func (m *measurement) kubeconfig() (string, error) {
	file := clientcmdapi.NewConfig()
	file.Clusters["measured"] = &clientcmdapi.Cluster{Server: m.config.Host, CertificateAuthority: m.config.CAFile}
	file.AuthInfos["measured"] = &clientcmdapi.AuthInfo{Token: m.config.BearerToken}
	file.Contexts["measured"] = &clientcmdapi.Context{Cluster: "measured", AuthInfo: "measured"}
	file.CurrentContext = "measured"
	path := filepath.Join(m.dir, "kubeconfig")
	return path, clientcmd.WriteToFile(*file, path)
}
