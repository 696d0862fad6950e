package artifact

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
)

// chart packages the Helm chart in a directory, as helm package does, which
// would store the time of its run.
func (o Options) chart(dir string) error {
	name := filepath.Base(dir)
	files, err := filesBelow(dir, name)
	if err != nil {
		return err
	}
	return o.create(fmt.Sprintf("%s-%s.tgz", name, strings.TrimPrefix(o.Version, "v")), func(w io.Writer) error {
		return writeTarball(w, files, o.Date)
	})
}
