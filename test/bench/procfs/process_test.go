package procfs

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestTree(t *testing.T) {
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = child.Wait() }()
	defer func() { _ = child.Process.Kill() }()
	tree, err := Tree(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	self := filepath.Base(os.Args[0])
	if tree["sleep"].RSS <= 0 || tree[self].RSS <= 0 {
		t.Errorf("the tree has not this process, %s, and its child: %v", self, tree)
	}
	if alone, err := Of(child.Process.Pid); err != nil || alone.RSS > tree["sleep"].RSS {
		t.Errorf("the child alone uses %v (%v), the tree %v", alone, err, tree["sleep"])
	}
	if below, err := Tree(child.Process.Pid); err != nil || len(below) != 1 {
		t.Errorf("the child has no children: %v, %v", below, err)
	}
}
