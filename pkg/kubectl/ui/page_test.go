package ui

import (
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"open-cluster-management.io/helloworld-addon/pkg/fleet/report"
)

// TestGuard: only the person who has the URL gets the page, and no other page of the browser.
func TestGuard(t *testing.T) {
	page := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "page "+r.URL.Path) })
	g := &guard{host: "127.0.0.1:8001", token: "secret", page: page}
	for _, test := range []struct {
		name, method, host, path string
		header                   http.Header
		want                     int
		body                     string
	}{
		{name: "the page", path: "/secret/", want: http.StatusOK, body: "page /"},
		{name: "a file below it", path: "/secret/app.js", want: http.StatusOK, body: "page /app.js"},
		{name: "a question of the page", path: "/secret/cluster", want: http.StatusOK, body: "page /cluster",
			header: http.Header{"Origin": {"http://127.0.0.1:8001"}, "Sec-Fetch-Site": {"same-origin"}}},
		{name: "from the address bar", path: "/secret/", header: http.Header{"Sec-Fetch-Site": {"none"}}, want: http.StatusOK},
		{name: "HEAD reads only", method: http.MethodHead, path: "/secret/", want: http.StatusOK},
		{name: "no token", path: "/", want: http.StatusNotFound},
		{name: "no token before a file", path: "/app.js", want: http.StatusNotFound},
		{name: "another token", path: "/secreu/", want: http.StatusNotFound},
		{name: "the token's beginning", path: "/secre/", want: http.StatusNotFound},
		{name: "the token as a query", path: "/?token=secret", want: http.StatusNotFound},
		{name: "a name that DNS was made to give for 127.0.0.1", host: "evil.example:8001", path: "/secret/", want: http.StatusForbidden},
		{name: "another name of this machine", host: "localhost:8001", path: "/secret/", want: http.StatusForbidden},
		{name: "another port", host: "127.0.0.1:80", path: "/secret/", want: http.StatusForbidden},
		{name: "a page elsewhere", path: "/secret/updates", header: http.Header{"Origin": {"https://evil.example"}}, want: http.StatusForbidden},
		{name: "a sandboxed frame", path: "/secret/updates", header: http.Header{"Origin": {"null"}}, want: http.StatusForbidden},
		{name: "two origins", path: "/secret/updates", header: http.Header{"Origin": {"http://127.0.0.1:8001", "https://evil.example"}},
			want: http.StatusForbidden},
		{name: "an image of a page elsewhere", path: "/secret/", header: http.Header{"Sec-Fetch-Site": {"cross-site"}}, want: http.StatusForbidden},
		{name: "a page on another port of this machine", path: "/secret/", header: http.Header{"Sec-Fetch-Site": {"same-site"}},
			want: http.StatusForbidden},
		{name: "a link of a page elsewhere", path: "/secret/", header: navigation("cross-site", "document"), want: http.StatusOK, body: "page /"},
		{name: "such a link to a question", path: "/secret/cluster", header: navigation("cross-site", "document"), want: http.StatusForbidden},
		{name: "such a link without the token", path: "/secreu/", header: navigation("cross-site", "document"), want: http.StatusNotFound},
		{name: "a form of a page elsewhere", method: http.MethodPost, path: "/secret/", header: navigation("cross-site", "document"), want: http.StatusForbidden},
		{name: "a frame of a page elsewhere", path: "/secret/", header: navigation("cross-site", "iframe"), want: http.StatusForbidden},
		{name: "without the last slash", path: "/secret", want: http.StatusFound},
		{name: "such a link without the last slash", path: "/secret", header: navigation("cross-site", "document"), want: http.StatusFound},
		{name: "another token without the last slash", path: "/secreu", want: http.StatusNotFound},
		{name: "a write", method: http.MethodPost, path: "/secret/", want: http.StatusMethodNotAllowed},
		{name: "a preflight request", method: http.MethodOptions, path: "/secret/", want: http.StatusMethodNotAllowed},
	} {
		t.Run(test.name, func(t *testing.T) {
			method, host := test.method, test.host
			if method == "" {
				method = http.MethodGet
			}
			if host == "" {
				host = g.host
			}
			r := httptest.NewRequest(method, "http://"+host+test.path, nil)
			for name, values := range test.header {
				r.Header[name] = values
			}
			answer := httptest.NewRecorder()
			g.ServeHTTP(answer, r)
			if answer.Code != test.want {
				t.Errorf("got %d: %s, want %d", answer.Code, answer.Body, test.want)
			}
			if test.body != "" && answer.Body.String() != test.body {
				t.Errorf("got %q, want %q", answer.Body, test.body)
			}
			if test.want != http.StatusOK && strings.Contains(answer.Body.String(), "page /") {
				t.Errorf("the page came with the refusal: %q", answer.Body)
			}
			for name, want := range headers {
				if got := answer.Header().Get(name); got != want {
					t.Errorf("header %s is %q, want %q", name, got, want)
				}
			}
			if got := answer.Header().Get("Access-Control-Allow-Origin"); got != "" {
				t.Errorf("another origin may read it: %q", got)
			}
		})
	}
}

// navigation is what a browser sends that opens a page by a link.
func navigation(site, destination string) http.Header {
	return http.Header{"Sec-Fetch-Site": {site}, "Sec-Fetch-Mode": {"navigate"}, "Sec-Fetch-Dest": {destination}}
}

