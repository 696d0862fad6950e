package procfs

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestTree(t *testing.T) {
	// cat answers only when it has started whole: its memory stays the same then.
	child := exec.Command("cat")
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = child.Wait() }()
	defer func() { _ = in.Close() }()
	if _, err := io.WriteString(in, "\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	tree, err := Tree(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	self := filepath.Base(os.Args[0])
	if tree["cat"].RSS <= 0 || tree[self].RSS <= 0 {
		t.Errorf("the tree has not this process, %s, and its child: %v", self, tree)
	}
	if alone, err := Of(child.Process.Pid); err != nil || alone.RSS != tree["cat"].RSS {
		t.Errorf("the child alone uses %v (%v), the tree %v", alone, err, tree["cat"])
	}
	if below, err := Tree(child.Process.Pid); err != nil || len(below) != 1 {
		t.Errorf("the child has no children: %v, %v", below, err)
	}
}
