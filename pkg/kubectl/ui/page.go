package ui

import (
	"crypto/rand"
	"crypto/subtle"
	"embed"
	"encoding/base64"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"strings"
	"time"
)

//go:embed assets
var assets embed.FS

// contentTypes are those of the page's files. A file that is not listed is not served.
var contentTypes = map[string]string{
	"index.html": "text/html; charset=utf-8", "icon.svg": "image/svg+xml", "style.css": "text/css; charset=utf-8",
	"app.js": "text/javascript; charset=utf-8", "view.js": "text/javascript; charset=utf-8", "dom.js": "text/javascript; charset=utf-8", "panel.js": "text/javascript; charset=utf-8",
}

// headers are those of every answer, errors too. The policy allows the page's own files alone, and no script in its text.
// https://owasp.org/www-project-secure-headers/
var headers = map[string]string{
	"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
	"Cache-Control": "no-store", "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
	"Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
}

// newToken returns a secret of 256 bits for a URL.
func newToken() string {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // it never fails: https://pkg.go.dev/crypto/rand#Read
	return base64.RawURLEncoding.EncodeToString(secret)
}

// guard serves a page to the person who has its URL, and to nobody else on the machine or in the browser: the URL has a token, and a
// request of another web page is refused. https://cheatsheetseries.owasp.org/cheatsheets/Cross-Site_Request_Forgery_Prevention_Cheat_Sheet.html
type guard struct {
	// host is the address of the server, with its port unless that is 80. A browser that was tricked by DNS sends another name.
	host, token string
	page        http.Handler
}

func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for name, value := range headers {
		w.Header().Set(name, value)
	}
	if r.ContentLength != 0 {
		// No request of the page has a body. The server would wait for it before it ends the connection.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now()) //nolint:forbidigo // the connection's clock
	}
	token, path, below := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch {
	case r.Host != g.host:
		http.Error(w, "this server is "+g.host+" and has no other name", http.StatusForbidden)
	case !isOwn(r, "http://"+g.host) && !(path == "" && isLink(r)):
		http.Error(w, "another web page may not use this one", http.StatusForbidden)
	case subtle.ConstantTimeCompare([]byte(token), []byte(g.token)) != 1:
		http.Error(w, "not found: open the URL that kubectl helloworld ui printed", http.StatusNotFound)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "the page is read only", http.StatusMethodNotAllowed)
	case !below:
		http.Redirect(w, r, "/"+g.token+"/", http.StatusFound)
	default:
		r.URL.Path = "/" + path
		g.page.ServeHTTP(w, r)
	}
}

// hostOf returns the address of the server as browsers send it: without the port of HTTP.
func hostOf(address net.Addr) string { return strings.TrimSuffix(address.String(), ":80") }

// isOwn reports whether a request comes from this page, or from the address bar. A browser sends Sec-Fetch-Site with each request, and
// Origin with some. https://developer.mozilla.org/en-US/docs/Web/HTTP/Reference/Headers/Sec-Fetch-Site
func isOwn(r *http.Request, origin string) bool {
	if sent := r.Header.Values("Origin"); len(sent) > 1 || len(sent) == 1 && sent[0] != origin {
		return false
	}
	site := r.Header.Get("Sec-Fetch-Site")
	return site == "" || site == "same-origin" || site == "none"
}

// isLink reports whether a person followed a link to here, for example from a terminal in a web page. A page that has the URL shows it
// as a page of its own then, and the other one sees nothing of it.
func isLink(r *http.Request) bool {
	return r.Method == http.MethodGet && r.Header.Get("Origin") == "" &&
		r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
}

// files serves the embedded files.
func files() (http.Handler, error) {
	root, err := fs.Sub(assets, "assets")
	if err != nil {
		return nil, fmt.Errorf("read the page's files: %w", err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/")
		if name == "" {
			name = "index.html"
		}
		kind, ok := contentTypes[name]
		if !ok {
			http.Error(w, "not found", http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", kind)
		http.ServeFileFS(w, r, root, name)
	}), nil
}
