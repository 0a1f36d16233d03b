package validate

// Judging one document. The result depends only on the file's name and text, so it stays
// valid while the file is unchanged.

import (
	"errors"
	"path"
	"strings"
	"time"

	"ac/internal/durable"
	"ac/internal/fault"
	"ac/internal/filecache"
	"ac/internal/frontmatter"
	"ac/internal/yamldoc"
)

// finding holds the problems of one document, and the references to check around it.
type finding struct {
	issues, warnings []Issue
	names            []reference
	needs            []string // files that the document claims to exist
}

// reference is a field that refers to a team or an agent.
type reference struct {
	field, id string
	team      bool
}

// kind defines how a type of document is checked.
type kind struct {
	judge func(file string, text []byte) finding
	// unreadable is the issue code for a file that cannot be read.
	unreadable string
	// lenient turns all issues into warnings: the workspace is valid regardless.
	lenient bool
	limit   int64
}

// yamlKind is the kind of a document that is entirely YAML.
func yamlKind[T any](codec yamldoc.Codec[T], then func(d *finding, file string, document T)) kind {
	return kind{unreadable: "parse_error", limit: yamldoc.MaxBytes, judge: func(file string, text []byte) (d finding) {
		document, err := codec.Decode(text)
		misfit, ok := errors.AsType[*yamldoc.SchemaError](err)
		switch {
		case ok:
			d.misfits("schema_invalid", file, misfit.Issues)
		case err != nil:
			d.issue("parse_error", file, err.Error())
		default:
			then(&d, file, document)
		}
		return d
	}}
}

// recordKind is the kind of a markdown record with front matter. then returns the headings
// that the body must have.
func recordKind[T any](codec yamldoc.Codec[T], then func(d *finding, file string, document T) (headings []string)) kind {
	return typedKind(codec, func(d *finding, file string, _ []byte, document T) ([]string, func()) {
		return then(d, file, document), nil
	})
}

// typedKind is recordKind for records whose type has rules of its own. own, if not nil,
// checks these rules. It runs only if there are no other issues.
func typedKind[T any](codec yamldoc.Codec[T], then func(d *finding, file string, head []byte, document T) (headings []string, own func())) kind {
	return kind{unreadable: "read_error", limit: yamldoc.MaxBytes, judge: func(file string, text []byte) (d finding) {
		head, body, err := frontmatter.Split(text)
		if err != nil {
			d.issue("frontmatter", file, err.Error())
			return d
		}
		document, err := codec.Decode(head)
		misfit, ok := errors.AsType[*yamldoc.SchemaError](err)
		switch {
		case ok:
			d.misfits("frontmatter_schema", file, misfit.Issues)
			return d
		case err != nil:
			d.issue("frontmatter", file, "frontmatter_yaml_parse_error: "+err.Error())
			return d
		}
		headings, own := then(&d, file, head, document)
		for _, heading := range headings {
			if !frontmatter.HasHeading(body, heading) {
				d.issue("missing_heading", file, "the heading "+heading+" is missing")
			}
		}
		if own != nil && len(d.issues) == 0 {
			own()
		}
		return d
	}}
}

func lenient(k kind) kind {
	k.lenient = true
	return k
}

func (d *finding) issue(code, file, why string) {
	d.issues = append(d.issues, Issue{Code: code, Message: file + ": " + why, Path: file})
}

func (d *finding) warn(code, file, why string) {
	d.warnings = append(d.warnings, Issue{Code: code, Message: file + ": " + why, Path: file})
}

func (d *finding) misfits(code, file string, issues []fault.Issue) {
	for _, misfit := range issues {
		d.issue(code, file, misfit.Field()+": "+misfit.Message)
	}
}

// checkID warns if a document's id differs from the one that its path implies.
func (d *finding) checkID(file, want, got string) {
	if want != got {
		d.warn("id_mismatch", file, "carries the id "+got+" instead of "+want)
	}
}

// checkProject warns if a document's project is not the one whose folder it is in.
func (d *finding) checkProject(file, want, got string) {
	if want != got {
		d.warn("id_mismatch", file, "carries the project_id "+got+" but lies in "+want)
	}
}

func (d *finding) namesAgent(field, id string) { d.addReference(reference{field: field, id: id}) }
func (d *finding) namesTeam(field, id string) {
	d.addReference(reference{field: field, id: id, team: true})
}

func (d *finding) addReference(n reference) {
	if n.id != "" {
		d.names = append(d.names, n)
	}
}

// idOfFile returns the id that a file name implies.
func idOfFile(file string) string {
	base := path.Base(file)
	return strings.TrimSuffix(base, path.Ext(base))
}

// projectOf returns the project whose folder a file is in.
func projectOf(file string) string { return strings.SplitN(file, "/", 4)[2] }

// document checks one file and reports whether it exists.
func (v *inspection) document(file string, k kind) bool {
	d, there := v.checkFile(file, k)
	if !there {
		return false
	}
	if k.lenient {
		d.issues, d.warnings = nil, append(append([]Issue(nil), d.issues...), d.warnings...)
	}
	v.findings.Issues = append(v.findings.Issues, d.issues...)
	v.findings.Warnings = append(v.findings.Warnings, d.warnings...)
	for _, n := range d.names {
		if n.team && !v.known.teams[n.id] || !n.team && !v.known.agents[n.id] {
			v.warn("unknown_reference", file, file+": "+n.field+" "+n.id+" names nobody")
		}
	}
	for _, name := range d.needs {
		if st, err := v.fs.Stat(name); err != nil || !st.Mode().IsRegular() {
			v.missing("missing_file", name)
		}
	}
	return true
}

// required is document for a file that must exist.
func (v *inspection) required(file string, k kind) bool {
	there := v.document(file, k)
	if !there {
		v.missing("missing_file", file)
	}
	return there
}

func (v *inspection) checkFile(file string, k kind) (d finding, there bool) {
	version, _, err := v.see(file)
	if durable.IsAbsent(err) {
		return d, false
	}
	if err == nil {
		if d, ok := v.memory.finding(file, version); ok {
			return d, true
		}
	}
	text, st, err := durable.ReadFileInfo(v.fs, file, k.limit)
	if durable.IsAbsent(err) {
		return d, false
	}
	if err != nil {
		d.issue(k.unreadable, file, durable.Cause(err))
		return d, true
	}
	d = k.judge(file, text)
	v.memory.judged(file, durable.VersionOf(st), d)
	return d, true
}

// memory is the cache of earlier validations of an open workspace, and the clock that decides
// what is cacheable. A nil memory caches nothing.
type memory struct {
	fs   durable.FS
	docs *filecache.Cache[finding]
	dirs *filecache.Listings
	now  func() time.Time
}

func (m *memory) finding(name string, version durable.Version) (finding, bool) {
	if m == nil {
		return finding{}, false
	}
	return m.docs.Get(name, version)
}

func (m *memory) judged(name string, version durable.Version, d finding) {
	if m != nil && version.Cacheable(m.fs, m.now()) {
		m.docs.Put(name, version, d)
	}
}

func (m *memory) list(fsys durable.FS, see filecache.StatFunc, dir string) ([]durable.Entry, error) {
	if m == nil {
		_, entries, err := filecache.ReadDir(fsys, dir)
		return entries, err
	}
	return m.dirs.List(fsys, see, dir, m.now)
}
