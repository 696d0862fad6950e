package build

import (
	"strings"
	"testing"
)

func TestLinkFlagsStampTheVersion(t *testing.T) {
	got := linkFlags("v1.34.4")
	for _, want := range []string{"gitVersion=v1.34.4", "gitMajor=1", "gitMinor=34"} {
		if !strings.Contains(got, "-X k8s.io/component-base/version."+want) {
			t.Errorf("linkFlags = %q, without %s", got, want)
		}
	}
}

func TestAnUnknownProgramIsNamed(t *testing.T) {
	err := Programs(t.Context(), Options{Module: t.TempDir(), Out: t.TempDir(), Only: []string{"kubectl", "kubeclt"}})
	if err == nil || !strings.Contains(err.Error(), "kubeclt") || strings.Contains(err.Error(), "kubectl") {
		t.Errorf("Programs = %v, want one that names kubeclt alone", err)
	}
}

func TestCurrent(t *testing.T) {
	b := &builder{Options: Options{Out: t.TempDir()}, fingerprint: "a"}
	if b.current("etcd") {
		t.Error("a program that was never built is current")
	}
	write(t, b.stamp("etcd"), "a")
	if b.current("etcd") {
		t.Error("a stamp without its program is current")
	}
	write(t, b.Out+"/etcd", "program")
	if !b.current("etcd") {
		t.Error("a program with its stamp is not current")
	}
	b.fingerprint = "b"
	if b.current("etcd") {
		t.Error("a program built from something else is current")
	}
}
