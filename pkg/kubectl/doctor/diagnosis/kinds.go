package diagnosis

import (
	"slices"

	"open-cluster-management.io/helloworld-addon/pkg/agent/hubclient/credentials"
)

// The reasons. docs/kubectl.md#what-doctor-finds has what each of them means to users.
const (
	NotInstalled         Reason = "NotInstalled"
	CRDsMissing          Reason = "CRDsMissing"
	ControllerMissing    Reason = "ControllerMissing"
	ControllerForbidden  Reason = "ControllerForbidden"
	ControllerNotRunning Reason = "ControllerNotRunning"
	ControllerNotLeading Reason = "ControllerNotLeading"

	WrongCluster                Reason = "WrongCluster"
	NoManagedCluster            Reason = "NoManagedCluster"
	ClusterDetaching            Reason = "ClusterDetaching"
	NotAccepted                 Reason = "NotAccepted"
	RegistrationAgentNotRunning Reason = "RegistrationAgentNotRunning"
	RegistrationExits           Reason = "RegistrationExits"
	RegistrationPodWaits        Reason = "RegistrationPodWaits"
	RegistrationStuck           Reason = "RegistrationStuck"
	RegistrationWaits           Reason = "RegistrationWaits"
	RegistrationRetries         Reason = "RegistrationRetries"
	RegistrationMoves           Reason = "RegistrationMoves"
	RegistrationJoins           Reason = "RegistrationJoins"
	JoinedAnotherHub            Reason = "JoinedAnotherHub"
	BootstrapInvalid            Reason = "BootstrapInvalid"
	NotJoined                   Reason = "NotJoined"
	ClusterUnavailable          Reason = "ClusterUnavailable"
	ClockDiffers                Reason = "ClockDiffers"

	NotEnabled                Reason = "NotEnabled"
	NotConfigured             Reason = "NotConfigured"
	HostingClusterMissing     Reason = "HostingClusterMissing"
	HostingClusterUnavailable Reason = "HostingClusterUnavailable"
	ConfigMissing             Reason = "ConfigMissing"
	ConfigurationRefused      Reason = "ConfigurationRefused"
	RegistrationRefused       Reason = "RegistrationRefused"
	ConfigurationPending      Reason = "ConfigurationPending"
	ConfigurationIgnored      Reason = "ConfigurationIgnored"

	WorkMissing         Reason = "WorkMissing"
	WorkAgentNotRunning Reason = "WorkAgentNotRunning"
	WorkNotReported     Reason = "WorkNotReported"
	WorkNotApplied      Reason = "WorkNotApplied"
	UninstallNotStarted Reason = "UninstallNotStarted"

	HubRoleMissing        Reason = "HubRoleMissing"
	BindingMissing        Reason = "BindingMissing"
	TooManyRequests       Reason = "TooManyRequests"
	RequestDenied         Reason = "RequestDenied"
	RequestFailed         Reason = "RequestFailed"
	RequestPending        Reason = "RequestPending"
	RequestNotSigned      Reason = "RequestNotSigned"
	NoRequest             Reason = "NoRequest"
	CertificateNotRenewed Reason = "CertificateNotRenewed"

	NamespaceTerminating Reason = "NamespaceTerminating"
	NamespaceMissing     Reason = "NamespaceMissing"
	AgentMissing         Reason = "AgentMissing"
	AgentScaledDown      Reason = "AgentScaledDown"
	AgentForbidden       Reason = "AgentForbidden"
	AgentStopped         Reason = "AgentStopped"
	AgentNotCreated      Reason = "AgentNotCreated"
	AgentNotScheduled    Reason = "AgentNotScheduled"
	AgentImageNotPulled  Reason = "AgentImageNotPulled"
	AgentNotStarted      Reason = "AgentNotStarted"
	AgentCrashes         Reason = "AgentCrashes"
	AgentNotReady        Reason = "AgentNotReady"
	AgentNotAvailable    Reason = "AgentNotAvailable"
	CertificateExpired   Reason = "CertificateExpired"
	LeaseNotRenewed      Reason = "LeaseNotRenewed"
	LeaseNotRead         Reason = "LeaseNotRead"
	AgentSilent          Reason = "AgentSilent"
	Starting             Reason = "Starting"

	UninstallBlocked Reason = "UninstallBlocked"
	UninstallWaits   Reason = "UninstallWaits"
	SecretLeft       Reason = "SecretLeft"
	NotReported      Reason = "NotReported"
	DeletionHeld     Reason = "DeletionHeld"
	Failed           Reason = "Failed"
	Conflict         Reason = "Conflict"
	Contested        Reason = "Contested"
	Syncing          Reason = "Syncing"
)

