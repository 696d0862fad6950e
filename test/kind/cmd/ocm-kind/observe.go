package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"open-cluster-management.io/helloworld-addon/test/kind/clusters"
	"open-cluster-management.io/helloworld-addon/test/kind/inventory"
)

// settle is how long a comparison waits for the difference to go: what is
// deleted takes a while to be gone.
const settle = 90 * time.Second

func logsCommand(options *clusters.Options) *cobra.Command {
	return &cobra.Command{
		Use:   "logs DIRECTORY",
		Short: "Collect the logs of the clusters' nodes and of everything on them",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			set, names, err := openStarted(cmd.Context(), options)
			if err != nil {
				return err
			}
			var errs []error
			for _, name := range names {
				errs = append(errs, set.CollectLogs(name, filepath.Join(args[0], name)))
			}
			return errors.Join(errs...)
		},
	}
}

func inventoryCommand(options *clusters.Options) *cobra.Command {
	var compare bool
	cmd := &cobra.Command{
		Use:   "inventory FILE",
		Short: "Write down the objects of all clusters, or compare them with what was written down",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, names, err := openStarted(cmd.Context(), options)
			if err != nil {
				return err
			}
			if compare {
				return compareInventory(cmd.Context(), options, names, args[0])
			}
			lists, err := listAll(cmd.Context(), options, names)
			if err != nil {
				return err
			}
			text, err := json.MarshalIndent(lists, "", "  ")
			if err != nil {
				return fmt.Errorf("encode the inventory: %w", err)
			}
			if err := os.WriteFile(args[0], text, 0o600); err != nil {
				return fmt.Errorf("write the inventory: %w", err)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&compare, "compare", false, "fail when the objects are not those in FILE")
	return cmd
}

func listAll(ctx context.Context, options *clusters.Options, names []string) (map[string][]string, error) {
	lists := map[string][]string{}
	for _, name := range names {
		list, err := inventory.List(ctx, options.Kubeconfig(name))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		lists[name] = list
	}
	return lists, nil
}

func compareInventory(ctx context.Context, options *clusters.Options, names []string, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the inventory: %w", err)
	}
	before := map[string][]string{}
	if err := json.Unmarshal(text, &before); err != nil {
		return fmt.Errorf("read the inventory %s: %w", file, err)
	}
	deadline := time.After(settle)
	for {
		now, err := listAll(ctx, options, names)
		if err != nil {
			return err
		}
		difference := differences(names, before, now)
		if difference == "" {
			options.Progress.Say("all clusters have the objects that they had before, and no others")
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-deadline:
			return fmt.Errorf("the clusters are not as they were before:\n%s", difference)
		case <-time.After(2 * time.Second):
		}
	}
}

func differences(names []string, before, now map[string][]string) string {
	var all string
	for _, name := range names {
		if difference := inventory.Difference(before[name], now[name]); difference != "" {
			all += name + ":\n" + difference
		}
	}
	return all
}
