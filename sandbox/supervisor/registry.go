package supervisor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	securejoin "github.com/cyphar/filepath-securejoin"

	"open-cluster-management.io/helloworld-addon/sandbox/images"
	"open-cluster-management.io/helloworld-addon/sandbox/node/plan"
)

// registry adapts the sandbox's images to node.Images.
type registry struct{ store images.Store }

func (r registry) Use(name string) (plan.Image, func(), bool, error) {
	found, release, ok, err := r.store.Use(name)
	if err != nil || !ok {
		return plan.Image{}, nil, false, err
	}
	passwd, group, err := accounts(found.Dir)
	if err != nil {
		release()
		return plan.Image{}, nil, false, err
	}
	return plan.Image{
		Dir: found.Dir, Entrypoint: found.Config.Entrypoint, Command: found.Config.Cmd, Env: found.Config.Env,
		WorkingDir: found.Config.WorkingDir, User: found.Config.User, Passwd: passwd, Group: group,
	}, release, true, nil
}

func (r registry) Known(name string) (all []string, similar string) {
	known, err := r.store.Known()
	if err != nil {
		return []string{fmt.Sprintf("(%v)", err)}, ""
	}
	return known, images.Similar(known, name)
}

// maxAccounts is the largest size of an image's /etc/passwd and /etc/group in bytes.
const maxAccounts = 1 << 20

// accounts returns the /etc/passwd and /etc/group of an image's root, each empty if there is
// none.
func accounts(root string) (passwd, group []byte, err error) {
	if passwd, err = readAccounts(root, "/etc/passwd"); err != nil {
		return nil, nil, err
	}
	group, err = readAccounts(root, "/etc/group")
	return passwd, group, err
}

func readAccounts(root, name string) ([]byte, error) {
	path, err := securejoin.SecureJoin(root, name)
	if err != nil {
		return nil, fmt.Errorf("find %s in image %s: %w", name, root, err)
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxAccounts) {
		err = fmt.Errorf("not a file of at most %d bytes", maxAccounts)
	}
	var content []byte
	if err == nil {
		content, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s of image %s: %w", name, root, err)
	}
	return content, nil
}
