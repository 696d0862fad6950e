package dirlock

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"testing"
	"time"
)

func TestLockWaitsForItsHolder(t *testing.T) {
	dir := t.TempDir()
	told := 0
	waiting := func() { told++ }
	unlock, err := Lock(t.Context(), dir, waiting)
	if err != nil || told != 0 {
		t.Fatalf("a free lock: %v, told %d times that it waits", err, told)
	}
	short, cancel := context.WithTimeout(t.Context(), poll+poll/2)
	defer cancel()
	if _, err := Lock(short, dir, waiting); !errors.Is(err, context.DeadlineExceeded) || told != 1 {
		t.Errorf("a second lock: %v, told %d times that it waits, want that the wait ends with its context, and once", err, told)
	}
	time.AfterFunc(poll/2, unlock)
	unlock, err = Lock(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}

func TestLockOfAMissingDirectory(t *testing.T) {
	if _, err := Lock(t.Context(), filepath.Join(t.TempDir(), "missing"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Lock = %v", err)
	}
}
