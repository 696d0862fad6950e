package measure

import "github.com/spf13/pflag"

// AddFlags adds a flag for each option, with the present value as default.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringSliceVar(&o.Subjects, "subjects", o.Subjects, "what to measure: floor, ours, rival")
	flags.IntVar(&o.Changes, "changes", o.Changes, "changes of one ConfigMap, one after the other")
	flags.IntVar(&o.Deletions, "deletions", o.Deletions, "deletions, one after the other")
	flags.IntVar(&o.Others, "others", o.Others, "further ConfigMaps for the second round of changes, the first idle time and the restart")
	flags.IntVar(&o.Deleted, "deleted", o.Deleted, "ConfigMaps deleted while the agent is down")
	flags.IntVar(&o.Bulk, "bulk", o.Bulk, "ConfigMaps created at once")
	flags.IntVar(&o.Many, "many", o.Many, "ConfigMaps for the second idle time")
	flags.DurationVar(&o.Idle, "idle", o.Idle, "how long nothing happens")
	flags.DurationVar(&o.Settle, "settle", o.Settle, "how long nothing happens before that")
	flags.DurationVar(&o.Patience, "patience", o.Patience, "bound of the wait for one copy")
	flags.DurationVar(&o.Limit, "limit", o.Limit, "bound of the wait for many copies")
	flags.StringVar(&o.Sandbox, "sandbox", "", "the command that drives a sandbox, with its flags but --dir")
	flags.StringVar(&o.Kubectl, "kubectl", "bin/sandbox/kubectl", "the kubectl that is used")
	flags.StringVar(&o.Deploy, "deploy", "deploy", "directory of the add-on's manifests")
	flags.StringVar(&o.Image, "image", "", "the add-on's image")
	flags.StringVar(&o.ImageRoot, "image-root", "bin/image", "directory laid out like the add-on's image")
	flags.StringVar(&o.FloorRoot, "floor-root", "bin/bench/floor", "directory laid out like an image with the floor's program")
	flags.StringVar(&o.RivalRoot, "rival-root", "bin/bench/rival", "directory laid out like the rival's image")
	flags.StringVar(&o.RivalDeploy, "rival-deploy", "", "directory of the rival's manifests")
	flags.StringVar(&o.JSON, "json", "", "file for the rows")
}
