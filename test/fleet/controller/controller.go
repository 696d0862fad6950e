// Package controller runs a hub controller as a process of this machine, outside of any pod,
// and reads its metrics and what it uses. It starts a controller that has ended again, as a
// kubelet does, unless it is to run once.
package controller

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"open-cluster-management.io/helloworld-addon/test/bench/procfs"
	"open-cluster-management.io/helloworld-addon/test/fleet/scrape"
)

// The metrics of a controller that the figures need.
const (
	// HeapMetric is what was live at the last garbage collection, in bytes.
	HeapMetric = "go_gc_heap_live_bytes"
	// ThrottledMetric is the time in seconds that requests waited for the client's own limit.
	ThrottledMetric = "rest_client_rate_limiter_duration_seconds_sum"
)

// stopTimeout bounds the end of a process that was asked to end.
const stopTimeout = 30 * time.Second

// Options configure a process.
type Options struct {
	// Name is that of its log in Dir, and of its pod.
	Name, Dir string
	Program   string
	Args      []string
	// Port is that of its metrics on 127.0.0.1 by HTTPS; 0 means that it has none. Token
	// may read them.
	Port  int
	Token string
	// Once: a process that ends by itself is not started again, and Err returns why. One that ends with an error when it is
	// asked to is an error, too.
	Once bool
}

// Process is a controller that is kept running, or runs once.
type Process struct {
	Options

	client *http.Client
	// asked is closed when the process is to end, done when it has.
	asked, done chan struct{}
	signal      syscall.Signal
	ending      sync.Once

	mu  sync.Mutex
	pid int
	// offset is where the present process' part of the log begins.
	offset int64
	// restarts counts how often the process has ended by itself, and last is why.
	restarts int
	last     error
}

const (
	// restartDelay is the time between the end of a process and its next start.
	restartDelay = time.Second
	// mostRestarts is after how many of them Err reports an error.
	mostRestarts = 3
)

// Start starts the controller.
func Start(options Options) (*Process, error) {
	p := &Process{Options: options, asked: make(chan struct{}), done: make(chan struct{}), client: &http.Client{Timeout: 10 * time.Second,
		Transport: &http.Transport{DisableKeepAlives: true,
			// #nosec G402 -- the controller signs its certificate itself
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}}
	cmd, err := p.start()
	if err != nil {
		return nil, err
	}
	go p.keep(cmd)
	return p, nil
}

func (p *Process) start() (*exec.Cmd, error) {
	log, err := os.OpenFile(p.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log of %s: %w", p.Name, err)
	}
	defer func() { _ = log.Close() }()
	info, err := log.Stat()
	if err != nil {
		return nil, fmt.Errorf("open the log of %s: %w", p.Name, err)
	}
	// #nosec G204 -- the program is the caller's choice
	cmd := exec.Command(p.Program, p.Args...)
	cmd.Stdout, cmd.Stderr = log, log
	// fleet-hub sets a memory limit for its API server, which is none of the controller's
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(pair string) bool { return strings.HasPrefix(pair, "GOMEMLIMIT=") }), "POD_NAME="+p.Name)
	// an interrupt of the terminal is for the benchmark, which then ends it
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", p.Name, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pid, p.offset = cmd.Process.Pid, info.Size()
	return cmd, nil
}

// keep waits for the process and starts it again, until it is asked to end.
func (p *Process) keep(cmd *exec.Cmd) {
	defer close(p.done)
	for {
		var err error
		ended := make(chan struct{})
		go func() {
			err = cmd.Wait()
			close(ended)
		}()
		select {
		case <-ended:
		case <-p.asked:
			_ = cmd.Process.Signal(p.signal) // it may have ended meanwhile
			select {
			case <-ended: // how one that is kept running ends, when it is asked to, is its own matter
				if p.Once && p.signal == syscall.SIGTERM && err != nil {
					p.note(err)
				}
			case <-time.After(stopTimeout):
				_ = cmd.Process.Kill()
				<-ended
				p.note(fmt.Errorf("it did not end within %s", stopTimeout))
			}
			return
		}
		for cmd = nil; cmd == nil; {
			p.note(errors.Join(errEnded, err))
			if p.Once {
				return
			}
			select {
			case <-p.asked:
				return
			case <-time.After(restartDelay):
			}
			var startErr error
			if cmd, startErr = p.start(); startErr != nil {
				err = startErr
			}
		}
	}
}

func (p *Process) note(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pid, p.restarts, p.last = 0, p.restarts+1, err
}

// Running returns the process id, or 0 while the process waits for its next start or has ended.
func (p *Process) Running() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pid
}

// Done is closed when the process has ended and is not started again.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err returns an error when the process has ended too often; with Once when it has ended by itself, or not as it was asked to.
func (p *Process) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.restarts == 0 || !p.Once && p.restarts <= mostRestarts {
		return nil
	}
	if p.Once {
		return fmt.Errorf("%s has ended: %w: see %s", p.Name, p.last, p.log())
	}
	return fmt.Errorf("%s has ended %d times (%w): see %s", p.Name, p.restarts, p.last, p.log())
}

var errEnded = errors.New("unexpectedly")

// Kill ends the process without a chance to release its lease, as the loss of a node does.
func (p *Process) Kill() error { return p.end(syscall.SIGKILL) }

// Stop asks the process to end, as a kubelet does, and waits.
func (p *Process) Stop() error { return p.end(syscall.SIGTERM) }

func (p *Process) end(signal syscall.Signal) error {
	p.ending.Do(func() {
		p.signal = signal
		close(p.asked)
	})
	<-p.done
	return p.Err()
}

// Usage returns what the process uses.
func (p *Process) Usage() (procfs.Usage, error) { return procfs.Of(p.Running()) }

// Logged reports whether the process runs and has logged a text since it was started.
func (p *Process) Logged(text string) (bool, error) {
	content, err := os.ReadFile(p.log())
	if err != nil {
		return false, fmt.Errorf("read the log of %s: %w", p.Name, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pid != 0 && bytes.Contains(content[min(p.offset, int64(len(content))):], []byte(text)), nil
}

func (p *Process) log() string { return filepath.Join(p.Dir, p.Name+".log") }

// Metrics reads the metrics of the names.
func (p *Process) Metrics(ctx context.Context, names ...string) (scrape.Metrics, error) {
	text, err := p.get(ctx, "/metrics")
	if err != nil {
		return nil, err
	}
	return scrape.Parse(text, names...)
}

func (p *Process) get(ctx context.Context, path string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("https://127.0.0.1:%d%s", p.Port, path), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+p.Token)
	response, err := p.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("read %s of %s: %s", path, p.Name, response.Status)
	}
	return body, err
}

// Scraper are the objects of a ServiceAccount fleet-scraper whose token may read the metrics of the
// controllers.
const Scraper = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: fleet-scraper, namespace: open-cluster-management}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: fleet-scraper}
rules:
- nonResourceURLs: [/metrics]
  verbs: [get]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: fleet-scraper}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: fleet-scraper}
subjects: [{kind: ServiceAccount, name: fleet-scraper, namespace: open-cluster-management}]
`
