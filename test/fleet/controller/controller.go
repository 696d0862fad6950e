// Package controller runs a hub controller as a process of this machine, outside of any pod,
// and reads its metrics and what it uses.
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
	"syscall"
	"time"

	"open-cluster-management.io/helloworld-addon/test/bench/procfs"
	"open-cluster-management.io/helloworld-addon/test/fleet/scrape"
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
}

// Process is a running controller.
type Process struct {
	Options
	// Started is when it was started.
	Started time.Time

	cmd    *exec.Cmd
	done   chan struct{}
	ended  error
	client *http.Client
	// offset is where its part of the log begins.
	offset int64
}

// Start starts the process.
func Start(options Options) (*Process, error) {
	log, err := os.OpenFile(filepath.Join(options.Dir, options.Name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log of %s: %w", options.Name, err)
	}
	defer func() { _ = log.Close() }()
	info, err := log.Stat()
	if err != nil {
		return nil, fmt.Errorf("open the log of %s: %w", options.Name, err)
	}
	// #nosec G204 -- the program is the caller's choice
	cmd := exec.Command(options.Program, options.Args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(os.Environ(), "POD_NAME="+options.Name)
	// an interrupt of the terminal is for the benchmark, which then ends it
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	p := &Process{Options: options, Started: time.Now(), cmd: cmd, done: make(chan struct{}), offset: info.Size(), client: &http.Client{Timeout: 10 * time.Second,
		Transport: &http.Transport{DisableKeepAlives: true,
			// #nosec G402 -- the controller signs its certificate itself
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", options.Name, err)
	}
	go func() {
		p.ended = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// Err returns an error when the process has ended.
func (p *Process) Err() error {
	select {
	case <-p.done:
		return fmt.Errorf("%s has ended (%w): see %s", p.Name, errors.Join(errEnded, p.ended), p.log())
	default:
		return nil
	}
}

var errEnded = errors.New("unexpectedly")

// Kill ends the process without a chance to release its lease, as the loss of a node does.
func (p *Process) Kill() error { return p.end(syscall.SIGKILL) }

// Stop asks the process to end, as a kubelet does, and waits.
func (p *Process) Stop() error { return p.end(syscall.SIGTERM) }

func (p *Process) end(signal syscall.Signal) error {
	if err := p.cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("end %s: %w", p.Name, err)
	}
	select {
	case <-p.done:
		return nil
	case <-time.After(stopTimeout):
		_ = p.cmd.Process.Kill()
		<-p.done
		return fmt.Errorf("end %s: it did not within %s", p.Name, stopTimeout)
	}
}

// Logged reports whether the process has logged a text since it was started.
func (p *Process) Logged(text string) (bool, error) {
	content, err := os.ReadFile(p.log())
	if err != nil {
		return false, fmt.Errorf("read the log of %s: %w", p.Name, err)
	}
	return bytes.Contains(content[min(p.offset, int64(len(content))):], []byte(text)), nil
}

func (p *Process) log() string { return filepath.Join(p.Dir, p.Name+".log") }

// Usage returns what the process uses.
func (p *Process) Usage() (procfs.Usage, error) { return procfs.Of(p.cmd.Process.Pid) }

// Healthy returns nil when the process answers the kubelet's question whether it lives.
func (p *Process) Healthy(ctx context.Context) error {
	_, err := p.get(ctx, "/healthz")
	return err
}

// Metrics reads the metrics of the names.
func (p *Process) Metrics(ctx context.Context, names ...string) (scrape.Metrics, error) {
	text, err := p.get(ctx, "/metrics")
	if err != nil {
		return nil, err
	}
	return scrape.Parse(text, names...)
}

func (p *Process) get(ctx context.Context, path string) ([]byte, error) {
	if err := p.Err(); err != nil {
		return nil, err
	}
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
