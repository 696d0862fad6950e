package record

// The steps of the benchmark, in their order.
const (
	Join     = "join"
	Enable   = "enable"
	Idle     = "idle"
	Change   = "change"
	Restart  = "restart"
	Rollout  = "rollout"
	Rotate   = "rotate"
	Turnover = "turnover"
	// Distribute has ConfigMapReplicaSets.
	Distribute = "distribute"
	// Hub is Enable on a hub whose clusters are only objects, without agents.
	Hub = "hub"
	// EnablePart is Enable on a part of the clusters.
	EnablePart = "enable-part"
)

// The metrics. A metric that several programs or resources have is told apart by its
// stat.
const (
	// FleetStart is the time of `ocm-sandbox up`, Joined that from the first
	// ManagedCluster's creation to the last change of a cluster's condition Available.
	FleetStart = "fleet is up"
	Joined     = "cluster joined"

	// Configured to Available are times since the installation strategy named the
	// Placement.
	Configured = "configured by OCM"
	Shipped    = "ManifestWork shipped"
	Approved   = "certificate approved"
	Copied     = "first copy"
	Available  = "add-on Available"
	Applied    = "add-on has ManifestApplied"
	// Enabled is the number of clusters of EnablePart.
	Enabled = "clusters on which it is enabled"
	// ShippedLag is the time between the last cluster's Configured and the last
	// ManifestWork.
	ShippedLag = "last ManifestWork after the last cluster was configured"
	// EnableRequests are the controller's, by verb and resource.
	EnableRequests = "controller's requests per cluster"
	Throttled      = "controller waited for its own request limit"
	// Refused are counted by the answer's code, such as 409 for a conflict.
	Refused       = "controller's requests without a 2xx answer"
	ControllerCPU = "controller's CPU time per cluster"
	Heap          = "controller's live heap"
	HeapGrowth    = "controller's live heap per cluster"
	RSS           = "resident memory"
	ServerCPU     = "API server's CPU time per cluster"

	// IdleRequests are those per minute of a program, leases and watches apart. IdleWatches
	// are watches that begin anew, because the API server ends each after some minutes.
	IdleRequests = "requests per minute, leases and watches apart"
	IdleWatches  = "watches begun anew per minute"
	IdleCPU      = "CPU while idle"
	ServerMemory = "API server's memory per cluster"
	Watches      = "watches per cluster"

	// CopyTime is that from the begin of the write on the hub to the write on the
	// managed cluster.
	CopyTime     = "hub write to copy"
	AgainstFloor = "p99 against the floor"

	ControllerBack = "controller ready after a restart"
	Takeover       = "standby leads after the leader's death"
	// AgentsBack is the time from the API server's stop to each cluster's next copy.
	AgentsBack = "agents copy after the API server's restart"
	// PeakRate is the largest rate of requests over about a second, from the API server's first
	// answer on. The benchmark's own changes count, and watches only when they end.
	PeakRate      = "peak requests after the API server's restart"
	ListsPerWatch = "lists per watch after the API server's restart"
	CutCopies     = "copies on clusters that are cut"
	OthersCopy    = "hub write to copy while others are cut"
	CatchUp       = "copy after the link is back"

	RolledOut = "rolled out in three groups"
	// Reached is the share of a group that gets the broken configuration.
	Reached     = "clusters that get the broken configuration"
	Stopped     = "broken one reported to stop"
	Mended      = "configuration taken back"
	Renewed     = "certificates renewed"
	RenewalSpan = "time between the first and the last renewal"
	AfterExpiry = "clusters without a copy after the old certificates' end"
	Detached    = "cluster detached"
	Left        = "objects left of detached clusters"
	Replaced    = "add-on Available on the new ones"

	// SetToPart, SetInStages and SetToAll are the times until a cluster's agent reported the set's revision as
	// synced: since the set was created, and for SetInStages since its source changed. Part is the number of clusters
	// of the first two.
	Part        = "clusters of the part"
	SetToPart   = "set on a part of the clusters reported synced"
	SetInStages = "set's change in three stages reported synced"
	SetToAll    = "set on all clusters reported synced"
	// Early counts the steps of the stages in which a cluster reported before the step before was over.
	Early = "steps that did not wait for the one before"
	// WrittenToAll is the time until a cluster had the copy, since the set was created, or since the floor began to
	// write.
	WrittenToAll  = "ConfigMap on all clusters copied"
	AgainstWrites = "last report against the floor's last copy"
	// SetRequests are those while a set is written to all clusters: of its controller by verb and resource, and the
	// agents' reports.
	SetRequests = "requests per cluster for a set on all clusters"
	SetCPU      = "replicaset controller's CPU time per cluster"
	SetHeap     = "replicaset controller's live heap"
)

// constant are the costs per cluster that have to be the same for a fleet of any size,
// with the smallest size for which that is measured well. With 100 clusters about a third of the heap's growth does not depend
// on their number: five runs gave 31 to 49 KiB per cluster.
var constant = []struct {
	Key
	Smallest int
}{
	{Key{Enable, EnableRequests, All, "requests", Ours}, 0},
	{Key{Enable, ControllerCPU, "", "ms", Ours}, 100},
	{Key{Enable, HeapGrowth, "", "KiB", Ours}, 500},
	{Key{Hub, EnableRequests, All, "requests", Ours}, 0},
	{Key{Hub, ControllerCPU, "", "ms", Ours}, 100},
	{Key{Hub, HeapGrowth, "", "KiB", Ours}, 500},
}

// Spread is the largest ratio between the constant costs of two sizes.
const Spread = 1.2

// Constancy is how a cost per cluster differs between sizes.
type Constancy struct {
	Key
	// Sizes are those that were compared, and Ratio the largest cost by the smallest.
	Sizes []int
	Ratio float64
	Pass  bool
}

// Constant compares the costs per cluster of runs of several sizes. A cost that fewer than
// two of them have is left out.
func Constant(records []*Record) []Constancy {
	var all []Constancy
	for _, c := range constant {
		result := Constancy{Key: c.Key}
		var least, most float64
		for _, r := range records {
			value, ok := r.Value(c.Key)
			if !ok || r.Size < c.Smallest {
				continue
			}
			if len(result.Sizes) == 0 {
				least, most = value, value
			}
			least, most = min(least, value), max(most, value)
			result.Sizes = append(result.Sizes, r.Size)
		}
		if len(result.Sizes) < 2 {
			continue
		}
		if result.Ratio = 1; most != least {
			result.Ratio = most / least
		}
		result.Pass = least >= 0 && result.Ratio <= Spread
		all = append(all, result)
	}
	return all
}
