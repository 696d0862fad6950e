//go:build sandbox

package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"open-cluster-management.io/helloworld-addon/sandbox/container"
	"open-cluster-management.io/helloworld-addon/sandbox/controlplane"
	"open-cluster-management.io/helloworld-addon/sandbox/network"
	"open-cluster-management.io/helloworld-addon/sandbox/pki"

	"open-cluster-management.io/helloworld-addon/sandbox/node/plan"
)

// insideVariable marks the test program that runs in namespaces of its own.
const insideVariable = "NODE_TEST_INSIDE"

// probeProgram is the name under which this test program is in the image of the
// tests' pods.
const probeProgram = "probe"

// TestMain is three programs: the test, in namespaces of its own so that nothing
// of the machine is touched; the one that a container's start starts again; and
// the one that runs in the pods.
func TestMain(m *testing.M) {
	switch {
	case filepath.Base(os.Args[0]) == probeProgram:
		os.Exit(probeMain(os.Args[1:]))
	case filepath.Base(os.Args[0]) == tarProgram:
		os.Exit(tarMain(os.Args[1:]))
	case len(os.Args) > 1 && os.Args[1] == container.InitArg:
		if err := container.Init(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	case os.Getenv(insideVariable) == "":
		os.Exit(runInside())
	}
	if err := ownProc(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func runInside() int {
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Env = append(os.Environ(), insideVariable+"=yes")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = container.Isolation()
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		fmt.Fprintln(os.Stderr, "run the tests in namespaces of their own:", err)
		return 1
	}
	return cmd.ProcessState.ExitCode()
}

func ownProc() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make the mounts private: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	return nil
}

// probeMain is the program in the pods: say TEXT…, exit CODE, serve PORT
// (/ is 200, /files/PATH a file, /env/NAME a variable, /fail makes / 500),
// hang PORT (ignores SIGTERM), or a tool.
func probeMain(args []string) int {
	command, arg := args[0], strings.Join(args[1:], " ")
	if command != "cat" && command != "both" {
		fmt.Println("probe:", command, arg)
	}
	switch command {
	case "say":
		return 0
	case "exit":
		code, _ := strconv.Atoi(arg)
		_ = os.WriteFile("/dev/termination-log", []byte("exit as told"), 0o600)
		return code
	case "hang":
		signal.Ignore(syscall.SIGTERM)
		// who is answered knows that the line above has been run
		_ = http.ListenAndServe(":"+arg, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "ok")
		}))
	case "serve":
		return serve(arg)
	}
	return toolMain(command, arg)
}

func serve(port string) int {
	failing := false
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/fail":
			failing = true
		case failing:
			w.WriteHeader(http.StatusInternalServerError)
		}
		_, _ = io.WriteString(w, "ok")
	})
	http.HandleFunc("/files/", func(w http.ResponseWriter, r *http.Request) {
		content, err := os.ReadFile(strings.TrimPrefix(r.URL.Path, "/files"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusNotFound)
		}
		_, _ = w.Write(content)
	})
	http.HandleFunc("/env/", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, os.Getenv(strings.TrimPrefix(r.URL.Path, "/env/")))
	})
	server := http.Server{Addr: ":" + port, ReadHeaderTimeout: time.Minute}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	go func() {
		<-stop
		fmt.Println("probe: told to stop")
		_ = server.Close()
	}()
	fmt.Println("probe: uid", os.Getuid(), "serves")
	_ = server.ListenAndServe()
	return 0
}

// The adapters that the sandbox's supervisor has, too.

type testBridge struct{ *network.Bridge }

func (b testBridge) Attach(name string) (PodNetwork, error) { return b.Bridge.Attach(name) }

type testRuntime struct{}

func (testRuntime) Start(ctx context.Context, c Container, in PodNetwork, stdout, stderr io.Writer) (Process, error) {
	spec := container.Spec{
		ID: c.ID, Hostname: c.Hostname, Image: c.Image, Root: c.Root, ReadOnlyRoot: c.ReadOnlyRoot, Stdin: c.Stdin, TTY: c.TTY,
		Args: c.Args, Env: c.Env, Dir: c.Dir, UID: int(c.UID), GID: int(c.GID), Capabilities: c.Capabilities,
	}
	if beside, ok := c.Beside.(testProcess); ok {
		spec.Beside = beside.Process
	}
	for _, m := range c.Mounts {
		spec.Mounts = append(spec.Mounts, container.Mount(m))
	}
	started, err := container.Start(ctx, spec, in.(*network.Namespace), stdout, stderr)
	if err != nil {
		return nil, err
	}
	return testProcess{started}, nil
}

func (testRuntime) Measure(containers []Process) ([]plan.Usage, error) {
	processes := make([]*container.Process, len(containers))
	for i, c := range containers {
		processes[i] = c.(testProcess).Process
	}
	measured, err := container.Measure(processes)
	if err != nil {
		return nil, err
	}
	usages := make([]plan.Usage, len(measured))
	for i, u := range measured {
		usages[i] = plan.Usage(u)
	}
	return usages, nil
}

type testProcess struct{ *container.Process }

func (p testProcess) Signal(s syscall.Signal) error { return p.Process.Signal(s) }

func (p testProcess) Wait() plan.Exit {
	exit, _ := p.Process.Wait()
	return plan.Exit{Code: exit.Code, Signal: exit.Signal}
}

func (p testProcess) Exec(ctx context.Context, e Exec) (Execution, error) {
	started, err := p.Process.Exec(ctx, container.ExecSpec{Args: e.Args, Stdin: e.Stdin, TTY: e.TTY}, e.Stdout, e.Stderr)
	var start *container.StartError
	if errors.As(err, &start) && start.Reason == container.ReasonRun {
		return nil, &ProgramError{Code: start.Code, Err: start.Err}
	}
	if err != nil {
		return nil, err
	}
	return testExecution{started}, nil
}

type testExecution struct{ *container.Execution }

func (e testExecution) Wait() plan.Exit {
	exit, _ := e.Execution.Wait()
	return plan.Exit{Code: exit.Code, Signal: exit.Signal}
}

type testImages struct{ dir string }

func (i testImages) Use(name string) (plan.Image, func(), bool, error) {
	return plan.Image{Dir: i.dir, User: "65532:65532", Entrypoint: []string{probeProgram}}, func() {}, strings.HasPrefix(name, "example.com/probe"), nil
}

func (i testImages) Known(string) ([]string, string) { return []string{"example.com/probe"}, "" }

// get fetches a page on a connection of its own.
func get(ctx context.Context, url string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return "", err
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	return string(body), err
}

func writeKubeconfig(t *testing.T, file string, control *controlplane.Cluster) {
	t.Helper()
	user := pki.Pair{CertPEM: control.Admin.CertData, KeyPEM: control.Admin.KeyData}
	if err := pki.WriteKubeconfig(file, control.Kubeconfig(pki.User{Pair: user})); err != nil {
		t.Fatal(err)
	}
}
