package launcher

import (
	"fmt"
	"os/exec"
	"strings"
	"time"

	"open-cluster-management.io/helloworld-addon/sandbox/control"
	"open-cluster-management.io/helloworld-addon/sandbox/fleet"
	"open-cluster-management.io/helloworld-addon/sandbox/supervisor"
)

// The defaults of a fleet.
const (
	// DefaultCuttable is the largest number of clusters that can be cut off by default. Each
	// needs a listener and relayed connections.
	DefaultCuttable = 500
	// DefaultReadyAfter is about the time after which a Deployment with one pod is available
	// on a real cluster of the sandbox.
	DefaultReadyAfter = time.Second
	// DefaultHubQPS lets a thousand clusters join in minutes. With OCM's own default, 50, its
	// managers are the limit.
	DefaultHubQPS = 400
)

func validateFleet(f supervisor.Fleet) []error {
	var problems []error
	if f.Clusters < 0 || f.Clusters > fleet.MaxClusters {
		problems = append(problems, fmt.Errorf("--fleet=%d: a fleet has 1 to %d clusters (0: none)", f.Clusters, fleet.MaxClusters))
	}
	if f.Cuttable < 0 || f.Cuttable > f.Clusters {
		problems = append(problems, fmt.Errorf("--fleet-cuttable=%d: give 0 to %d, the number of the fleet's clusters", f.Cuttable, f.Clusters))
	}
	if len(problems) == 0 {
		if err := control.CheckDescriptors(f.Clusters, f.Cuttable); err != nil {
			problems = append(problems, fmt.Errorf("--fleet=%d: %w", f.Clusters, err))
		}
	}
	if words := strings.Fields(f.Agents); len(words) > 0 {
		if _, err := exec.LookPath(words[0]); err != nil {
			problems = append(problems, fmt.Errorf("--fleet-agents: %w: build it first", err))
		}
		if f.Clusters == 0 {
			problems = append(problems, fmt.Errorf("--fleet-agents=%s: there is no fleet without --fleet", f.Agents))
		}
	}
	if f.ReadyAfter < 0 {
		problems = append(problems, fmt.Errorf("--fleet-ready-after=%s: give 0 or more", f.ReadyAfter))
	}
	if f.HubQPS < 0 {
		problems = append(problems, fmt.Errorf("--hub-qps=%d: give 0 or more", f.HubQPS))
	}
	return problems
}

// fleetArgs returns the flags of the supervisor about the fleet.
func fleetArgs(f supervisor.Fleet) []string {
	return []string{
		fmt.Sprintf("--fleet=%d", f.Clusters), fmt.Sprintf("--fleet-cuttable=%d", f.Cuttable), "--fleet-agents=" + f.Agents,
		"--fleet-ready-after=" + f.ReadyAfter.String(), "--fleet-broken-image=" + f.BrokenImage, fmt.Sprintf("--hub-qps=%d", f.HubQPS),
	}
}