// Pages of the documentation.
const (
	pageTable       = "docs/troubleshooting.md#what-you-see-and-what-to-do"
	pageInstall     = "docs/install.md"
	pageUpgrade     = "docs/upgrade.md"
	pageSituations  = "docs/situations.md"
	pageHosted      = "docs/hosted-mode.md"
	pageConfigure   = "docs/configure.md"
	pageRollout     = "docs/rollout.md"
	pageValid       = "docs/reference.md#configurationvalid"
	pageDegraded    = "docs/reference.md#degraded"
	pageHeld        = "docs/reference.md#deletionheld"
	pageContested   = "docs/reference.md#contested"
	pageSynced      = "docs/reference.md#configmapssynced"
	pageMirror      = "docs/reference.md#configmapmirror"
	pageStates      = "docs/hub-credentials.md#the-states"
	pageCertificate = "docs/hub-credentials.md#no-certificate-comes"
	pageUninstall   = "docs/uninstall.md#when-it-takes-long"
	pageLost        = "docs/uninstall.md#a-lost-cluster"
)

// kinds are all reasons, in the order of causes.
var kinds = append(append([]kind{
	{reason: NotInstalled, link: hubLink, page: pageInstall},
	{reason: CRDsMissing, link: hubLink, page: pageUpgrade},
	{reason: ControllerMissing, link: hubLink, page: pageInstall},
	{reason: ControllerForbidden, link: hubLink},
	{reason: ControllerNotRunning, link: hubLink},
	{reason: ControllerNotLeading, link: hubLink},

	{reason: WrongCluster, link: clusterLink, own: true, aside: true},
	{reason: NoManagedCluster, link: clusterLink, page: pageLost},
	{reason: ClusterDetaching, link: clusterLink, page: pageLost},
	{reason: NotAccepted, link: clusterLink},
	{reason: HostingClusterMissing, link: clusterLink, page: pageHosted, own: true},
	{reason: HostingClusterUnavailable, link: clusterLink, page: pageHosted, own: true},
	{reason: RegistrationAgentNotRunning, link: clusterLink, page: pageSituations},
	{reason: RegistrationExits, link: clusterLink, page: pageSituations},
	{reason: RegistrationPodWaits, link: clusterLink, page: pageSituations},
	{reason: RegistrationStuck, link: clusterLink, page: pageSituations},
	{reason: RegistrationWaits, link: clusterLink, page: pageSituations},
	{reason: RegistrationRetries, link: clusterLink, page: pageSituations},
	{reason: RegistrationMoves, link: clusterLink, page: pageSituations},
	{reason: RegistrationJoins, link: clusterLink, page: pageSituations},
	{reason: JoinedAnotherHub, link: clusterLink, page: pageSituations},
	{reason: BootstrapInvalid, link: clusterLink, page: pageSituations, own: true, advice: true},
	{reason: NotJoined, link: clusterLink},
	{reason: ClockDiffers, link: clusterLink, own: true, advice: true},
	{reason: ClusterUnavailable, link: clusterLink},

	{reason: NotEnabled, link: enabledLink, page: pageInstall},
	{reason: ConfigMissing, link: enabledLink, page: pageConfigure, own: true},
	{reason: ConfigurationRefused, link: enabledLink, page: pageValid, own: true},
	{reason: RegistrationRefused, link: enabledLink},
	{reason: NotConfigured, link: enabledLink, own: true},
	{reason: ConfigurationPending, link: enabledLink, page: pageRollout, own: true, advice: true},

	{reason: WorkMissing, link: shippedLink},
	{reason: WorkAgentNotRunning, link: shippedLink},
	{reason: WorkNotReported, link: shippedLink},
	{reason: WorkNotApplied, link: shippedLink},
	{reason: UninstallNotStarted, link: shippedLink, page: pageUninstall},

	{reason: HubRoleMissing, link: credentialsLink, own: true},
	{reason: BindingMissing, link: credentialsLink},
	{reason: TooManyRequests, link: credentialsLink, page: pageCertificate},
	{reason: RequestDenied, link: credentialsLink, page: pageCertificate, own: true},
	{reason: RequestFailed, link: credentialsLink, page: pageCertificate, own: true},
	{reason: RequestPending, link: credentialsLink, page: pageCertificate},
	{reason: RequestNotSigned, link: credentialsLink, page: pageCertificate},
	{reason: NoRequest, link: credentialsLink, page: pageCertificate},
	{reason: CertificateNotRenewed, link: credentialsLink, page: pageCertificate},

	{reason: NamespaceTerminating, link: agentLink, own: true},
	{reason: NamespaceMissing, link: agentLink},
	{reason: AgentStopped, link: agentLink, page: pageUninstall, own: true},
	{reason: AgentMissing, link: agentLink},
	{reason: AgentScaledDown, link: agentLink, own: true},
	{reason: AgentForbidden, link: agentLink, own: true},
	{reason: AgentNotCreated, link: agentLink, page: pageDegraded, own: true},
	{reason: AgentNotScheduled, link: agentLink, page: pageDegraded, own: true},
	{reason: AgentImageNotPulled, link: agentLink, page: pageDegraded, own: true},
	{reason: AgentNotStarted, link: agentLink, page: pageDegraded, own: true},
	{reason: AgentCrashes, link: agentLink, page: pageDegraded, own: true},
}, credentialKinds()...), []kind{
	{reason: AgentNotReady, link: agentLink, page: pageStates},
	{reason: CertificateExpired, link: agentLink, page: pageCertificate},
	{reason: AgentNotAvailable, link: agentLink, page: pageDegraded},
	{reason: LeaseNotRenewed, link: agentLink},
	{reason: LeaseNotRead, link: agentLink},
	{reason: AgentSilent, link: agentLink, page: pageSynced},
	{reason: Starting, link: agentLink},

	{reason: UninstallBlocked, link: copiesLink, page: pageUninstall, own: true, aside: true},
	{reason: UninstallWaits, link: copiesLink, page: pageUninstall},
	{reason: SecretLeft, link: copiesLink, own: true, advice: true},
	{reason: NotReported, link: copiesLink, page: pageMirror},
	{reason: DeletionHeld, link: copiesLink, page: pageHeld, own: true, aside: true},
	{reason: Failed, link: copiesLink, page: pageSynced, own: true, aside: true},
	{reason: Conflict, link: copiesLink, page: pageSynced, own: true, aside: true},
	{reason: Contested, link: copiesLink, page: pageContested, own: true, aside: true},
	{reason: Syncing, link: copiesLink, page: pageSynced},
	{reason: ConfigurationIgnored, link: copiesLink, page: pageValid, own: true, advice: true},
}...)

