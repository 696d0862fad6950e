//go:build situations && long

package situations

var further = []situation{
	{"hub_kubeconfig_unparsable", hubKubeconfigUnparsable},
	{"restart_when_the_certificate_expires", certificateExpires},
	{third + string(missing), bootstrapInvalid(missing)},
	{fourth + string(unknownUser), neitherValid(unknownUser)},
	{fourth + string(missing), neitherValid(missing)},
	{fourth + string(unparsable), neitherValid(unparsable)},
	{"8_the_cluster_is_detached_and_joins_again", detachedAndBack},
}
