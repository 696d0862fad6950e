package node

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// The bounds of a termination message, which are kubelet's: bytes of the file,
// and lines and bytes of the log that stands in for it.
const (
	terminationBytes     = 4096
	terminationLogBytes  = 2048
	terminationLogLines  = 80
	terminationFileMode  = 0o666
	terminationFileInPod = "termination-log"
)

// makeTerminationFile makes the file that a container may write its last words to.
func makeTerminationFile(dir string) (string, error) {
	path := filepath.Join(dir, terminationFileInPod)
	if err := os.WriteFile(path, nil, terminationFileMode); err != nil {
		return "", fmt.Errorf("create the termination message file: %w", err)
	}
	if err := os.Chmod(path, terminationFileMode); err != nil {
		return "", fmt.Errorf("open the termination message file to the pod's users: %w", err)
	}
	return path, nil
}

// terminationMessage is what a container left behind: its termination file, or
// the end of its log where its policy says so and the run failed.
func terminationMessage(c corev1.Container, file, log string, failed bool) string {
	message := readEnd(file, terminationBytes)
	if message != "" || !failed || c.TerminationMessagePolicy != corev1.TerminationMessageFallbackToLogsOnError {
		return message
	}
	return lastLines(readEnd(log, 2*terminationLogBytes), terminationLogLines, terminationLogBytes)
}

// lastLines are the texts of the last records of a log.
func lastLines(log string, lines, bytes int) string {
	records := strings.Split(strings.TrimSuffix(log, "\n"), "\n")
	var texts []string
	size := 0
	for i := len(records) - 1; i >= 0 && len(texts) < lines; i-- {
		record, err := parseRecord(records[i])
		if err != nil || size+len(record.Text)+1 > bytes {
			break
		}
		size += len(record.Text) + 1
		texts = append([]string{record.Text}, texts...)
	}
	return strings.Join(texts, "\n")
}

// readEnd is the end of a file, empty when there is none.
func readEnd(path string, bytes int64) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	if size, err := f.Seek(0, io.SeekEnd); err == nil {
		_, _ = f.Seek(max(size-bytes, 0), io.SeekStart)
	}
	content, err := io.ReadAll(io.LimitReader(f, bytes))
	if err != nil {
		return ""
	}
	return string(content)
}
