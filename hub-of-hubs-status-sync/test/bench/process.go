package bench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// ticksPerSecond is the unit of the times in /proc on Linux (USER_HZ).
const ticksPerSecond = 100

// syncProgram is the status sync as a process of its own.
type syncProgram struct {
	command *exec.Cmd
	metrics string
	// log is the file with its log.
	log string
}

func startSync(ctx context.Context, options *Options, kubeconfig, databaseURL, dir string, port int) (*syncProgram, error) {
	log, err := os.Create(filepath.Join(dir, "sync.log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	address := fmt.Sprintf("127.0.0.1:%d", port)
	command := exec.CommandContext(ctx, options.Sync, "--kubeconfig="+kubeconfig, "--leader-elect=false",
		// no heartbeats while it is measured; the duration of each scan is logged at this verbosity
		"--stale-after=24h", "--v=2",
		"--metrics-bind-address="+address, "--metrics-secure=false", "--health-probe-bind-address=0")
	command.Env = append(os.Environ(), "DATABASE_URL="+databaseURL)
	command.Stdout, command.Stderr = log, log
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = 30 * time.Second
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", options.Sync, err)
	}
	return &syncProgram{command: command, metrics: "http://" + address + "/metrics", log: log.Name()}, nil
}

// stop ends the program.
func (p *syncProgram) stop() {
	_ = p.command.Process.Signal(syscall.SIGTERM)
	_ = p.command.Wait()
}

// scanned is the log's line after a scan of a database that was not migrated.
var scanned = regexp.MustCompile(`Scanned all objects.*duration="?([0-9a-zµ.]+)`)

// scanTimes returns the durations of the scans until now.
func (p *syncProgram) scanTimes() ([]time.Duration, error) {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return nil, err
	}
	var times []time.Duration
	for _, found := range scanned.FindAllStringSubmatch(string(text), -1) {
		d, err := time.ParseDuration(found[1])
		if err != nil {
			return nil, err
		}
		times = append(times, d)
	}
	return times, nil
}

// sum adds the values of a metric with all its labels.
func (p *syncProgram) sum(ctx context.Context, name string) (float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.metrics, nil)
	if err != nil {
		return 0, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, fmt.Errorf("read the metrics of the status sync: %w", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	total := 0.0
	for _, metric := range families[name].GetMetric() {
		total += metric.GetCounter().GetValue() + metric.GetGauge().GetValue()
	}
	return total, nil
}

// processTimes are the fields of /proc/PID/stat behind the program's name.
func processTimes(pid int) ([]string, error) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil, err
	}
	return strings.Fields(string(content[bytes.LastIndexByte(content, ')')+1:])), nil
}

// ticks adds fields of /proc/PID/stat; the first behind the name is the third of the file.
func ticks(fields []string, numbers ...int) time.Duration {
	total := 0
	for _, number := range numbers {
		value, err := strconv.Atoi(fields[number-3])
		if err == nil {
			total += value
		}
	}
	return time.Duration(total) * time.Second / ticksPerSecond
}

// cpu is the time that a process has run.
func cpu(pid int) (time.Duration, error) {
	fields, err := processTimes(pid)
	if err != nil {
		return 0, err
	}
	return ticks(fields, 14, 15), nil
}

// cpuOfFamily is the time that a process and its children have run, those that have ended included.
func cpuOfFamily(pid int) (time.Duration, error) {
	fields, err := processTimes(pid)
	if err != nil {
		return 0, err
	}
	total := ticks(fields, 14, 15, 16, 17)
	children, err := childrenOf(pid)
	if err != nil {
		return 0, err
	}
	for _, child := range children {
		if fields, err := processTimes(child); err == nil {
			total += ticks(fields, 14, 15)
		}
	}
	return total, nil
}

// childrenOf are the processes that a process has started and that have not ended.
func childrenOf(pid int) ([]int, error) {
	all, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	var children []int
	for _, file := range all {
		child, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			continue
		}
		if fields, err := processTimes(child); err == nil && fields[1] == strconv.Itoa(pid) {
			children = append(children, child)
		}
	}
	return children, nil
}

// childNamed is the process id of this process's child of a name, 0 when there is none.
func childNamed(name string) (int, error) {
	all, err := filepath.Glob("/proc/[0-9]*/comm")
	if err != nil {
		return 0, err
	}
	for _, file := range all {
		content, err := os.ReadFile(file)
		if err != nil || strings.TrimSpace(string(content)) != name {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			continue
		}
		fields, err := processTimes(pid)
		if err == nil && fields[1] == strconv.Itoa(os.Getpid()) {
			return pid, nil
		}
	}
	return 0, nil
}
