//go:build sandbox

package node

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"

	"open-cluster-management.io/helloworld-addon/sandbox/controlplane"
	"open-cluster-management.io/helloworld-addon/sandbox/node/plan"
)

// protocols are the two ways in which kubectl streams.
var protocols = map[string]string{"WebSocket": "KUBECTL_REMOTE_COMMAND_WEBSOCKETS=true", "SPDY": "KUBECTL_REMOTE_COMMAND_WEBSOCKETS=false"}

func (c *cluster) kubectlCommand(ctx context.Context, protocol string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(c.programs, "kubectl"), append([]string{"--kubeconfig", c.kubeconfig}, args...)...)
	cmd.Env = append(os.Environ(), protocol)
	cmd.WaitDelay = time.Second
	return cmd
}

// result is how kubectl ended.
type result struct {
	stdout, stderr string
	code           int
}

func (c *cluster) execute(t *testing.T, protocol string, stdin io.Reader, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := c.kubectlCommand(ctx, protocol, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, &stdout, &stderr
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

func (c *cluster) testExec(t *testing.T) {
	spec := podSpec("serve", "8080")
	spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
	c.create(t, "tools", spec)
	c.running(t, "tools")
	notStarted := podSpec()
	notStarted.Containers[0].Image = "not-there"
	c.create(t, "not-started", notStarted)
	c.waiting(t, "not-started", plan.ReasonErrImagePull, "not-there")
	for name, protocol := range protocols {
		t.Run(name, func(t *testing.T) {
			c.execResults(t, protocol)
			c.execTerminal(t, protocol)
			c.execEndsWithClient(t, protocol)
		})
	}
	t.Run("cp", c.testCopy)
	t.Run("rights", c.testExecRights)
}

func (c *cluster) execResults(t *testing.T, protocol string) {
	for _, test := range []struct {
		what  string
		stdin string
		args  []string
		want  result
	}{
		{"exit code", "", []string{"tools", "--", "probe", "exit", "3"}, result{"probe: exit 3\n", "command terminated with exit code 3\n", 3}},
		{"outputs apart", "", []string{"tools", "--", "probe", "both"}, result{"to stdout\n", "to stderr\n", 0}},
		{"input to its end", "some\x00bytes", []string{"-i", "tools", "--", "probe", "cat"}, result{"some\x00bytes", "", 0}},
		{"no such program", "", []string{"tools", "--", "nothing"}, result{"",
			"exec failed: unable to start container process: exec: \"nothing\": executable file not found in $PATH\ncommand terminated with exit code 127\n", 127}},
		{"not a program", "", []string{"tools", "--", "/etc/hosts"}, result{"",
			"exec failed: unable to start container process: exec: \"/etc/hosts\": permission denied\ncommand terminated with exit code 126\n", 126}},
	} {
		if got := c.execute(t, protocol, strings.NewReader(test.stdin), append([]string{"exec"}, test.args...)...); got != test.want {
			t.Errorf("%s: got %#v, want %#v", test.what, got, test.want)
		}
	}
	var all sync.WaitGroup
	for i := range 5 {
		all.Go(func() {
			if got := c.execute(t, protocol, nil, "exec", "tools", "--", "probe", "exit", fmt.Sprint(i)); got.code != i {
				t.Errorf("one of several at once: %+v, want code %d", got, i)
			}
		})
	}
	all.Wait()
	if got := c.execute(t, protocol, nil, "exec", "not-started", "--", "probe", "both"); got.code == 0 ||
		!strings.Contains(got.stderr, `container "main" in pod default/not-started is not running: waiting: `) {
		t.Errorf("exec in a container that does not run: %+v", got)
	}
}

// pty returns a terminal for kubectl, and the end of whoever sits at it.
func pty(t *testing.T) (user, terminal *os.File) {
	t.Helper()
	user, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(user.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { user.Close() })
	number, err := unix.IoctlGetInt(int(user.Fd()), unix.TIOCGPTN)
	if err == nil {
		terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { terminal.Close() })
	return user, terminal
}

func resize(t *testing.T, terminal *os.File, width, height uint16) {
	t.Helper()
	if err := unix.IoctlSetWinsize(int(terminal.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: width, Row: height}); err != nil {
		t.Fatal(err)
	}
}

// transcript is what a terminal has shown.
type transcript struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *transcript) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *transcript) shows(text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !strings.Contains(s.text.String(), text) {
		return fmt.Errorf("not %q in %q", text, s.text.String())
	}
	return nil
}

func (c *cluster) execTerminal(t *testing.T, protocol string) {
	user, terminal := pty(t)
	resize(t, terminal, 100, 30)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := c.kubectlCommand(ctx, protocol, "exec", "-it", "tools", "--", "probe", "terminal")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	screen := &transcript{}
	go func() { _, _ = io.Copy(screen, user) }()
	eventually(t, "the size is the terminal's", func() error {
		fmt.Fprint(user, "\n")
		return screen.shows("/dev/pts/0 is 100x30")
	})
	resize(t, terminal, 70, 20)
	_ = cmd.Process.Signal(unix.SIGWINCH) // it is not kubectl's controlling terminal
	eventually(t, "the size follows", func() error {
		fmt.Fprint(user, "\n")
		return screen.shows("/dev/pts/0 is 70x20")
	})
	fmt.Fprint(user, "\x04")
	_ = cmd.Wait()
	if got := cmd.ProcessState.ExitCode(); got != 5 {
		t.Errorf("exit code after Ctrl-D: %d, want 5; the terminal: %v", got, screen.shows("(all)"))
	}
}

