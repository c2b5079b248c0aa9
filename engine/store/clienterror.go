package store

import (
	"errors"
	"io/fs"
	"syscall"

	"quern/engine"
	"quern/engine/hub"
)

// codes are the codes of a hub's failures whose own message clients get.
var codes = []struct {
	err  error
	code engine.Code
}{
	{hub.ErrAccess, engine.CodeModelNotAllowed},
	{hub.ErrNotFound, engine.CodeModelNotFound},
	{hub.ErrNotHere, engine.CodeModelNotFound},
	{hub.ErrNoModel, engine.CodeInvalidValue},
	{hub.ErrAmbiguous, engine.CodeInvalidValue},
	{hub.ErrOffline, engine.CodeHubUnavailable},
}

// clientError is the error that clients get of a failed pull of r: what the hub denies or does not
// have, what to change here, and no details of this machine's disks and networks.
func clientError(r hub.Ref, err error) error {
	var known *engine.Error
	var space *hub.SpaceError
	switch {
	case err == nil, errors.As(err, &known), errors.Is(err, hub.ErrNotPulled):
		return err
	case errors.As(err, &space):
		return engine.Errorf(engine.CodeStoreFull, "model", "%s needs %d MB beside %d MB that stay free, and the disk of the model folder has %d MB left; remove what is not needed, or have models pulled to another disk (the first of model_dirs)",
			r, (space.Need+999_999)/1e6, space.Spare/1e6, space.Free/1e6).Because(err)
	case errors.Is(err, syscall.ENOSPC):
		return engine.Errorf(engine.CodeStoreFull, "model", "the disk of the model folder is full; what has arrived of %s stays: remove what is not needed, and pull it again", r).Because(err)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return engine.Errorf(engine.CodeEngineFailure, "model", "the server may not write to its model folder; let it, or have models pulled to another (the first of model_dirs)").Because(err)
	case errors.Is(err, hub.ErrBusy):
		return engine.Errorf(engine.CodeModelInUse, "model", "%s is being pulled; stop that pull first, or wait for it", r.Repo()).Because(err)
	case errors.Is(err, hub.ErrHash):
		return engine.Errorf(engine.CodeHubUnavailable, "model", "a file of %s arrived twice other than the hub describes it; try again later", r).Because(err)
	}
	for _, c := range codes {
		if errors.Is(err, c.err) {
			return engine.Errorf(c.code, "model", "%v", err).Because(err)
		}
	}
	return engine.Errorf(engine.CodeHubUnavailable, "model", "%s cannot be fetched from the hub; what has arrived stays, so try again later: the server's log says why", r).Because(err)
}
