// Command names is an image's program for the tests of Services and DNS: a server (HTTP and UDP, which
// answer with a name) and its clients.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

const account = "/var/run/secrets/kubernetes.io/serviceaccount/"

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "names:", err)
		os.Exit(1)
	}
}

// commands are the subcommands by their names and the number of their arguments.
var commands = map[string]func(context.Context, []string) error{
	"api 0":   func(ctx context.Context, _ []string) error { return api(ctx) },
	"serve 1": func(_ context.Context, args []string) error { return serve(args[0]) },
	"address 1": func(ctx context.Context, args []string) error {
		found, err := net.DefaultResolver.LookupHost(ctx, args[0])
		return printSorted(found, err)
	},
	"alias 1": func(ctx context.Context, args []string) error {
		found, err := net.DefaultResolver.LookupCNAME(ctx, args[0])
		return printSorted([]string{found}, err)
	},
	"name 1": func(ctx context.Context, args []string) error {
		found, err := net.DefaultResolver.LookupAddr(ctx, args[0])
		return printSorted(found, err)
	},
	"port 3": func(ctx context.Context, args []string) error {
		_, found, err := net.DefaultResolver.LookupSRV(ctx, args[0], args[1], args[2])
		var lines []string
		for _, f := range found {
			lines = append(lines, fmt.Sprintf("%s:%d", f.Target, f.Port))
		}
		return printSorted(lines, err)
	},
	"get 2": func(ctx context.Context, args []string) error {
		return repeat(args[1], func() (string, error) { return get(ctx, http.DefaultTransport, args[0], "") })
	},
	"udp 2": func(ctx context.Context, args []string) error {
		return repeat(args[1], func() (string, error) { return udp(ctx, args[0]) })
	},
}

func run(args []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if len(args) == 0 {
		return errors.New("no command")
	}
	command, ok := commands[fmt.Sprint(args[0], " ", len(args)-1)]
	if !ok {
		return fmt.Errorf("unknown arguments %q", args)
	}
	return command(ctx, args[1:])
}

// printSorted prints the words in one line.
func printSorted(words []string, err error) error {
	if err == nil {
		slices.Sort(words)
		fmt.Println(strings.Join(words, " "))
	}
	return err
}

// repeat prints the distinct answers of so many calls.
func repeat(times string, call func() (string, error)) error {
	n, err := strconv.Atoi(times)
	var answers []string
	for range n {
		answer, err := call()
		if err != nil {
			return err
		}
		answers = append(answers, answer)
	}
	slices.Sort(answers)
	return printSorted(slices.Compact(answers), err)
}

// get returns the body of a request on a new connection.
func get(ctx context.Context, transport http.RoundTripper, url, token string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	request.Close = true
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", response.Status, body)
	}
	return string(body), err
}

// udp returns the answer to a datagram from a new port.
func udp(ctx context.Context, address string) (string, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "udp4", address)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return "", err
	}
	if _, err := conn.Write([]byte("who?")); err != nil {
		return "", err
	}
	answer := make([]byte, 1<<10)
	n, err := conn.Read(answer)
	return string(answer[:n]), err
}

// api prints the groups of the API server, which it reaches by its name and the mounted token.
func api(ctx context.Context) error {
	pool := x509.NewCertPool()
	authority, err := os.ReadFile(account + "ca.crt")
	if err != nil {
		return err
	}
	token, err := os.ReadFile(account + "token")
	if err != nil {
		return err
	}
	pool.AppendCertsFromPEM(authority)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS13}}
	body, err := get(ctx, transport, "https://kubernetes.default.svc/apis", string(token))
	return printSorted([]string{body}, err)
}

// serve answers with a name: HTTP on :8080, UDP on :8081. A request of /unready makes it unready.
func serve(name string) error {
	packets, err := net.ListenPacket("udp4", ":8081")
	if err != nil {
		return err
	}
	go func() {
		buffer := make([]byte, 1<<10)
		for {
			_, from, err := packets.ReadFrom(buffer)
			if err != nil {
				return
			}
			_, _ = packets.WriteTo([]byte(name), from)
		}
	}()
	var unready atomic.Bool
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, name) })
	mux.HandleFunc("/unready", func(http.ResponseWriter, *http.Request) { unready.Store(true) })
	mux.HandleFunc("/ready", func(w http.ResponseWriter, _ *http.Request) {
		if unready.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	server := &http.Server{Addr: ":8080", Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	return server.ListenAndServe()
}
