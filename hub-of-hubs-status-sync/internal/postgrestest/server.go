package postgrestest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	// Password is the superuser's. It has every character that must be escaped in a URL.
	Password = "p@ss:w/o?r#d%+&="

	startWithin = time.Minute
	pollEvery   = 50 * time.Millisecond
)

// Options configure a temporary server.
type Options struct {
	// Dir is the parent of the data directory. The default is the directory for temporary files.
	Dir string
	// Settings are added to those for tests, which do not wait until writes are on the disk.
	Settings map[string]string
	// Address is the IP address to listen on. The default is the loopback address.
	Address string
	// TLS requires TLS and a password of every client. URLs have sslmode=verify-full, and the server has its own
	// certificate authority.
	TLS bool
}

// Server is a PostgreSQL server.
type Server struct {
	base *url.URL
	// The rest is empty for a given server.
	dir       string
	programs  string
	user      *syscall.Credential
	settings  map[string]string
	authority []byte
	process   *os.Process
	exited    chan error
}

// Use returns the server that TEST_DATABASE_URL names, or starts one.
func Use(ctx context.Context) (*Server, error) {
	given := os.Getenv("TEST_DATABASE_URL")
	if given == "" {
		return Start(ctx, Options{})
	}
	base, err := url.Parse(given)
	if err != nil {
		return nil, errors.New("TEST_DATABASE_URL is not a URL: is the password URL-escaped?")
	}
	return &Server{base: base}, nil
}

// Start creates a data directory and starts a server on it.
func Start(ctx context.Context, options Options) (*Server, error) {
	programs, err := findPrograms()
	if err != nil {
		return nil, err
	}
	address, err := validAddress(options.Address)
	if err != nil {
		return nil, err
	}
	credential, err := unprivileged()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(options.Dir, "postgres-")
	if err != nil {
		return nil, fmt.Errorf("make PostgreSQL's directory: %w", err)
	}
	server := &Server{dir: dir, programs: programs, user: credential, settings: map[string]string{
		"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off",
		"unix_socket_directories": "", "listen_addresses": address,
		"shared_buffers": "64MB", "max_connections": "100", "logging_collector": "off",
	}}
	for name, value := range options.Settings {
		server.settings[name] = value
	}
	if err := server.create(ctx, address); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if options.TLS {
		if err := server.encrypt(address); err != nil {
			return nil, errors.Join(fmt.Errorf("have PostgreSQL use TLS: %w", err), os.RemoveAll(dir))
		}
	}
	if err := server.Resume(ctx); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return server, nil
}

// create creates the data directory and chooses the port.
func (s *Server) create(ctx context.Context, address string) error {
	password := filepath.Join(s.dir, "password")
	if err := os.WriteFile(password, []byte(Password), 0o600); err != nil {
		return err
	}
	if err := s.giveAway(s.dir, password); err != nil {
		return err
	}
	init := s.command(ctx, "initdb", "--pgdata="+filepath.Join(s.dir, "data"), "--username=owner",
		"--pwfile="+password, "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync")
	if output, err := init.CombinedOutput(); err != nil {
		return fmt.Errorf("create PostgreSQL's data directory in %s: %w\n%s", s.dir, err, output)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		return err
	}
	s.base = &url.URL{Scheme: "postgres", User: url.UserPassword("owner", Password), Host: listener.Addr().String(), Path: "/postgres",
		RawQuery: "sslmode=disable"}
	return listener.Close()
}

// command returns one of PostgreSQL's programs, to be run as the server's user.
func (s *Server) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, filepath.Join(s.programs, program), args...)
	command.Dir = s.dir
	command.Env = []string{"PATH=" + s.programs, "LC_ALL=C", "TZ=UTC"}
	command.SysProcAttr = &syscall.SysProcAttr{Credential: s.user, Pdeathsig: syscall.SIGQUIT}
	return command
}

// Resume starts a server that was stopped or killed on its data, and returns when it answers.
func (s *Server) Resume(ctx context.Context) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, pollEvery, startWithin, true, func(ctx context.Context) (bool, error) {
		// the processes of a killed server hold the data until they notice its death
		if s.process == nil {
			if last = s.start(ctx); last != nil {
				return false, nil
			}
		}
		select {
		case ended := <-s.exited:
			s.process = nil
			last = fmt.Errorf("it ended: %w\n%s", ended, s.logTail())
			return false, nil
		default:
			last = s.Ping(ctx)
			return last == nil, nil
		}
	})
	if err != nil {
		return fmt.Errorf("start PostgreSQL in %s: %w: %w", s.dir, err, last)
	}
	return nil
}

// start starts the server's process from a thread that lives as long as the process, so that the end of this program ends
// the server (PR_SET_PDEATHSIG).
func (s *Server) start(ctx context.Context) error {
	args := []string{"-D", filepath.Join(s.dir, "data"), "-p", s.base.Port()}
	for _, name := range sortedKeys(s.settings) {
		args = append(args, "-c", name+"="+s.settings[name])
	}
	log, err := os.OpenFile(s.logFile(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	command := s.command(context.WithoutCancel(ctx), "postgres", args...)
	command.Stdout, command.Stderr = log, log
	started, exited := make(chan error), make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer log.Close() //nolint:errcheck // the file has what PostgreSQL wrote
		err := command.Start()
		started <- err
		if err == nil {
			exited <- command.Wait()
		}
	}()
	if err := <-started; err != nil {
		return err
	}
	s.process, s.exited = command.Process, exited
	return nil
}

// PID returns the process id of a temporary server, and 0 for a given one.
func (s *Server) PID() int {
	if s.process == nil {
		return 0
	}
	return s.process.Pid
}

// Dir returns the directory of a temporary server.
func (s *Server) Dir() string { return s.dir }

// Program returns the path of one of PostgreSQL's programs, for example pg_dump.
func (s *Server) Program(name string) string { return filepath.Join(s.programs, name) }

// URL returns the superuser's URL of a database.
func (s *Server) URL(database string) string {
	named := *s.base
	named.Path = "/" + database
	return named.String()
}

// Ping returns an error if the server does not answer.
func (s *Server) Ping(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, s.base.String())
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}

// Kill ends a temporary server and its sessions at once, as a crash does, so that Resume starts with a recovery. It does not
// send SIGKILL, because the sessions would go on answering for a moment.
func (s *Server) Kill() error { return s.end(syscall.SIGQUIT) }

// Stop ends a temporary server and removes its directory. It leaves a given server alone.
func (s *Server) Stop() error {
	if s.dir == "" {
		return nil
	}
	return errors.Join(s.end(syscall.SIGINT), os.RemoveAll(s.dir))
}

func (s *Server) end(signal syscall.Signal) error {
	if s.process == nil {
		return nil
	}
	if err := s.process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("end PostgreSQL: %w", err)
	}
	ended := <-s.exited
	s.process = nil
	var status *exec.ExitError
	if ended != nil && !errors.As(ended, &status) {
		return fmt.Errorf("end PostgreSQL: %w", ended)
	}
	return nil
}

func (s *Server) logFile() string { return filepath.Join(s.dir, "log") }

// logTail returns the end of the server's log.
func (s *Server) logTail() string {
	const lines = 10
	content, err := os.ReadFile(s.logFile())
	if err != nil {
		return err.Error()
	}
	all := bytes.Split(bytes.TrimSpace(content), []byte("\n"))
	return string(bytes.Join(all[max(0, len(all)-lines):], []byte("\n")))
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// Port returns the server's port.
func (s *Server) Port() int {
	port, err := strconv.Atoi(s.base.Port())
	if err != nil {
		return 5432
	}
	return port
}
