package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"open-cluster-management.io/helloworld-addon/test/fleet/record"
)

func TestRun(t *testing.T) {
	dir := t.TempDir()
	save := func(name string, r *record.Record) string {
		file, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if err := r.Write(file); err != nil {
			t.Fatal(err)
		}
		return file.Name()
	}
	figure := record.Figure{Step: record.Enable, Metric: record.EnableRequests, Stat: record.All, Unit: "requests", Value: 12}
	small, large := &record.Record{Size: 5}, &record.Record{Size: 20}
	small.Judge(figure, record.AtMost(12))
	figure.Value = 9
	large.Judge(figure, record.AtMost(12))
	good := save("good.json", small)
	grown := save("grown.json", large)
	large.Fail(record.Idle, os.ErrClosed)
	failed := save("failed.json", large)

	if err := run([]string{"--check", good}, io.Discard); err != nil {
		t.Errorf("a run that reaches its aims: %v", err)
	}
	for name, args := range map[string][]string{
		"aims were missed": {"--check", failed}, "largest by smallest": {"--check", good, grown}, "name the JSON": nil,
		"no such file": {filepath.Join(dir, "none.json")},
	} {
		if err := run(args, io.Discard); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v: got %v, want %q", args, err, name)
		}
	}

	page := filepath.Join(dir, "page.md")
	old := filepath.Join(dir, "page", "old.svg")
	if err := os.MkdirAll(filepath.Dir(old), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{old: "", page: "# A page\n<!-- made by fleet-report: begin -->\n<!-- made by fleet-report: end -->\n"} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := run([]string{"--page=" + page, good, grown}, io.Discard); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(content), "](page/enable-requests.svg)") {
		t.Errorf("the page links no chart:\n%s", content)
	}
	if _, err := os.Stat(filepath.Join(dir, "page", "enable-requests.svg")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(old); err == nil {
		t.Error("a chart of an earlier page is still there")
	}
}
