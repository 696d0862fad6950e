package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// explainUsage lets the errors about arguments and flags of all commands name the command's usage, and unknown commands
// be errors.
func explainUsage(root *cobra.Command) {
	root.SetFlagErrorFunc(flagError) // the commands below inherit it
	explainArgs(root)
}

func explainArgs(cmd *cobra.Command) {
	if isGroup(cmd) {
		// without RunE, cobra would print the help for any arguments, and succeed
		cmd.Args, cmd.RunE = cobra.NoArgs, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return usageError(cmd, fmt.Errorf("%w%s", err, similar(cmd, args)))
			}
			return nil
		}
	}
	for _, child := range cmd.Commands() {
		explainArgs(child)
	}
}

// isGroup reports whether a command takes nothing but the name of one of its commands, for example ocm-sandbox fleet.
func isGroup(cmd *cobra.Command) bool { return cmd.HasSubCommands() && cmd.Use == cmd.Name() }

// similar returns the end of an error about arguments that begin with a name similar to those of cmd's commands.
func similar(cmd *cobra.Command, args []string) string {
	if len(args) == 0 {
		return ""
	}
	cmd.SuggestionsMinimumDistance = 2 // cobra's default, which it sets for its own messages alone
	names := cmd.SuggestionsFor(args[0])
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf(": did you mean %s?", strings.Join(names, " or "))
}

// flagError explains an error about a command's flags. After an unknown command it is about that: the flags are the unknown
// command's, as in ocm-sandbox upp --clusters=2.
func flagError(cmd *cobra.Command, err error) error {
	if args := cmd.Flags().Args(); cmd.HasSubCommands() && len(args) > 0 {
		if argsErr := cmd.ValidateArgs(args); argsErr != nil {
			return argsErr
		}
	}
	return usageError(cmd, err)
}

// usageError adds a command's usage to an error about its arguments or flags.
func usageError(cmd *cobra.Command, err error) error {
	usage := cmd.UseLine()
	if isGroup(cmd) {
		usage = cmd.CommandPath() + " COMMAND"
	}
	return fmt.Errorf("%w\nusage: %s\nsee %s --help", err, usage, cmd.CommandPath())
}
