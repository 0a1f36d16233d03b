package orchestration

// run.output: the output of a run, as one append-only text.

import (
	"context"
	"unicode/utf8"

	"ac/company"
	"ac/feed"
	"ac/runs/transcript"
)

// RunOutputParams are the params of run.output.
type RunOutputParams struct {
	company.Dir
	ProjectID string `json:"project_id" is:"id"`
	RunID     string `json:"run_id" is:"id"`
	Format    string `json:"format" is:"default=text,enum=text|raw"`
	Offset    int64  `json:"offset" is:"default=0,min=0"`
	Limit     int    `json:"limit" is:"default=262144,min=4,cut=1048576"`
	Tail      bool   `json:"tail" is:"default=false"`
}

// RunOutput is a part of the output of a run. Offsets count bytes of UTF-8.
type RunOutput struct {
	Text       string `json:"text"`
	Offset     int64  `json:"offset"`
	NextOffset int64  `json:"next_offset"`
	Size       int64  `json:"size"`
	// Complete is set if the run is over and nothing follows the text.
	Complete bool `json:"complete"`
}

// outputPage is how many events are read at once.
const outputPage = 1000

// Output reads the output of a run, raw or readable. Readable output is a pure function of the
// log: the items of the transcript in the order in which they closed. A run without a log is
// fault.NotFound.
func (c Operations) Output(ctx context.Context, p RunOutputParams) (RunOutput, error) {
	_, over := c.overByRecord(NamedRun{p.ProjectID, p.RunID}) // must precede reading the log
	printed := outputText{raw: p.Format == "raw", fold: transcript.NewFold(p.ProjectID), shown: map[string]bool{}}
	for at, more := int64(0), true; more; {
		page, err := c.Host().Logs().Replay(ctx, c.Workspace(), feed.PageSpec{Project: p.ProjectID, Run: p.RunID, Since: at, Limit: outputPage})
		if err != nil {
			return RunOutput{}, err
		}
		for _, e := range page.Events {
			printed.take(e.Seq, e.Event)
		}
		at, more = page.Next, page.More
	}
	return cutOutput(printed.text, p, over), nil
}

// outputText is the output so far.
type outputText struct {
	raw   bool
	fold  *transcript.Fold
	shown map[string]bool // items already in the text
	text  []byte
}

func (o *outputText) take(seq int64, event []byte) {
	if o.raw {
		if _, _, chunk, ok := transcript.Output(event, nil); ok {
			o.text = append(o.text, chunk...)
		}
		return
	}
	for _, change := range o.fold.Line(seq, event) {
		i := change.Item
		if i == nil || change.Op == transcript.Append || i.State != transcript.StateClosed || i.Kind == transcript.KindUsage || o.shown[i.ID] {
			continue
		}
		o.shown[i.ID] = true
		o.text = append(o.text, transcript.Render(i)...)
	}
}

// cutOutput returns the requested part of the text. It never splits a character.
func cutOutput(text []byte, p RunOutputParams, over bool) RunOutput {
	size := int64(len(text))
	from := min(p.Offset, size)
	if p.Tail {
		from = max(from, size-int64(p.Limit))
	}
	to := min(from+int64(p.Limit), size)
	for from < to && !utf8.RuneStart(text[from]) {
		from++
	}
	if to < size {
		for to > from && !utf8.RuneStart(text[to]) {
			to--
		}
	}
	return RunOutput{Text: string(text[from:to]), Offset: from, NextOffset: to, Size: size, Complete: over && to == size}
}
