package launcher

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Environment returns the variables, each NAME=VALUE, by which a command finds the sandbox's clusters:
// KUBECONFIG has all as contexts, and HUB_KUBECONFIG, CLUSTER1_KUBECONFIG and so on have one each.
// SANDBOX_DIR is for other calls of ocm-sandbox. OCM_SANDBOX_USE and OCM_SANDBOX, the program self, let tests that use
// package sandboxtest share this sandbox. PATH ends with the programs' directory, which has a kubectl.
func Environment(dir, self, programs, path string, clusters []string) []string {
	variables := []string{"SANDBOX_DIR=" + dir, "OCM_SANDBOX_USE=" + dir, "OCM_SANDBOX=" + self, "KUBECONFIG=" + filepath.Join(dir, "kubeconfig")}
	for _, cluster := range clusters {
		name := strings.ToUpper(strings.ReplaceAll(cluster, "-", "_"))
		variables = append(variables, fmt.Sprintf("%s_KUBECONFIG=%s.kubeconfig", name, filepath.Join(dir, cluster)))
	}
	if elements := filepath.SplitList(path); !slices.Contains(elements, programs) {
		path = strings.Join(append(elements, programs), string(os.PathListSeparator))
	}
	return append(variables, "PATH="+path)
}
