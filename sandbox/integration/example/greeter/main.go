// Command greeter is the agent of the example's add-on. It greets, and waits.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM)
	_, _ = os.Stdout.WriteString("hello from " + os.Getenv("CLUSTER") + "\n")
	<-ended
}
