package hubclient

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/utils/clock"

	"open-cluster-management.io/helloworld-addon/pkg/agent/view"
)

// Source is where credentials come from.
type Source interface {
	// String names it.
	String() string
	// Run reads until ctx ends. It calls changed when there is something to
	// Read for the first time, and whenever that may have become another. An
	// error means that it cannot begin.
	Run(ctx context.Context, changed func()) error
	// Read returns a kubeconfig and the files that it names, as Load takes
	// them, or a *BadCredentials. It does not change what it returns.
	Read() (map[string][]byte, error)
}

// SecretSource reads one secret by name.
type SecretSource struct {
	secrets         view.Reader[*corev1.SecretList]
	namespace, name string
	clock           clock.WithTicker
	view            *view.View[*corev1.Secret]
	started         chan struct{}
}

// NewSecretSource reads a secret of the namespace that secrets reads. No other
// one is asked for.
func NewSecretSource(secrets view.Reader[*corev1.SecretList], namespace, name string, clock clock.WithTicker) *SecretSource {
	return &SecretSource{secrets: secrets, namespace: namespace, name: name, clock: clock, started: make(chan struct{})}
}

// String implements Source.
func (s *SecretSource) String() string { return "secret " + s.namespace + "/" + s.name }

// Run implements Source. It can be called once.
func (s *SecretSource) Run(ctx context.Context, changed func()) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	secret, err := view.New(ctx, "Secret "+s.namespace+"/"+s.name,
		view.Selected[*corev1.SecretList]{Reader: s.secrets,
			Selector: fields.OneTermEqualSelector("metadata.name", s.name).String()},
		&corev1.Secret{}, withoutManagedFields, func(string) { changed() })
	if err != nil {
		return err
	}
	s.view = secret
	close(s.started)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		secret.Run()
	}()
	// Of an empty list there is no event.
	if secret.WaitForSync(s.clock) {
		changed()
	}
	<-ended
	return nil
}

// Read implements Source.
func (s *SecretSource) Read() (map[string][]byte, error) {
	select {
	case <-s.started:
	default:
		return nil, bad(SourceUnreadable, "it was not read yet")
	}
	if !s.view.Synced() {
		return nil, bad(SourceUnreadable, "%s", oneLine(s.view.Err()))
	}
	secret := s.view.Get(s.namespace, s.name)
	if secret == nil {
		return nil, bad(SecretMissing, "OCM's registration agent has not written it yet, or it was deleted")
	}
	return secret.Data, nil
}

func withoutManagedFields(secret *corev1.Secret) *corev1.Secret {
	secret.ManagedFields = nil
	return secret
}

// FilePeriod is how often the files are looked at.
const FilePeriod = time.Second

// FileSource reads a kubeconfig file and the files that it names.
type FileSource struct {
	path  string
	clock clock.WithTicker
}

// NewFileSource reads the kubeconfig at this path.
func NewFileSource(path string, clock clock.WithTicker) *FileSource {
	return &FileSource{path: path, clock: clock}
}

// String implements Source.
func (s *FileSource) String() string { return "kubeconfig file " + s.path }

// Run implements Source. Whether a file has changed is found out by reading it:
// that works with every way to replace one, and with every file system.
func (s *FileSource) Run(ctx context.Context, changed func()) error {
	ticker := s.clock.NewTicker(FilePeriod)
	defer ticker.Stop()
	for {
		changed()
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
		}
	}
}

// Read implements Source.
func (s *FileSource) Read() (map[string][]byte, error) {
	raw, err := os.ReadFile(s.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, bad(KubeconfigMissing, "there is no such file")
	case err != nil:
		return nil, bad(SourceUnreadable, "%s", oneLine(err))
	}
	data := map[string][]byte{KubeconfigKey: raw}
	for _, name := range FilesOf(raw) {
		file := name
		if !filepath.IsAbs(file) {
			file = filepath.Join(filepath.Dir(s.path), file)
		}
		content, err := os.ReadFile(file)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return nil, bad(SourceUnreadable, "%s", oneLine(err))
		}
		data[path.Clean(name)] = content
	}
	return data, nil
}
