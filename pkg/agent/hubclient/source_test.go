package hubclient

import (
	"os"
	"path/filepath"
	"testing"

	"k8s.io/utils/clock"

	"open-cluster-management.io/helloworld-addon/pkg/agent/hubclient/credentials"
)

// directory is where a person or the kubelet writes files.
type directory struct {
	t    *testing.T
	path string
}

func (d directory) write(name string, content []byte) {
	d.t.Helper()
	if err := os.WriteFile(filepath.Join(d.path, name), content, 0o600); err != nil {
		d.t.Fatal(err)
	}
}

// TestFilesAreReadAgain: the source reads the kubeconfig and the files that it names
// again when they change, through every half-written state.
func TestFilesAreReadAgain(t *testing.T) {
	s, dir := newScene(t), directory{t, t.TempDir()}
	s.manager = s.newManager(NewFileSource(filepath.Join(dir.path, "kubeconfig"), clock.RealClock{}))
	s.run(s.serve)
	s.eventuallyNotReady(credentials.KubeconfigMissing)
	dir.write("kubeconfig", []byte(s.ca.Kubeconfig(s.hub.HTTP().URL)))
	s.eventuallyNotReady(credentials.KeyMissing)
	cert, key := s.ca.Fresh()
	dir.write("tls.key", key)
	s.eventuallyNotReady(credentials.CertificateMissing)
	dir.write("tls.crt", cert)
	s.eventually("connected", func() bool { return s.manager.Ready() == nil && s.connections() == 1 })

	cert, key = s.ca.Fresh()
	dir.write("tls.key", key)
	s.eventually("half-way", func() bool { return s.problem() == credentials.KeyMismatch })
	if err := s.manager.Ready(); err != nil {
		t.Errorf("the last good credentials are not in use: %v", err)
	}
	dir.write("tls.crt", cert)
	s.eventually("renewed", func() bool { return s.problem() == "" && s.connections() == 2 })
	if s.started.Load() != 1 {
		t.Errorf("%d connections, want the first one", s.started.Load())
	}
	dir.write("kubeconfig", []byte("{"))
	s.eventually("spoiled", func() bool { return s.problem() == credentials.KubeconfigInvalid })
	dir.write("kubeconfig", []byte(s.ca.Kubeconfig(s.hub.HTTP().URL)))
	s.eventually("mended", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.changes[len(s.changes)-1] == Recovered
	})
}

func TestFileThatCannotBeRead(t *testing.T) {
	directory := t.TempDir()
	_, err := NewFileSource(directory, clock.RealClock{}).Read()
	bad, ok := err.(*credentials.Error) //nolint:errorlint // It is documented to be one.
	if !ok || bad.Reason != credentials.SourceUnreadable {
		t.Errorf("a directory: %v", err)
	}
}