// execEndsWithClient checks that a program ends when kubectl is killed.
func (c *cluster) execEndsWithClient(t *testing.T, protocol string) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	before := programs(t, "sleep 3600")
	cmd := c.kubectlCommand(ctx, protocol, "exec", "tools", "--", "probe", "sleep", "3600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the program runs", func() error { return wantPrograms(t, "sleep 3600", before+2) }) // and kubectl
	cancel()
	_ = cmd.Wait()
	eventually(t, "the program has ended", func() error { return wantPrograms(t, "sleep 3600", before) })
}

// stalledClient is a kubectl exec that does not read what its program writes, which must not
// hold up the end of the node.
func (c *cluster) stalledClient(t *testing.T, pod string) *exec.Cmd {
	t.Helper()
	cmd := c.kubectlCommand(t.Context(), protocols["SPDY"], "exec", pod, "--", "probe", "flood")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the program runs", func() error { return wantPrograms(t, "probe flood", 2) }) // and kubectl
	if err := cmd.Process.Signal(unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second) // the buffers on the way fill
	return cmd
}

// programs counts the processes with these arguments.
func programs(t *testing.T, args string) int {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, file := range files {
		line, _ := os.ReadFile(file) // the process may have ended
		if strings.Contains(strings.ReplaceAll(string(line), "\x00", " "), args) {
			count++
		}
	}
	return count
}

func wantPrograms(t *testing.T, args string, want int) error {
	t.Helper()
	if got := programs(t, args); got != want {
		return fmt.Errorf("%d processes, want %d", got, want)
	}
	return nil
}

func (c *cluster) testCopy(t *testing.T) {
	dir := t.TempDir()
	content := make([]byte, 100<<20)
	if _, err := rand.Read(content); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "there"), content, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"cp", filepath.Join(dir, "there"), "tools:/data/file"},
		{"cp", "tools:/data/file", filepath.Join(dir, "back")},
	} {
		began := time.Now()
		if got := c.execute(t, protocols["WebSocket"], nil, args...); got.code != 0 {
			t.Fatalf("kubectl %v: %+v", args, got)
		}
		t.Logf("kubectl cp of 100 MiB: %s", time.Since(began).Round(10*time.Millisecond))
	}
	if back, err := os.ReadFile(filepath.Join(dir, "back")); err != nil || !bytes.Equal(back, content) {
		t.Errorf("%d bytes came back, %v, which are not the %d that were sent", len(back), err, len(content))
	}
}

// testExecRights tries exec as a user without rights, and at the node's port without the
// API server's certificate.
func (c *cluster) testExecRights(t *testing.T) {
	for _, what := range []string{"exec", "attach", "port-forward"} {
		args := map[string][]string{"exec": {"exec", "tools", "--", "probe", "both"}, "attach": {"attach", "tools"}, "port-forward": {"port-forward", "tools", "18081:8080"}}[what]
		got := c.execute(t, protocols["WebSocket"], nil, append([]string{"--as=somebody"}, args...)...)
		if got.code == 0 || !strings.Contains(got.stderr, "forbidden") {
			t.Errorf("kubectl %s without rights: %+v", what, got)
		}
	}
	known, err := c.control.ClientFor("somebody", "system:authenticated")
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := tls.X509KeyPair(known.CertData, known.KeyData)
	if err != nil {
		t.Fatal(err)
	}
	for _, method := range []string{http.MethodPost, http.MethodGet} {
		for _, path := range []string{"exec", "attach", "portForward", "containerLogs"} {
			if status, err := c.askNode(t, method, path); err == nil || !strings.Contains(err.Error(), "certificate required") {
				t.Errorf("%s %s without a certificate answers %d, %v, want a refused handshake", method, path, status, err)
			}
			if status, err := c.askNode(t, method, path, certificate); err != nil || status != http.StatusForbidden {
				t.Errorf("%s %s as a user of the cluster without rights answers %d, %v, want 403", method, path, status, err)
			}
		}
	}
}

// askNode asks the node's server directly.
func (c *cluster) askNode(t *testing.T, method, path string, certificates ...tls.Certificate) (status int, err error) {
	t.Helper()
	address := net.JoinHostPort(c.options.Address.String(), strconv.Itoa(controlplane.KubeletPort))
	request, err := http.NewRequestWithContext(t.Context(), method, fmt.Sprintf("https://%s/%s/default/tools/main?command=probe&output=1", address, path), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Connection", "Upgrade")
	request.Header.Set("Upgrade", "SPDY/3.1")
	request.Header.Set("X-Stream-Protocol-Version", "v4.channel.k8s.io")
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: certificates}}}
	response, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	response.Body.Close()
	return response.StatusCode, nil
}
