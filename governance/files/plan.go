package files

// What would happen to each file. This is a function of what is proposed, what is in the target,
// and the base version of both.

import (
	"bytes"
	"io/fs"
	"unicode/utf8"

	"ac/workspace/checkpoint"
)

// decision is the outcome for one artifact.
type decision struct {
	row Row
	at  location
	now state
	// fresh is the new state of the file, if the row has no problem.
	fresh Side
	// due is a merge that must be done first, nil for none.
	due *merge
}

// writes reports whether the file will be changed.
func (d *decision) writes() bool { return d.row.Problem == "" && d.row.Action != Skip }

func (d *decision) refuse(code, message string) { d.row.Problem, d.row.Message = code, message }

// expectation is the version of a target file that somebody decided on.
type expectation struct {
	hash   string // "" for an absent file
	reason string // the problem if the file has another version
}

// judge decides on all artifacts, in order. expect holds the versions that the caller saw of some
// of the files, by path. merges holds the finished merges.
func (g *targetRoot) judge(artifacts []Artifact, expect map[string]expectation, merges map[mergeKey]mergeResult) []decision {
	decisions := make([]decision, len(artifacts))
	taken := map[string]bool{}
	for i, a := range artifacts {
		d := &decisions[i]
		d.row = Row{ID: a.ID, Path: a.Path, Action: Skip, Kind: a.Kind, Source: a.Source}
		var refused *problem
		if d.at, refused = g.locate(a.Path); d.at.path != "" && d.at.path != "." {
			d.row.Path = d.at.path
		}
		d.row.Language = Language(d.row.Path)
		if a.Problem != "" && (refused == nil || a.Problem == PathInvalid) {
			refused = &problem{a.Problem, a.Message}
		}
		if refused == nil {
			d.now, refused = g.read(d.at.place)
		}
		if refused == nil && i >= MaxFiles {
			refused = &problem{TooMany, "a call takes 200 files"}
		}
		if refused != nil {
			d.refuse(refused.code, refused.message)
			continue
		}
		decide(a, d, expect, merges)
		if key := g.key(d.at.place); d.row.Problem == "" && taken[key] {
			d.refuse(Duplicate, "the same file stands in the list twice")
		} else {
			taken[key] = true
		}
	}
	return decisions
}

// decide decides on an artifact whose path is valid.
func decide(a Artifact, d *decision, expect map[string]expectation, merges map[mergeKey]mergeResult) {
	d.row.BaseSHA256 = orNull(d.now.hash)
	d.fresh = Side{Exists: !a.Delete, Content: a.Content, Mode: a.Mode}
	if a.Delete {
		d.fresh = Side{}
	} else {
		d.fresh.Mode = modeOf(a.Mode, d.now)
	}
	switch {
	case IsBinary(d.now.Content) || IsBinary(d.fresh.Content):
		d.refuse(Binary, "it is no text in UTF-8")
		return
	case len(d.fresh.Content) > MaxFile:
		d.refuse(TooLarge, "the file would have more than 1 MiB")
		return
	}
	if d.row.Action = action(a, d); d.row.Action == Skip {
		d.finish()
		return
	}
	if seen, ok := expect[d.at.path]; ok && seen.hash != d.now.hash {
		d.refuse(seen.reason, changedMessage(seen.reason))
		return
	}
	d.keepEdits(a, merges)
	if d.row.Problem == "" && d.due == nil {
		d.row.Action = action(a, d)
		d.finish()
	}
}

func changedMessage(reason string) string {
	if reason == ChangedApply {
		return "the file changed since it was applied"
	}
	return "the file changed since the preview; preview again"
}

// modeOf returns the mode of a written file. It is that of the old file, with execute permission
// added or removed if the artifact requests it.
func modeOf(asked fs.FileMode, now state) fs.FileMode {
	switch {
	case !now.Exists && asked == 0:
		return 0o644
	case !now.Exists:
		return asked
	case asked == 0 || executable(asked) == executable(now.Mode):
		return now.Mode
	case executable(asked):
		return now.Mode | now.Mode&0o444>>2 // who may read it may run it
	}
	return now.Mode &^ 0o111
}

// action returns what must be done to give a file its new state.
func action(a Artifact, d *decision) string {
	switch {
	case !d.now.Exists && !d.fresh.Exists:
		return Skip
	case !d.now.Exists:
		return checkpoint.Create
	case !d.fresh.Exists:
		return checkpoint.Delete
	case bytes.Equal(d.now.Content, d.fresh.Content) && (a.Mode == 0 || executable(a.Mode) == executable(d.now.Mode)):
		return Skip
	}
	return checkpoint.Modify
}

func executable(mode fs.FileMode) bool { return mode&0o100 != 0 }

// keepEdits preserves what a person changed since the version that the artifact was made from. It
// requests a merge or refuses the file.
func (d *decision) keepEdits(a Artifact, merges map[mergeKey]mergeResult) {
	from := a.From
	switch {
	case from == nil || from.Exists == d.now.Exists && from.Hash == d.now.hash:
		return
	case d.now.Exists && d.fresh.Exists && bytes.Equal(d.now.Content, d.fresh.Content):
		return // only the mode differs
	case !from.Exists:
		d.refuse(Conflict, "there is another file of this name by now")
	case !d.now.Exists:
		d.refuse(Conflict, "the file was removed, and the agent changed it")
	case !d.fresh.Exists:
		d.refuse(Conflict, "the file changed, and the agent removed it")
	case from.Content == nil:
		d.refuse(Conflict, "the file changed, and what the agent started from is not known")
	default:
		d.merge(from, merges)
	}
}

func (d *decision) merge(from *Version, merges map[mergeKey]mergeResult) {
	m := merge{from: from.Content, now: d.now.Content, fresh: d.fresh.Content}
	made, ok := merges[m.key()]
	switch {
	case !ok:
		d.due = &m
	case !made.clean:
		d.refuse(Conflict, "you and the agent changed the same lines")
	case len(made.text) > MaxFile:
		d.refuse(TooLarge, "the merged file would have more than 1 MiB")
	default:
		d.fresh.Content, d.row.Merged = made.text, true
	}
}

// finish fills in the row's fields about the change.
func (d *decision) finish() {
	if d.fresh.Exists {
		d.row.NewSHA256 = orNull(checkpoint.Hash(d.fresh.Content))
	}
	if d.row.Action != Skip {
		compared := Compare(d.at.path, d.now.Side, d.fresh)
		d.row.Added, d.row.Removed = compared.Added, compared.Removed
	}
}

// IsBinary reports whether content is not UTF-8 text.
func IsBinary(content []byte) bool {
	return bytes.IndexByte(content, 0) >= 0 || !utf8.Valid(content)
}
