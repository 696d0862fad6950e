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

	"open-cluster-management.io/helloworld-addon/pkg/agent/hubclient/credentials"
	"open-cluster-management.io/helloworld-addon/pkg/agent/view"
)

// Source provides a kubeconfig and the files that it names.
type Source interface {
	// String names the source in logs and messages.
	String() string
	// Run reads until ctx ends. It calls changed once the source was read, and
	// whenever the content may have changed. It returns an error if it cannot
	// start.
	Run(ctx context.Context, changed func()) error
	// Read returns the present content for credentials.Load, or a
	// *credentials.Error. The content is not modified later.
	Read() (map[string][]byte, error)
}

// SecretSource watches one Secret by name.
type SecretSource struct {
	secrets         view.Reader[*corev1.SecretList]
	namespace, name string
	clock           clock.WithTicker
	view            *view.View[*corev1.Secret]
	started         chan struct{}
}

// NewSecretSource returns a source for a Secret of the namespace that secrets
// reads. It requests no other Secret.
func NewSecretSource(secrets view.Reader[*corev1.SecretList], namespace, name string, clock clock.WithTicker) *SecretSource {
	return &SecretSource{secrets: secrets, namespace: namespace, name: name, clock: clock, started: make(chan struct{})}
}

// String implements Source.
func (s *SecretSource) String() string { return "secret " + s.namespace + "/" + s.name }

// Run implements Source. It may be called once.
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
	// An empty list causes no event.
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
		return nil, credentials.Errorf(credentials.SourceUnreadable, "it has not been read yet")
	}
	if !s.view.Synced() {
		return nil, credentials.Errorf(credentials.SourceUnreadable, "%s", credentials.OneLine(s.view.Err()))
	}
	secret := s.view.Get(s.namespace, s.name)
	if secret == nil {
		return nil, credentials.Errorf(credentials.SecretMissing, "OCM's registration agent has not written it yet, or it was deleted")
	}
	return secret.Data, nil
}

// Synced reports whether the Secret, or that it does not exist, was ever read.
func (s *SecretSource) Synced() bool {
	select {
	case <-s.started:
		return s.view.Synced()
	default:
		return false
	}
}

// Unreadable returns why the last request for the Secret failed, or nil.
func (s *SecretSource) Unreadable() error {
	select {
	case <-s.started:
		return s.view.Unreadable()
	default:
		return nil
	}
}

func withoutManagedFields(secret *corev1.Secret) *corev1.Secret {
	secret.ManagedFields = nil
	return secret
}

// FilePeriod is how often a FileSource reads the files.
const FilePeriod = time.Second

// FileSource reads a kubeconfig file and the files that it names.
type FileSource struct {
	path  string
	clock clock.WithTicker
}

// NewFileSource returns a source for the kubeconfig at path.
func NewFileSource(path string, clock clock.WithTicker) *FileSource {
	return &FileSource{path: path, clock: clock}
}

// String implements Source.
func (s *FileSource) String() string { return "kubeconfig file " + s.path }

// Run implements Source. It reads the files to detect a change, which works for
// every way to replace a file and for every file system.
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
		return nil, credentials.Errorf(credentials.KubeconfigMissing, "the file does not exist")
	case err != nil:
		return nil, credentials.Errorf(credentials.SourceUnreadable, "%s", credentials.OneLine(err))
	}
	data := map[string][]byte{credentials.KubeconfigKey: raw}
	for _, name := range credentials.FilesOf(raw) {
		file := name
		if !filepath.IsAbs(file) {
			file = filepath.Join(filepath.Dir(s.path), file)
		}
		content, err := os.ReadFile(file)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return nil, credentials.Errorf(credentials.SourceUnreadable, "%s", credentials.OneLine(err))
		}
		data[path.Clean(name)] = content
	}
	return data, nil
}
