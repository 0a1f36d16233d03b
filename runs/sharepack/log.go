package sharepack

// The log of a run in a pack: filtered and redacted line by line.

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"

	"ac/events"
	"ac/internal/canonjson"
	"ac/internal/durable"
	"ac/internal/redact"
	"ac/workspace"
	"ac/workspace/doc"
)

// run adds the log of a run, if it is readable and at least one of its lines may leave.
func (b *builder) run(ctx context.Context, run string) error {
	source := workspace.LogFile(b.project, run)
	log, err := b.w.FS.OpenFile(source, os.O_RDONLY, 0)
	if err != nil {
		return nil // a pack omits runs without a readable log
	}
	defer log.Close()
	if !b.logs {
		b.logs = true
		if err := b.stage.Mkdir(logsDir); err != nil {
			return err
		}
	}
	name := path.Join(logsDir, run+".events.jsonl")
	out, err := b.stage.File(name)
	if err != nil {
		return err
	}
	count, gaps, err := b.copyLog(ctx, log, out)
	if err = errors.Join(err, out.Close()); err != nil {
		return fmt.Errorf("%s: %w", source, err)
	}
	if count == 0 {
		return b.stage.Remove(name)
	}
	if len(gaps) > 0 {
		b.leftOut.Runs = append(b.leftOut.Runs, runLeftOut{run, gaps})
	}
	b.manifest.IncludedRuns = append(b.manifest.IncludedRuns, doc.IncludedRun{
		RunID: run, SourceRelpath: source, BundleRelpath: path.Join(b.dir, name), IncludedEventCount: count,
	})
	return nil
}

// copyLog reads the log twice, up to its size at the start. The first pass finds secrets that
// span chunks of output. The second writes the copy.
func (b *builder) copyLog(ctx context.Context, log, out durable.File) (count int, gaps []events.Gap, err error) {
	st, err := log.Stat()
	if err != nil {
		return 0, nil, err
	}
	seams := newSeams(b.redactor)
	err = eachLine(ctx, io.NewSectionReader(log, 0, st.Size()), func(line events.Line) error {
		seams.add(line)
		return nil
	})
	if err != nil {
		return 0, nil, err
	}
	var there int64 // events in the copy so far
	buffered := bufio.NewWriterSize(out, 256<<10)
	var scratch []byte
	err = eachLine(ctx, io.NewSectionReader(log, 0, st.Size()), func(line events.Line) error {
		text, leaves := redactLine(b.redactor, scratch[:0], line, seams)
		scratch = text
		if !leaves {
			gaps = add(gaps, there, events.Text(line.Raw, "event_hash"))
			return nil
		}
		if err := canonjson.Members(text, func(canonjson.Member) {}); err == nil || errors.Is(err, canonjson.ErrNoObject) {
			there++
		}
		count++
		_, err := buffered.Write(append(text, '\n'))
		return err
	})
	if err == nil {
		err = buffered.Flush()
	}
	if err == nil {
		err = out.SyncData()
	}
	return count, gaps, err
}

// add records the hash of an omitted event in the gap that follows the first after events of the
// copy.
func add(gaps []events.Gap, after int64, hash string) []events.Gap {
	if last := len(gaps) - 1; last >= 0 && gaps[last].After == after {
		gaps[last].EventHashes = append(gaps[last].EventHashes, hash)
		return gaps
	}
	return append(gaps, events.Gap{After: after, EventHashes: []string{hash}})
}

// leftOut is the content of left_out.json, the list of events that a pack omits. It is a
// separate file because rows of the manifest allow no further members.
type leftOut struct {
	SchemaVersion int          `json:"schema_version"`
	Type          string       `json:"type"`
	Runs          []runLeftOut `json:"runs"`
}

type runLeftOut struct {
	RunID string       `json:"run_id"`
	Gaps  []events.Gap `json:"gaps"`
}

const leftOutName = "left_out.json"

// writeLeftOut writes left_out.json, unless the pack omits nothing.
func (b *builder) writeLeftOut() error {
	if len(b.leftOut.Runs) == 0 {
		return nil
	}
	b.leftOut.SchemaVersion, b.leftOut.Type = doc.Version, "share_pack_left_out"
	text, err := json.Marshal(b.leftOut)
	if err != nil {
		return err
	}
	return b.stage.WriteFile(leftOutName, append(text, '\n'))
}

func eachLine(ctx context.Context, r io.Reader, visit func(events.Line) error) error {
	scanner := events.NewScanner(r, 0, 0)
	for {
		line, err := scanner.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err := errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		if err := visit(line); err != nil {
			return err
		}
	}
}

// redactLine appends the redacted line to dst. leaves is false if the line must not leave. A
// note replaces a line that is too long or too deeply nested, because it may contain secrets that
// the redactor would miss.
func redactLine(redactor *redact.Redactor, dst []byte, line events.Line, seams *seams) (text []byte, leaves bool) {
	visible := true
	err := canonjson.Members(line.Raw, func(m canonjson.Member) {
		if string(m.Key) == "visibility" && m.Value[0] == '"' {
			visible = visible && included(canonjson.Unquote(m.Value))
		}
	})
	if line.Long || errors.Is(err, canonjson.ErrDepth) {
		return fmt.Appendf(dst, "[line %d of the log is omitted: it is too long or too deeply nested to be redacted]", line.Seq), true
	}
	if err == nil && !visible {
		return dst, false
	}
	if err != nil && !errors.Is(err, canonjson.ErrNoObject) {
		return append(dst, redactor.Text(string(line.Raw))...), true
	}
	raw := seams.apply(line)
	if text, err = redactor.JSON(dst, raw); err != nil {
		return append(dst, redactor.Text(string(raw))...), true
	}
	return text, true
}
