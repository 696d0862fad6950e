package hubclient

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"open-cluster-management.io/helloworld-addon/pkg/agent/view"
)

// Config is what a Manager works with.
type Config struct {
	// Secrets reads the secrets in Namespace; SecretName is asked for only.
	Secrets    view.Reader[*corev1.SecretList]
	Namespace  string
	SecretName string
	Identity   Identity
	// Base gives the user agent and the rate limits of the hub's clients.
	Base  *rest.Config
	Clock clock.WithTicker
}

// Serve does what there is to do on a hub until ctx ends. The configuration
// stays valid that long, also when the certificate is renewed.
type Serve func(ctx context.Context, hub *rest.Config) error

// Manager connects to the hub, and stays connected. Its methods may be called
// from any goroutine.
type Manager struct {
	config  Config
	changed chan struct{}

	mu      sync.Mutex
	secret  *view.View[*corev1.Secret]
	inUse   *Credentials
	problem error
}

// New makes a Manager that does nothing until it is run.
func New(config Config) *Manager {
	return &Manager{config: config, changed: make(chan struct{}, 1)}
}

// checkPeriod is how often the credentials are looked at without an event:
// time alone makes a certificate valid or invalid.
const checkPeriod = time.Minute

// Run waits for the credentials, calls serve with them, and again for another
// hub. It returns when ctx ends, or when serve returns an error; serve has
// ended then.
func (m *Manager) Run(ctx context.Context, serve Serve) error {
	ctx, cancel := context.WithCancel(ctx)
	secret, err := view.New(ctx, "Secret "+m.secretName(),
		view.Selected[*corev1.SecretList]{Reader: m.config.Secrets,
			Selector: fields.OneTermEqualSelector("metadata.name", m.config.SecretName).String()},
		&corev1.Secret{}, withoutManagedFields, func(string) { m.notify() })
	if err != nil {
		cancel()
		return err
	}
	m.mu.Lock()
	m.secret = secret
	m.mu.Unlock()

	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	group.Go(secret.Run)
	klog.FromContext(ctx).Info("Waiting for the hub's credentials", "secret", m.secretName())
	if !secret.WaitForSync(m.config.Clock) {
		return nil
	}
	return m.follow(ctx, serve)
}

// follow acts on the secret whenever it changes.
func (m *Manager) follow(ctx context.Context, serve Serve) error {
	var s *session
	defer func() { s.end() }()
	ticker := m.config.Clock.NewTicker(checkPeriod)
	defer ticker.Stop()
	for {
		var err error
		if s, err = m.step(ctx, s, serve); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case err := <-s.ended():
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("serve the hub: %w", err)
		case <-m.changed:
		case <-ticker.C():
		}
	}
}

// step brings the session, which is nil before the first, in line with the
// secret.
func (m *Manager) step(ctx context.Context, s *session, serve Serve) (*session, error) {
	logger := klog.FromContext(ctx)
	loaded, problem := m.load()
	m.report(logger, problem)
	switch Decide(m.current(), loaded) {
	case Rotate:
		s.connection.rotate(loaded.Certificate)
		logger.Info("Using the renewed client certificate", "notAfter", loaded.NotAfter())
	case Connect:
		s.end()
		connection, err := newConnection(loaded, m.config.Base)
		if err != nil {
			return nil, fmt.Errorf("connect to the hub %s: %w", loaded.Endpoint.Server, err)
		}
		logger.Info("Connecting to the hub", "server", loaded.Endpoint.Server, "notAfter", loaded.NotAfter())
		s = startSession(ctx, connection, serve)
	case Keep:
		return s, nil
	}
	m.mu.Lock()
	m.inUse = loaded
	m.mu.Unlock()
	return s, nil
}

// load returns what is in the secret now.
func (m *Manager) load() (*Credentials, error) {
	secret := m.secret.Get(m.config.Namespace, m.config.SecretName)
	if secret == nil {
		return nil, bad(SecretMissing, "OCM's registration agent has not written it yet, or it was deleted")
	}
	return Load(secret.Data, m.config.Identity, m.config.Clock.Now())
}

// report logs a problem when it changes.
func (m *Manager) report(logger klog.Logger, problem error) {
	m.mu.Lock()
	before, connected := m.problem, m.inUse != nil
	m.problem = problem
	m.mu.Unlock()
	if problem == nil || (before != nil && before.Error() == problem.Error()) {
		return
	}
	if connected {
		logger.Info("The hub's credentials cannot be used, the last good ones stay in use",
			"secret", m.secretName(), "reason", problem.Error())
		return
	}
	logger.Info("Waiting for usable credentials of the hub", "secret", m.secretName(), "reason", problem.Error())
}

// Problem says what is wrong with the secret as it is now, or nil. There may
// be a connection all the same, with the last good credentials.
func (m *Manager) Problem() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.problem == nil {
		return nil
	}
	return fmt.Errorf("secret %s: %w", m.secretName(), m.problem)
}

// Ready says why there is no usable connection to the hub. Whether the hub
// answers is for those to say who use it.
func (m *Manager) Ready() error {
	inUse, problem := m.current(), m.Problem()
	switch {
	case inUse == nil && problem != nil:
		return problem
	case inUse == nil:
		return m.waiting()
	case !m.config.Clock.Now().Before(inUse.NotAfter()):
		return fmt.Errorf("the hub's client certificate in use expired at %s, and secret %s has no better one",
			inUse.NotAfter().UTC().Format(time.RFC3339), m.secretName())
	default:
		return nil
	}
}

// NotAfter is when the certificate in use expires, the zero time while there is
// none.
func (m *Manager) NotAfter() time.Time {
	if inUse := m.current(); inUse != nil {
		return inUse.NotAfter()
	}
	return time.Time{}
}

func (m *Manager) waiting() error {
	m.mu.Lock()
	secret := m.secret
	m.mu.Unlock()
	if secret == nil {
		return fmt.Errorf("secret %s: not read yet", m.secretName())
	}
	return secret.Err()
}

func (m *Manager) current() *Credentials {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.inUse
}

func (m *Manager) notify() {
	select {
	case m.changed <- struct{}{}:
	default:
	}
}

func (m *Manager) secretName() string {
	return m.config.Namespace + "/" + m.config.SecretName
}

func withoutManagedFields(secret *corev1.Secret) *corev1.Secret {
	secret.ManagedFields = nil
	return secret
}
