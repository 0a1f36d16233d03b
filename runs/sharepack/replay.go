package sharepack

// Replaying the logs in a pack.

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"

	"ac/events"
	"ac/internal/durable"
	"ac/internal/fault"
	"ac/workspace"
	"ac/workspace/doc"
)

// Run is the replay of one run's log.
type Run struct {
	doc.IncludedRun
	events.Replay
}

// Load reads the manifest of a project's pack. The error is fault.NotFound if there is none, and
// fault.Conflict if the pack belongs to another project.
func Load(w *workspace.Workspace, project, id string) (doc.SharePack, error) {
	file := workspace.SharePackFile(project, id)
	pack, err := workspace.Load(w, doc.SharePackCodec, file)
	if fault.Is(err, fault.NotFound) {
		return pack, fault.New(fault.NotFound, "share pack %s does not exist in project %s", id, project)
	}
	if err != nil {
		return pack, err
	}
	if pack.ProjectID != project {
		return pack, fault.New(fault.Conflict, "share pack %s belongs to project %s, not to %s", id, pack.ProjectID, project)
	}
	return pack, workspace.CheckID(file, id, pack.ID)
}

// List returns the readable packs of a project, sorted by id.
func List(w *workspace.Workspace, project string) ([]doc.SharePack, error) {
	ids, err := workspace.Dirs(w.FS, workspace.SharePacksDir(project))
	var packs []doc.SharePack
	for _, id := range ids {
		if pack, err := Load(w, project, id); err == nil {
			packs = append(packs, pack)
		}
	}
	return packs, err
}

// Replay replays the logs in a pack: all of them, or only that of run.
func Replay(w *workspace.Workspace, project, id, run string, opts events.ReplayOptions) ([]Run, error) {
	pack, err := Load(w, project, id)
	if err != nil {
		return nil, err
	}
	dir, replays := workspace.SharePackDir(project, id), []Run{}
	var gaps map[string][]events.Gap
	if opts.Verify {
		if gaps, err = gapsOf(w, dir); err != nil {
			return nil, err
		}
	}
	for _, r := range pack.IncludedRuns {
		if run != "" && r.RunID != run {
			continue
		}
		opts.LeftOut = gaps[r.RunID]
		replay, err := replayRun(w, dir, r, opts)
		if err != nil {
			return nil, err
		}
		replays = append(replays, Run{r, replay})
	}
	if run != "" && len(replays) == 0 {
		return nil, fault.New(fault.NotFound, "share pack %s does not include run %s", id, run)
	}
	return replays, nil
}

func replayRun(w *workspace.Workspace, dir string, run doc.IncludedRun, opts events.ReplayOptions) (events.Replay, error) {
	if err := confined(w, dir, run.BundleRelpath); err != nil {
		return events.Replay{}, err
	}
	log, err := w.FS.OpenFile(run.BundleRelpath, os.O_RDONLY, 0)
	if err != nil {
		return events.Replay{}, fault.New(fault.InvalidFile, "%s cannot be read: %w", run.BundleRelpath, err)
	}
	defer log.Close()
	replay, err := events.ReadBack(log, opts)
	if err != nil {
		return replay, fault.New(fault.IO, "%s cannot be read: %w", run.BundleRelpath, err)
	}
	return replay, nil
}

// maxLeftOut is the size limit of left_out.json, in bytes. It allows for millions of events.
const maxLeftOut = 512 << 20

// gapsOf reads the events that a pack omits, by run. Packs of other programs do not list them.
func gapsOf(w *workspace.Workspace, dir string) (map[string][]events.Gap, error) {
	name := path.Join(dir, leftOutName)
	switch st, err := w.FS.Lstat(name); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fault.New(fault.InvalidFile, "%s cannot be read: %w", name, err)
	case !st.Mode().IsRegular():
		return nil, fault.New(fault.InvalidFile, "%s is not a regular file", name)
	}
	text, err := durable.ReadFile(w.FS, name, maxLeftOut)
	var found leftOut
	if err == nil {
		err = json.Unmarshal(text, &found)
	}
	if err != nil {
		return nil, fault.New(fault.InvalidFile, "%s cannot be read: %w", name, err)
	}
	gaps := make(map[string][]events.Gap, len(found.Runs))
	for _, run := range found.Runs {
		gaps[run.RunID] = run.Gaps
	}
	return gaps, nil
}

// confined refuses a path in a manifest that leaves the pack's bundle, by name or through a
// symlink.
func confined(w *workspace.Workspace, dir, name string) error {
	inside, ok := strings.CutPrefix(name, path.Join(dir, bundleDir)+"/")
	if !ok || path.Clean(name) != name || strings.ContainsAny(name, "\\\x00") {
		return fault.New(fault.InvalidFile, "bundle_relpath %q is not inside %s", name, path.Join(dir, bundleDir))
	}
	at := dir
	for step := range strings.SplitSeq(bundleDir+"/"+inside, "/") {
		at = path.Join(at, step)
		st, err := w.FS.Lstat(at)
		if errors.Is(err, fs.ErrNotExist) {
			return fault.New(fault.NotFound, "%s does not exist", name)
		}
		if err != nil {
			return fault.New(fault.InvalidFile, "%s cannot be read: %w", name, err)
		}
		if st.Mode()&fs.ModeSymlink != 0 {
			return fault.New(fault.InvalidFile, "%s is a symlink", at)
		}
	}
	return nil
}
