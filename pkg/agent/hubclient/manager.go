package hubclient

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// Config is what a Manager works with.
type Config struct {
	Source Source
	Policy Policy
	// Base gives the user agent and the rate limits of the hub's clients.
	Base  *rest.Config
	Clock clock.WithTickerAndDelayedExecution
	// Changed, where set, is called when Status is another one. It must not
	// block.
	Changed func(Change)
}

// Change is what became of credentials.
type Change string

const (
	// Connected: they are used on a new connection.
	Connected Change = "connected"
	// Rotated: they are used on the connection that there was.
	Rotated Change = "rotated"
	// Refused: they cannot be used, or there are none any more.
	Refused Change = "refused"
	// Recovered: they are those in use, after others that could not be used.
	Recovered Change = "recovered"
)

// Serve does what there is to do on a hub until ctx ends. The configuration
// stays valid that long, also when the credentials are renewed.
type Serve func(ctx context.Context, hub *rest.Config) error

// Manager connects to the hub, and stays connected. Its methods may be called
// from any goroutine.
type Manager struct {
	config  Config
	changed chan struct{}

	mu      sync.Mutex
	inUse   *Credentials
	since   time.Time
	problem *BadCredentials
	session *session
}

// New makes a Manager that does nothing until it is run.
func New(config Config) *Manager {
	return &Manager{config: config, changed: make(chan struct{}, 1)}
}

// checkPeriod is how often the credentials are looked at without an event:
// time alone makes a certificate valid or invalid.
const checkPeriod = 30 * time.Second

// Run waits for the credentials, calls serve with them, and again for another
// hub. It returns when ctx ends, or when the source or serve returns an error;
// all that it started has ended then.
func (m *Manager) Run(ctx context.Context, serve Serve) error {
	ctx, cancel := context.WithCancel(ctx)
	klog.FromContext(ctx).Info("Waiting for the hub's credentials", "source", m.config.Source.String())
	source := make(chan error, 1)
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	group.Go(func() {
		if err := m.config.Source.Run(ctx, m.notify); err != nil {
			source <- fmt.Errorf("read %s: %w", m.config.Source, err)
		}
	})
	return m.follow(ctx, source, serve)
}

// follow acts on the credentials whenever they change.
func (m *Manager) follow(ctx context.Context, source <-chan error, serve Serve) error {
	var s *session
	defer func() { s.end() }()
	ticker := m.config.Clock.NewTicker(checkPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-source:
			return err
		case err := <-s.ended():
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("serve the hub: %w", err)
		case <-m.changed:
		case <-ticker.C():
		}
		s = m.step(ctx, s, serve)
	}
}

// step brings the session, which is nil before the first, in line with the
// credentials that there are.
func (m *Manager) step(ctx context.Context, s *session, serve Serve) *session {
	logger := klog.FromContext(ctx)
	loaded, err := m.load()
	decision := Decide(m.current(), loaded, s.trouble() == nil)
	switch {
	case err != nil || decision == Keep:
		m.report(logger, err)
	case decision == Rotate:
		if err := s.connection.rotate(loaded.Login); err != nil {
			m.report(logger, unusable(err))
			return s
		}
		m.use(loaded, Rotated)
		logger.Info("Using the renewed credentials for the hub", "notAfter", loaded.Login.NotAfter)
	default:
		connection, err := newConnection(loaded, m.config.Base, m.config.Clock)
		if err != nil {
			m.report(logger, unusable(err))
			return s
		}
		s.end()
		logger.Info("Connecting to the hub", "server", loaded.Endpoint.Server, "notAfter", loaded.Login.NotAfter)
		s = startSession(ctx, connection, serve)
		m.mu.Lock()
		m.session = s
		m.mu.Unlock()
		m.use(loaded, Connected)
	}
	return s
}

// unusable is for what Load has let through.
func unusable(err error) error { return bad(KubeconfigInvalid, "%s", oneLine(err)) }

// load returns the credentials that there are now. The error is a
// *BadCredentials.
func (m *Manager) load() (*Credentials, error) {
	data, err := m.config.Source.Read()
	if err != nil {
		return nil, err
	}
	return Load(data, m.config.Policy, m.config.Clock.Now())
}

func (m *Manager) use(loaded *Credentials, change Change) {
	m.mu.Lock()
	m.inUse, m.problem, m.since = loaded, nil, m.config.Clock.Now()
	m.mu.Unlock()
	m.tell(change)
}

// report logs and tells a problem when it changes; nil: there is none.
func (m *Manager) report(logger klog.Logger, err error) {
	var problem *BadCredentials
	if err != nil && !errors.As(err, &problem) {
		problem = bad(SourceUnreadable, "%s", oneLine(err))
	}
	m.mu.Lock()
	before, connected := m.problem, m.inUse != nil
	m.problem = problem
	m.mu.Unlock()
	switch {
	case problem == nil && before == nil, problem != nil && before != nil && *problem == *before:
		return
	case problem == nil:
		logger.Info("The hub's credentials are those in use again", "source", m.config.Source.String())
		m.tell(Recovered)
		return
	case connected:
		logger.Info("The hub's credentials cannot be used, the last good ones stay in use",
			"source", m.config.Source.String(), "reason", problem.Reason, "detail", problem.Message)
	default:
		logger.Info("Waiting for usable credentials of the hub",
			"source", m.config.Source.String(), "reason", problem.Reason, "detail", problem.Message)
	}
	m.tell(Refused)
}

func (m *Manager) tell(change Change) {
	if m.config.Changed != nil {
		m.config.Changed(change)
	}
}

// Status says how things are.
func (m *Manager) Status() Status {
	m.mu.Lock()
	status := Status{Source: m.config.Source.String(), Since: m.since, Problem: m.problem}
	if m.inUse != nil {
		status.Server, status.NotAfter = m.inUse.Endpoint.Server, m.inUse.Login.NotAfter
	}
	m.mu.Unlock()
	if status.Server == "" && status.Problem == nil {
		// Nothing was told yet, by a source that cannot be read.
		if _, err := m.config.Source.Read(); err != nil {
			errors.As(err, &status.Problem)
		}
	}
	return status
}

// Trouble says why the hub does not answer, or does not know who asks, on the
// connection that there is, or nil.
func (m *Manager) Trouble() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.session.trouble()
}

// Ready says why there are no usable credentials for the hub. Whether the hub
// answers to them is Trouble's.
func (m *Manager) Ready() error {
	return m.Status().Ready(m.config.Clock.Now())
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