// TestLastSlash: the page's own URLs are relative.
func TestLastSlash(t *testing.T) {
	g := &guard{host: "127.0.0.1:8001", token: "secret", page: http.NotFoundHandler()}
	answer := httptest.NewRecorder()
	g.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "http://127.0.0.1:8001/secret", nil))
	if got := answer.Header().Get("Location"); got != "/secret/" {
		t.Errorf("it leads to %q, want %q", got, "/secret/")
	}
}

// TestHostOf: a browser leaves out the port of HTTP.
func TestHostOf(t *testing.T) {
	for port, want := range map[int]string{80: "127.0.0.1", 8080: "127.0.0.1:8080"} {
		if got := hostOf(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}); got != want {
			t.Errorf("port %d: got %q, want %q", port, got, want)
		}
	}
}

// TestNoBody: a request of somebody who does not know the URL cannot hold a connection by a body that does not come.
func TestNoBody(t *testing.T) {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	web := &http.Server{Handler: &guard{host: hostOf(listener.Addr()), token: "secret", page: http.NotFoundHandler()}, ReadHeaderTimeout: time.Minute}
	go func() { _ = web.Serve(listener) }()
	defer func() { _ = web.Close() }()
	connection, err := new(net.Dialer).DialContext(t.Context(), "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close() }()
	_ = connection.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.WriteString(connection, "POST / HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 100000\r\n\r\nbegin"); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(connection)
	if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 403 ") {
		t.Errorf("got %q, %v, want a refusal and the end of the connection", answer, err)
	}
}

// TestTokens: nobody guesses one.
func TestTokens(t *testing.T) {
	a, b := newToken(), newToken()
	if a == b || len(a) != 43 || regexp.MustCompile(`[^A-Za-z0-9_-]`).MatchString(a) {
		t.Errorf("got %q and %q, want two of 256 bits that need no escapes in a URL", a, b)
	}
}

// TestFiles: each file is served with its type, and nothing else is.
func TestFiles(t *testing.T) {
	handler, err := files()
	if err != nil {
		t.Fatal(err)
	}
	get := func(path string) *httptest.ResponseRecorder {
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "http://127.0.0.1"+path, nil))
		return answer
	}
	embedded, err := fs.Glob(assets, "assets/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range embedded {
		name := strings.TrimPrefix(file, "assets/")
		if name == "index.html" {
			name = ""
		}
		content, err := fs.ReadFile(assets, file)
		if err != nil {
			t.Fatal(err)
		}
		answer := get("/" + name)
		if answer.Code != http.StatusOK || answer.Body.String() != string(content) || answer.Header().Get("Content-Type") == "" {
			t.Errorf("%s: got %d with %d bytes as %q, want the file", file, answer.Code, answer.Body.Len(), answer.Header().Get("Content-Type"))
		}
	}
	for _, path := range []string{"/assets", "/none.js", "/..%2fpage.go", "/style.css/"} {
		if answer := get(path); answer.Code != http.StatusNotFound {
			t.Errorf("%s: got %d, want none", path, answer.Code)
		}
	}
}

// TestPageIsItsOwn: the page loads nothing from elsewhere, and has no script or style in its text, which the policy would refuse.
func TestPageIsItsOwn(t *testing.T) {
	foreign := regexp.MustCompile(`(?i)(src|href|url\(|from|import)\s*=?\s*["'(]?(https?:)?//`)
	inline := regexp.MustCompile(`(?i)<script(?:[^>]*)>[^<]|<style|\son[a-z]+=|\sstyle=|innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(`)
	for name := range contentTypes {
		content, err := fs.ReadFile(assets, "assets/"+name)
		if err != nil {
			t.Fatal(err)
		}
		for _, pattern := range []*regexp.Regexp{foreign, inline} {
			if found := pattern.Find(content); found != nil {
				t.Errorf("%s has %q", name, found)
			}
		}
	}
}

// TestStatesOfThePage: the page knows every state of a cluster, in the same order, and its colour says what the exit code says.
func TestStatesOfThePage(t *testing.T) {
	content, err := fs.ReadFile(assets, "assets/view.js")
	if err != nil {
		t.Fatal(err)
	}
	list := func(text string) []string {
		var all []string
		for _, quoted := range regexp.MustCompile(`"([A-Za-z]+)"`).FindAllStringSubmatch(text, -1) {
			all = append(all, quoted[1])
		}
		return all
	}
	var want []string
	for _, s := range report.States {
		if s != report.Gone { // such a cluster has no tile
			want = append(want, string(s))
		}
	}
	order := regexp.MustCompile(`(?s)const order = \[(.*?)\]`).FindStringSubmatch(string(content))
	if order == nil {
		t.Fatal("view.js has no order")
	}
	if diff := cmp.Diff(want, list(order[1])); diff != "" {
		t.Errorf("the order of states (-status +page):\n%s", diff)
	}
	healths := map[string][]report.Health{
		"good": {report.Well}, "off": {report.Well}, "passing": {report.Passing, report.Well}, "unknown": {report.Wrong, report.Passing},
		"warning": {report.Wrong}, "bad": {report.Wrong},
	}
	var drawn []string
	for _, look := range regexp.MustCompile(`(\w+): \{ sign: "(.)", states: \[(.*?)\]`).FindAllStringSubmatch(string(content), -1) {
		for _, name := range list(look[3]) {
			drawn = append(drawn, name)
			if health := report.State(name).Health(); !slices.Contains(healths[look[1]], health) {
				t.Errorf("%s is drawn as %s, but its health is %v", name, look[1], health)
			}
		}
	}
	slices.Sort(drawn)
	slices.Sort(want)
	if diff := cmp.Diff(want, drawn); diff != "" {
		t.Errorf("the states that have a colour and a sign (-status +page):\n%s", diff)
	}
}
