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

	"open-cluster-management.io/helloworld-addon/internal/retry"
	"open-cluster-management.io/helloworld-addon/pkg/agent/hubclient/credentials"
)

// Config configures a Manager.
type Config struct {
	Source Source
	Policy credentials.Policy
	// DropRejected ends the connection when the source becomes unusable, instead
	// of keeping the last good credentials in use.
	DropRejected bool
	// Base has the user agent and the rate limits of the hub's clients.
	Base  *rest.Config
	Clock clock.WithTickerAndDelayedExecution
	// Changed, if set, is called after Status has changed. It must not block.
	Changed func(Change)
}

// Change is a transition between the states in the package's documentation.
type Change string

const (
	// Connected means that new credentials are in use and serve starts anew.
	Connected Change = "connected"
	// Rotated means that new credentials are in use and serve continues.
	Rotated Change = "rotated"
	// Refused means that the source is unusable.
	Refused Change = "refused"
	// Recovered means that the source has the credentials in use again.
	Recovered Change = "recovered"
)

// Serve works on one hub until ctx ends. Its configuration remains valid that
// long, also across rotations.
type Serve func(ctx context.Context, hub *rest.Config) error

// Manager connects to the hub and stays connected. Its methods may be called from
// any goroutine.
type Manager struct {
	config  Config
	changed retry.Signal

	mu    sync.Mutex
	inUse *credentials.Credentials
	// since and notAfter are those of the credentials that were last in use.
	since    time.Time
	notAfter time.Time
	problem  *credentials.Error
	session  *session
}

// New returns a Manager, which does nothing until Run.
func New(config Config) *Manager {
	return &Manager{config: config, changed: retry.NewSignal()}
}

// checkPeriod is how often the credentials are checked without an event: time
// alone makes a certificate valid or expired.
const checkPeriod = 30 * time.Second

// Run waits for credentials and calls serve, and calls it again on each Connected.
// It returns when ctx ends, or when the source or serve returns an error. Every
// goroutine that it started has then ended.
func (m *Manager) Run(ctx context.Context, serve Serve) error {
	ctx, cancel := context.WithCancel(ctx)
	klog.FromContext(ctx).Info("Waiting for the hub's credentials", "source", m.config.Source.String())
	source := make(chan error, 1)
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	group.Go(func() {
		if err := m.config.Source.Run(ctx, m.changed.Notify); err != nil {
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

// step loads the credentials and returns the session to continue with. s is nil
// if there is none.
func (m *Manager) step(ctx context.Context, s *session, serve Serve) *session {
	logger := klog.FromContext(ctx)
	loaded, err := m.load()
	decision := credentials.Decide(m.current(), loaded, s.trouble() == nil)
	switch {
	case err != nil && m.config.DropRejected && s != nil:
		s.end()
		m.drop()
		m.report(logger, err)
		return nil
	case err != nil || decision == credentials.Keep:
		m.report(logger, err)
	case decision == credentials.Rotate:
		if err := s.connection.rotate(loaded.Login); err != nil {
			m.report(logger, err)
			return s
		}
		m.use(loaded, s)
		logger.Info("Using the renewed credentials for the hub", "notAfter", loaded.Login.NotAfter)
		m.tell(Rotated)
	default:
		connection, err := Open(loaded, m.config.Base, m.config.Clock)
		if err != nil {
			m.report(logger, err)
			return s
		}
		s.end()
		logger.Info("Connecting to the hub", "server", loaded.Endpoint.Server, "notAfter", loaded.Login.NotAfter)
		s = startSession(ctx, connection, serve)
		m.use(loaded, s)
		m.tell(Connected)
	}
	return s
}

// load returns the credentials in the source. The error is a *credentials.Error.
func (m *Manager) load() (*credentials.Credentials, error) {
	data, err := m.config.Source.Read()
	if err != nil {
		return nil, err
	}
	return credentials.Load(data, m.config.Policy, m.config.Clock.Now())
}

func (m *Manager) use(loaded *credentials.Credentials, s *session) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.inUse, m.session, m.problem = loaded, s, nil
	m.since, m.notAfter = m.config.Clock.Now(), loaded.Login.NotAfter
}

func (m *Manager) drop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.inUse, m.session = nil, nil
}

// report logs and tells err, nil for none, if it is not the last one.
func (m *Manager) report(logger klog.Logger, err error) {
	var problem *credentials.Error
	if err != nil && !errors.As(err, &problem) {
		// Load accepted the credentials, but no connection can be made of them.
		problem = credentials.Errorf(credentials.KubeconfigInvalid, "%s", credentials.OneLine(err))
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

// Status returns the state of the credentials.
func (m *Manager) Status() credentials.Status {
	m.mu.Lock()
	status := credentials.Status{Source: m.config.Source.String(), NotAfter: m.notAfter, Since: m.since, Problem: m.problem}
	if m.inUse != nil {
		status.Server = m.inUse.Endpoint.Server
	}
	m.mu.Unlock()
	if status.Server == "" && status.Problem == nil {
		// A source that cannot be read has not notified yet.
		if _, err := m.config.Source.Read(); err != nil {
			errors.As(err, &status.Problem)
		}
	}
	return status
}

// Trouble returns why the hub does not answer, or does not accept the credentials
// in use. It is nil if the hub answers or there is no connection.
func (m *Manager) Trouble() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.session.trouble()
}

// Ready returns why no usable credentials are in use, or nil. Whether the hub
// answers is reported by Trouble.
func (m *Manager) Ready() error {
	return m.Status().Ready(m.config.Clock.Now())
}

func (m *Manager) current() *credentials.Credentials {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.inUse
}

// session is a connection with serve at work on it. The methods of a nil session
// do nothing.
type session struct {
	connection *Connection
	cancel     context.CancelFunc
	done       chan error
}

// errServeEnded replaces the nil that serve returned before its context ended.
var errServeEnded = errors.New("ended without an error")

func startSession(ctx context.Context, connection *Connection, serve Serve) *session {
	ctx, cancel := context.WithCancel(ctx)
	s := &session{connection: connection, cancel: cancel, done: make(chan error, 1)}
	go func() {
		err := serve(ctx, connection.Config())
		if err == nil {
			err = errServeEnded
		}
		s.done <- err
		close(s.done)
	}()
	return s
}

// ended returns the channel of serve's error, nil for a nil session.
func (s *session) ended() <-chan error {
	if s == nil {
		return nil
	}
	return s.done
}

// end stops serve, waits for it, and closes the connection.
func (s *session) end() {
	if s == nil {
		return
	}
	s.cancel()
	for range s.done {
	}
	s.connection.Close()
}

func (s *session) trouble() error {
	if s == nil {
		return nil
	}
	return s.connection.trouble()
}