// credentialReasons are the states of the agent's credentials, which are reasons as they are.
var credentialReasons = []credentials.Reason{
	credentials.SecretMissing, credentials.SourceUnreadable, credentials.KubeconfigMissing, credentials.KubeconfigInvalid,
	credentials.ServerInvalid, credentials.ProxyInvalid, credentials.CAMissing, credentials.CAInvalid,
	credentials.CredentialsMissing, credentials.CredentialsUnsupported,
	credentials.KeyMissing, credentials.KeyInvalid, credentials.KeyMismatch,
	credentials.CertificateMissing, credentials.CertificateInvalid, credentials.CertificateForOther,
	credentials.CertificateExpired, credentials.CertificateTooEarly,
	credentials.TokenMissing, credentials.TokenForOther, credentials.TokenExpired, credentials.TokenTooEarly,
	credentials.HubUnreachable, credentials.HubRefusesCredentials, credentials.HubForbids,
}

// ownCredentialReasons are those that nothing before the agent explains.
var ownCredentialReasons = []credentials.Reason{
	credentials.ServerInvalid, credentials.ProxyInvalid, credentials.CAMissing, credentials.CAInvalid,
	credentials.KeyMissing, credentials.KeyInvalid, credentials.KeyMismatch, credentials.CertificateTooEarly, credentials.TokenTooEarly,
	credentials.HubUnreachable,
}

func credentialKinds() []kind {
	var all []kind
	for _, reason := range credentialReasons {
		if reason != credentials.CertificateExpired { // as the hub has it
			all = append(all, kind{reason: Reason(reason), link: agentLink, page: pageStates, own: slices.Contains(ownCredentialReasons, reason)})
		}
	}
	return all
}
