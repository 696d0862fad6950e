//go:build ui

package ui

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// patience is how long the browser may take for one step.
const patience = time.Minute

// serve starts "kubectl helloworld ui", and returns the page's URL and the process. The test ends both.
func serve(t *testing.T, kubeconfig string, flags ...string) (string, *os.Process) {
	t.Helper()
	command := exec.CommandContext(context.WithoutCancel(t.Context()), os.Getenv("KUBECTL_HELLOWORLD"), append([]string{"ui"}, flags...)...)
	command.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	command.Stderr = os.Stderr
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Signal(os.Interrupt)
		if err := command.Wait(); err != nil {
			t.Errorf("after an interrupt: %v", err)
		}
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if url := strings.TrimSpace(lines.Text()); strings.HasPrefix(url, "http://") {
			return url, command.Process
		}
	}
	t.Fatal("the program printed no URL")
	return "", nil
}

// A page is one in a tab of the browser.
type page struct {
	ctx context.Context
	// problems are what the browser reports: errors of scripts, on the console and of requests, and what the page's policy refuses.
	problems chan string
	// answers are the codes of the answers, by URL.
	answers *answers
}

// answers collects the codes of HTTP. The browser reports that of an answer even where it keeps the answer from the page.
type answers struct {
	mu    sync.Mutex
	urls  map[network.RequestID]string
	codes map[network.RequestID]int64
}

func (a *answers) requested(id network.RequestID, url string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.urls[id] = url
}

func (a *answers) answered(id network.RequestID, code int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.codes[id] = code // the browser may report the answer before the request
}

// of returns the codes of the answers of a URL.
func (a *answers) of(url string) []int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	var codes []int64
	for id, code := range a.codes {
		if a.urls[id] == url {
			codes = append(codes, code)
		}
	}
	return codes
}

// open opens a URL in a tab of its own, 1,280 × 800, whose features of media are set.
func open(browser context.Context, t *testing.T, url string, features ...*emulation.MediaFeature) *page {
	t.Helper()
	return openAfter(browser, t, "", url, features...)
}

// openAfter does it after a script that runs before those of the page.
func openAfter(browser context.Context, t *testing.T, script, url string, features ...*emulation.MediaFeature) *page {
	t.Helper()
	tab, closeTab := chromedp.NewContext(browser)
	t.Cleanup(closeTab)
	p := &page{ctx: tab, problems: make(chan string, 100), answers: &answers{urls: map[network.RequestID]string{}, codes: map[network.RequestID]int64{}}}
	note := func(text string) {
		select {
		case p.problems <- text:
		default:
		}
	}
	// The first call starts the tab, which ends with the context of this call.
	if err := chromedp.Do(tab, call(network.Enable, network.EnableParams{}), call(runtime.Enable, cdp.Empty{}), call(log.Enable, cdp.Empty{}),
		call(cdppage.AddScriptToEvaluateOnNewDocument, cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: script}),
		chromedp.EmulateViewport(1280, 800), call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features})); err != nil {
		t.Fatal(err)
	}
	err := chromedp.Listen(tab, func(event any) {
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			note(e.ExceptionDetails.Text)
		case *runtime.EventConsoleAPICalled:
			if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
				for _, argument := range e.Args {
					note(fmt.Sprintf("the console has: %s %s", argument.Value, argument.Description))
				}
			}
		case *log.EventEntryAdded: // the browser's own lines on the console, for example about its policy or a request that failed
			if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
				note("the console has: " + e.Entry.Text + " " + e.Entry.URL)
			}
		case *network.EventResponseReceivedExtraInfo:
			p.answers.answered(e.RequestID, e.StatusCode)
		case *network.EventRequestWillBeSent:
			p.answers.requested(e.RequestID, e.Request.URL)
			if !strings.HasPrefix(e.Request.URL, "http://127.0.0.1:") && !strings.HasPrefix(e.Request.URL, "data:") {
				note("request to " + e.Request.URL)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	p.do(t, chromedp.Navigate(url))
	return p
}

// call is the action that sends a command without an answer to the browser.
func call[P, R any](command cdp.Command[P, R], parameters P) step {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, command, parameters)
		return err
	})
}

// step is an action of the browser that returns nothing.
type step = chromedp.Action[chromedp.Void]

// do carries out actions.
func (p *page) do(t *testing.T, steps ...step) {
	t.Helper()
	run(t, p, chromedp.Steps(steps...))
}

// run carries out an action, and returns its value.
func run[T any](t *testing.T, p *page, action chromedp.Action[T]) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	value, err := chromedp.Run(ctx, action)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// await waits until an expression of JavaScript is true. It asks from outside: the page's policy lets no text become a script.
func (p *page) await(t *testing.T, expression string) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if evaluate[bool](t, p, expression) {
			return
		}
	}
	t.Fatalf("%s is not true after %v; the page has:\n%s", expression, patience, evaluate[string](t, p, "document.body.innerText"))
}

// reported waits until the browser reports a problem that the test has caused.
func (p *page) reported(t *testing.T, text string) {
	t.Helper()
	select {
	case problem := <-p.problems:
		if !strings.Contains(problem, text) {
			t.Errorf("the browser reports %q, want %q", problem, text)
		}
	case <-time.After(patience):
		t.Errorf("the browser does not report %q", text)
	}
}

// clean fails the test if the browser reported a problem.
func (p *page) clean(t *testing.T) {
	t.Helper()
	for {
		select {
		case problem := <-p.problems:
			t.Error(problem)
		default:
			return
		}
	}
}

// evaluate returns the value of an expression of JavaScript.
func evaluate[T any](t *testing.T, p *page, expression string) T {
	t.Helper()
	return run(t, p, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

// tiles is an expression for the tiles that are shown: "name:class", in the order of the page.
const tiles = `[...document.querySelectorAll("#fleet .tile")].map((t) => t.dataset.cluster + ":" + t.className.replace("tile ", "")).join(" ")`

// text is an expression for the text of the element.
func text(selector string) string { return `document.querySelector("` + selector + `").innerText` }
