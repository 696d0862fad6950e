package status

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
)

// completionTimeout is how long a shell waits for names.
const completionTimeout = 3 * time.Second

// CompleteClusters returns the completion of the names of ManagedClusters.
func CompleteClusters(config genericclioptions.RESTClientGetter) cobra.CompletionFunc {
	return func(command *cobra.Command, args []string, begin string) ([]cobra.Completion, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(command.Context(), completionTimeout)
		defer cancel()
		names, err := clusterNames(ctx, config)
		if err != nil {
			cobra.CompErrorln(err.Error())
			return nil, cobra.ShellCompDirectiveError
		}
		var matching []cobra.Completion
		for _, name := range names {
			if strings.HasPrefix(name, begin) && !slices.Contains(args, name) {
				matching = append(matching, name)
			}
		}
		return matching, cobra.ShellCompDirectiveNoFileComp
	}
}

// clusterNames returns the names of all ManagedClusters, sorted.
func clusterNames(ctx context.Context, config genericclioptions.RESTClientGetter) ([]string, error) {
	restConfig, err := config.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	h, err := newHub(restConfig)
	if err != nil {
		return nil, err
	}
	entries, _, _, err := h.list(ctx, resourcesFor("")[clusters])
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.cluster)
	}
	slices.Sort(names)
	return names, nil
}
