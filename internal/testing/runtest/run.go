package runtest

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	// patience is the limit of Eventually. It is long because a machine may be slow.
	patience = 30 * time.Second
	pollEach = 5 * time.Millisecond
	// answerWithin bounds one request.
	answerWithin = 5 * time.Second
)

// Start calls run, and cancels its context when stop is called or the test ends. Stop
// waits until run returns. An error of run fails the test.
func Start(t *testing.T, run func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

var addresses atomic.Int32

// Address returns a free loopback address. No other call and no client gets the same
// host, so that tests can run in parallel.
func Address(t *testing.T) string {
	t.Helper()
	n := addresses.Add(1)
	listener, err := net.Listen("tcp", fmt.Sprintf("127.77.%d.%d:0", n/250, n%250+1))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

// Get returns the status code and the body of a GET request, or 0 and the error.
func Get(address, path string) (code int, body string) {
	client := http.Client{Timeout: answerWithin}
	response, err := client.Get("http://" + address + path)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err.Error()
	}
	return response.StatusCode, string(content)
}

// Eventually waits until a condition holds, and fails the test if it does not. State, if
// given, describes the present state in the failure.
func Eventually(t *testing.T, what string, condition func() bool, state ...func() string) {
	t.Helper()
	Within(t, patience, what, condition, state...)
}

// Within is Eventually with another limit.
func Within(t *testing.T, limit time.Duration, what string, condition func() bool, state ...func() string) {
	t.Helper()
	for deadline := time.Now().Add(limit); !condition(); time.Sleep(pollEach) {
		if time.Now().Before(deadline) {
			continue
		}
		told := ""
		for _, tell := range state {
			told += "; " + tell()
		}
		t.Fatalf("%s: not within %s%s", what, limit, told)
	}
}
