package container

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// probeName is the name of the program in the containers of the tests.
	probeName = "probe"
	probePort = 8443
)

// seen is what a program in a container sees.
type seen struct {
	PID, UID, GID int
	Groups        []int
	Hostname, Dir string
	Env           []string
	// Status are lines of /proc/self/status.
	Status map[string]string
	// Addresses of the interfaces.
	Addresses []string
	// Files has the content of each file that was asked for, or the error.
	Files map[string]string
	// Writable tells for each directory that was asked for whether a file can
	// be made in it.
	Writable map[string]bool
	// Lists are the names in each directory that was asked for.
	Lists map[string][]string
}

// probe runs in a container and returns its exit code.
func probe(args []string) int {
	switch args[0] {
	case "look":
		err := json.NewEncoder(os.Stdout).Encode(look(args[1:]))
		return failed(err)
	case "exit":
		code, err := strconv.Atoi(args[1])
		return max(code, failed(err))
	case "print":
		_, err := fmt.Print(strings.Repeat(args[1], 100_000))
		return failed(err)
	case "listen":
		_, err := net.Listen("tcp4", fmt.Sprintf("0.0.0.0:%d", probePort))
		if err != nil {
			return failed(err)
		}
		fmt.Println("listening")
	case "dial":
		conn, err := net.DialTimeout("tcp4", args[1], 5*time.Second)
		if err == nil {
			conn.Close()
		}
		return failed(err)
	case "parent":
		child := exec.Command("/proc/self/exe")
		child.Args = []string{probeName, "wait"}
		if err := child.Start(); err != nil {
			return failed(err)
		}
		fmt.Println("started")
	case "busy":
		child := exec.Command("/proc/self/exe")
		child.Args = []string{probeName, "spin"}
		if err := child.Run(); err != nil {
			return failed(err)
		}
		fmt.Println("child ended")
	case "spin":
		for end := time.Now().Add(time.Minute); time.Now().Before(end); {
			var used unix.Rusage
			if unix.Getrusage(unix.RUSAGE_SELF, &used) == nil && used.Utime.Nano()+used.Stime.Nano() > int64(300*time.Millisecond) {
				return 0
			}
		}
		return 1
	case "cat":
		_, err := io.Copy(os.Stdout, os.Stdin)
		fmt.Fprint(os.Stderr, "copied")
		return failed(err)
	case "terminal":
		return terminal()
	case "handle":
		signals := make(chan os.Signal, 1)
		signal.Notify(signals, syscall.SIGTERM)
		fmt.Println("ready")
		<-signals
		return 7
	}
	for {
		time.Sleep(time.Hour)
	}
}

// terminal prints what terminal the program has, and again for each line of input.
func terminal() int {
	for lines := bufio.NewScanner(os.Stdin); ; {
		size, err := unix.IoctlGetWinsize(1, unix.TIOCGWINSZ)
		if err != nil {
			return failed(err)
		}
		name, _ := os.Readlink("/proc/self/fd/0")
		for _, file := range []string{name, "/dev/tty"} { // the user's own, and the controlling one
			if !openable(file, unix.O_RDWR) {
				return failed(fmt.Errorf("%s cannot be opened", file))
			}
		}
		fmt.Printf("%s %dx%d TERM=%s\n", name, size.Col, size.Row, os.Getenv("TERM"))
		if !lines.Scan() {
			return 3
		}
	}
}

func failed(err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// look looks at what is asked for: a file's path, or a directory's after
// "write:" or "list:".
func look(asked []string) seen {
	s := seen{
		PID: os.Getpid(), UID: os.Getuid(), GID: os.Getgid(), Env: os.Environ(),
		Status: map[string]string{}, Files: map[string]string{}, Writable: map[string]bool{}, Lists: map[string][]string{},
	}
	s.Groups, _ = os.Getgroups()
	s.Hostname, _ = os.Hostname()
	s.Dir, _ = os.Getwd()
	addrs, _ := net.InterfaceAddrs()
	for _, addr := range addrs {
		if ip := addr.(*net.IPNet).IP; ip.To4() != nil {
			s.Addresses = append(s.Addresses, addr.String())
		}
	}
	slices.Sort(s.Addresses)
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		if strings.HasPrefix(name, "Cap") || name == "NoNewPrivs" {
			s.Status[name] = strings.TrimSpace(value)
		}
	}
	for _, ask := range asked {
		kind, at, found := strings.Cut(ask, ":")
		switch {
		case !found:
			content, err := os.ReadFile(ask)
			if err != nil {
				content = []byte(err.Error())
			}
			s.Files[ask] = string(content)
		case kind == "write":
			s.Writable[at] = writable(at)
		case kind == "list":
			entries, _ := os.ReadDir(at)
			for _, entry := range entries {
				s.Lists[at] = append(s.Lists[at], entry.Name())
			}
		}
	}
	return s
}

// writable tries to make a file in a directory, or to open a file for writing.
func writable(at string) bool {
	if info, err := os.Stat(at); err == nil && !info.IsDir() {
		return openable(at, unix.O_WRONLY)
	}
	return openable(at+"/made-by-"+probeName, unix.O_WRONLY|unix.O_CREAT)
}

func openable(at string, flags int) bool {
	fd, err := unix.Open(at, flags|unix.O_CLOEXEC, 0o600)
	if err == nil {
		unix.Close(fd)
	}
	return err == nil
}
