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
	waits := 0
	waiting := func() { waits++ }
	unlock, err := Lock(t.Context(), dir, waiting)
	if err != nil || waits != 0 {
		t.Fatalf("a free lock: %v, waited %d times", err, waits)
	}
	short, cancel := context.WithTimeout(t.Context(), poll+poll/2)
	defer cancel()
	if _, err := Lock(short, dir, waiting); !errors.Is(err, context.DeadlineExceeded) || waits != 1 {
		t.Errorf("a second lock: %v, waited %d times, want once, until its context ended", err, waits)
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
