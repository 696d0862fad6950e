package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// explainUsage lets the errors about arguments and flags of all commands name the command's usage.
func explainUsage(root *cobra.Command) {
	root.SetFlagErrorFunc(usageError) // the commands below inherit it
	explainArgs(root)
}

func explainArgs(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return usageError(cmd, err)
			}
			return nil
		}
	}
	for _, child := range cmd.Commands() {
		explainArgs(child)
	}
}

// usageError adds a command's usage to an error about its arguments or flags.
func usageError(cmd *cobra.Command, err error) error {
	return fmt.Errorf("%w\nusage: %s\nsee %s --help", err, cmd.UseLine(), cmd.CommandPath())
}
