//go:build sandbox

package node

import (
	"archive/tar"
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// tarProgram is the name under which this test program is the image's tar.
const tarProgram = "tar"

// toolMain are the programs that tests run beside a pod's own: cat, both (writes to both
// outputs), terminal, flood (writes without end), sleep SECONDS, ask URL (fails unless the answer is 200), tick.
func toolMain(command, arg string) int {
	switch command {
	case "cat":
		_, err := io.Copy(os.Stdout, os.Stdin)
		return exitOf(err)
	case "both":
		fmt.Println("to stdout")
		fmt.Fprintln(os.Stderr, "to stderr")
		return 0
	case "flood":
		for page := make([]byte, 1<<16); ; {
			if _, err := os.Stdout.Write(page); err != nil {
				return exitOf(err)
			}
		}
	case "terminal":
		return describeTerminal()
	case "sleep":
		seconds, err := strconv.Atoi(arg)
		time.Sleep(time.Duration(seconds) * time.Second)
		return exitOf(err)
	case "ask":
		return exitOf(ask(arg))
	case "tick":
		for i := 0; ; i++ {
			fmt.Println("tick", i)
			time.Sleep(100 * time.Millisecond)
		}
	}
	return 2
}

func ask(url string) error {
	client := http.Client{Timeout: 2 * time.Second}
	response, err := client.Get(url)
	if err != nil {
		return err
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return errors.New(response.Status)
	}
	return nil
}

func exitOf(err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// describeTerminal prints the terminal's name and size for each line of input, and fails
// with 5 at its end.
func describeTerminal() int {
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		size, err := unix.IoctlGetWinsize(1, unix.TIOCGWINSZ)
		if err != nil {
			return exitOf(err)
		}
		name, _ := os.Readlink("/proc/self/fd/0")
		fmt.Printf("%s is %dx%d\n", name, size.Col, size.Row)
	}
	return 5
}

// tarMain does what kubectl cp asks of tar: cf - PATH, and -xmf - -C DIRECTORY with any
// further flags.
func tarMain(args []string) int {
	if len(args) == 3 && args[0] == "cf" && args[1] == "-" {
		return exitOf(pack(args[2], os.Stdout))
	}
	if n := len(args); n > 2 && args[n-2] == "-C" {
		return exitOf(unpack(os.Stdin, args[n-1]))
	}
	return exitOf(fmt.Errorf("tar %v is not what kubectl cp runs", args))
}

func pack(path string, to io.Writer) error {
	out := tar.NewWriter(to)
	err := filepath.WalkDir(path, func(at string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		header, err := tar.FileInfoHeader(info, "")
		if err != nil {
			return err
		}
		header.Name = strings.TrimPrefix(at, "/")
		if err := out.WriteHeader(header); err != nil || entry.IsDir() {
			return err
		}
		file, err := os.Open(at)
		if err != nil {
			return err
		}
		defer file.Close()
		_, err = io.Copy(out, file)
		return err
	})
	return errors.Join(err, out.Close())
}

func unpack(from io.Reader, dir string) error {
	for in := tar.NewReader(from); ; {
		header, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		at := filepath.Join(dir, header.Name)
		if header.Typeflag == tar.TypeDir {
			if err := os.MkdirAll(at, 0o755); err != nil {
				return err
			}
			continue
		}
		file, err := os.Create(at)
		if err != nil {
			return err
		}
		if _, err := io.Copy(file, in); err != nil {
			return err
		}
		if err := file.Close(); err != nil {
			return err
		}
	}
}
