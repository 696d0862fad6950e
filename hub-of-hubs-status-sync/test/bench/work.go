package bench

import (
	"fmt"
	"time"
)

// work is the time that the processes have run. On a machine that does something else it says more than the time that
// went by.
type work struct {
	sync, database, apiServer time.Duration
}

// work reads the processes' times; those that do not run have none.
func (b *bench) work() (w work, err error) {
	if b.sync != nil {
		if w.sync, err = cpu(b.sync.command.Process.Pid); err != nil {
			return w, err
		}
	}
	if w.database, err = cpuOfFamily(b.server.PID()); err != nil {
		return w, err
	}
	pid, err := childNamed("kube-apiserver")
	if err != nil || pid == 0 {
		return w, err
	}
	w.apiServer, err = cpu(pid)
	return w, err
}

// since returns how long the processes have run since then.
func (b *bench) since(before work) (string, error) {
	now, err := b.work()
	return fmt.Sprintf("CPU of sync %s, database %s, API server %s", round(now.sync-before.sync),
		round(now.database-before.database), round(now.apiServer-before.apiServer)), err
}
