package syncer

import (
	"strconv"

	"github.com/spf13/pflag"
	logsapi "k8s.io/component-base/logs/api/v1"
)

// originalFlags are the flags of the original hub-of-hubs-status-sync that this program does not have: those of
// operator-sdk's logger, and --master of controller-runtime. True marks a flag that takes no value.
// See https://github.com/operator-framework/operator-sdk/blob/v0.19.4/pkg/log/zap/flags.go.
var originalFlags = map[string]bool{
	"master": false, "zap-devel": true, "zap-encoder": false, "zap-level": false, "zap-log-level": false, "zap-sample": true,
	"zap-stacktrace-level": false, "zap-time-encoding": false,
}

// debugVerbosity is the -v of the original's log level debug. It shows the details that this program logs.
const debugVerbosity = 2

// addOriginalFlags adds the hidden flags of the original, so that its deployment manifest starts this program. A log level
// sets -v. The names of all others that are set are appended to ignored.
func addOriginalFlags(flags *pflag.FlagSet, logging *logsapi.LoggingConfiguration, ignored *[]string) {
	for name, noValue := range originalFlags {
		flag := flags.VarPF(originalFlag{name, logging, ignored}, name, "", "a flag of the original "+Program)
		flag.Hidden = true
		if noValue {
			flag.NoOptDefVal = "true"
		}
	}
}

// originalFlag accepts every value.
type originalFlag struct {
	name    string
	logging *logsapi.LoggingConfiguration
	ignored *[]string
}

func (originalFlag) String() string { return "" }
func (originalFlag) Type() string   { return "string" }

func (f originalFlag) Set(value string) error {
	isLevel := f.name == "zap-level" || f.name == "zap-log-level"
	level, err := strconv.ParseUint(value, 10, 31)
	switch {
	case isLevel && value == "debug":
		f.logging.Verbosity = debugVerbosity
	case isLevel && err == nil:
		f.logging.Verbosity = logsapi.VerbosityLevel(level)
	default:
		*f.ignored = append(*f.ignored, "--"+f.name)
	}
	return nil
}
