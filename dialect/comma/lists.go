package comma

// Lists of runs, and the conversation of a run.

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"ac/company/orchestration"
	"ac/dialect"
	"ac/heartbeat/workflow"
	"ac/internal/clock"
	"ac/internal/shape"
	"ac/runs/transcript"
	"ac/workspace/doc"
)

const (
	maxRows         = 500
	maxRecords      = 200
	maxConversation = 4 << 20 // bytes of the message with the conversation of a run
	maxToolOutput   = 4 << 10
)

type runSummary struct {
	RunID        string `json:"runId"`
	StrategyName string `json:"strategyName"`
	Status       string `json:"status"`
	StartedAt    string `json:"startedAt"`
	CompletedAt  string `json:"completedAt,omitempty"`
}

type strategyList struct {
	Runs []runSummary `json:"runs"`
}

type runRow struct {
	RunID        string  `json:"runId"`
	Cwd          string  `json:"cwd"`
	StrategyName string  `json:"strategyName"`
	StrategyPath string  `json:"strategyPath"`
	StartedAt    string  `json:"startedAt"`
	CompletedAt  *string `json:"completedAt"` // null while the run is active
	Status       string  `json:"status"`
}

type runList struct {
	Runs []runRow `json:"runs"`
}

// statusOf returns the status of a run in the terms of the protocol.
func statusOf(status string) string {
	switch status {
	case doc.FlowSucceeded:
		return "completed"
	case doc.FlowFailed:
		return "error"
	case doc.FlowCanceled:
		return "cancelled"
	}
	return "running"
}

// nameOf returns the name of a run's strategy.
func nameOf(record *doc.WorkflowRun) string {
	name := record.Templates[record.Round().Template].Get("name")
	return name.Text
}

// listStrategies lists the prepared runs and the latest started ones.
func (c *connection) listStrategies(ctx context.Context, r *request) error {
	s := c.server
	records, err := s.records(ctx)
	if err != nil {
		return err
	}
	rows := []runSummary{}
	for _, p := range s.memory.preparedRuns() {
		if !p.again {
			rows = append(rows, runSummary{RunID: p.run, StrategyName: p.shown.name, Status: "pending", StartedAt: clock.Stamp(p.at)})
		}
	}
	for i := range records[:min(len(records), maxRows)] {
		one := &records[i]
		row := runSummary{RunID: one.RunID, StrategyName: nameOf(one), Status: statusOf(one.Status), StartedAt: one.Round().StartedAt}
		if s.memory.find(one.RunID) != nil && one.Over() {
			row.Status = "pending"
		}
		if one.Over() && row.Status != "pending" {
			row.CompletedAt = one.EndedAt
		}
		rows = append(rows, row)
	}
	slices.SortStableFunc(rows, func(a, b runSummary) int { return strings.Compare(b.StartedAt, a.StartedAt) })
	c.answer(r.RequestID, frame{"strategy_list", strategyList{rows}})
	return nil
}

// listRuns lists the started runs, of all directories or of one.
func (c *connection) listRuns(ctx context.Context, r *request) error {
	s := c.server
	records, err := s.records(ctx)
	if err != nil {
		return err
	}
	wanted := ""
	if r.Cwd != "" {
		wanted = resolved(filepath.Clean(absolute(r.Cwd, "", s.dir)))
	}
	rows := []runRow{}
	for i := range records {
		one := &records[i]
		cwd := s.directory(ctx, one.Place)
		if wanted != "" && resolved(cwd) != wanted {
			continue
		}
		if len(rows) == maxRows {
			break
		}
		row := runRow{
			RunID: one.RunID, Cwd: cwd, StrategyName: nameOf(one), StrategyPath: one.SourcePath,
			StartedAt: one.Round().StartedAt, Status: statusOf(one.Status),
		}
		if row.StrategyPath == "" && one.WorkflowID != "" {
			row.StrategyPath = "workflow:" + one.WorkflowID
		}
		if one.Over() {
			row.CompletedAt = &one.EndedAt
		}
		rows = append(rows, row)
	}
	c.answer(r.RequestID, frame{"run_list", runList{rows}})
	return nil
}

// conversation is what was said in a run.
type conversation struct {
	Records         []callRecord  `json:"records"`
	RetentionEvents []shape.Value `json:"retentionEvents"` // always empty
	Inputs          []roundInput  `json:"inputs"`
}

type callRecord struct {
	ID               string            `json:"id"`
	AgentName        string            `json:"agentName"`
	CreatedAt        string            `json:"createdAt"`
	UserMessage      userMessage       `json:"userMessage"`
	ResponseMessages []responseMessage `json:"responseMessages"`
	Text             string            `json:"text"`
	Usage            usage             `json:"usage"`
	FinishReason     string            `json:"finishReason"`
}

type userMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type responseMessage struct {
	Role    string `json:"role"`
	Content []any  `json:"content"`
}

type calledTool struct {
	Type       string          `json:"type"`
	ToolCallID string          `json:"toolCallId"`
	ToolName   string          `json:"toolName"`
	Input      json.RawMessage `json:"input"`
}

type toolOutput struct {
	Type       string `json:"type"`
	ToolCallID string `json:"toolCallId"`
	ToolName   string `json:"toolName"`
	Output     string `json:"output"`
}

type roundInput struct {
	Text           string `json:"text"`
	BeforeRecordID string `json:"beforeRecordId,omitempty"`
	round          int
}

func noConversation() conversation {
	return conversation{Records: []callRecord{}, RetentionEvents: []shape.Value{}, Inputs: []roundInput{}}
}

// conversation reads what was said in a run, limited to room bytes: its newest inputs, in at most
// half of them, and its newest calls.
func (s *server) conversation(ctx context.Context, record doc.WorkflowRun, room int) (conversation, error) {
	talk := noConversation()
	ended, steps, err := endedCalls(record)
	if err != nil {
		return talk, err
	}
	var used int
	talk.Inputs, used = newestInputs(record, room/2)
	room -= used
	firsts := map[int]string{} // first call of each round
	for _, p := range slices.Backward(ended) {
		one, err := s.callRecord(ctx, record.RunID, p, steps[stepKey(p.Round, p.Path, p.Iteration)])
		if err != nil {
			return talk, err
		}
		if room -= encodedSize(one); room < 0 {
			break
		}
		talk.Records, firsts[p.Round] = append(talk.Records, one), one.ID
	}
	slices.Reverse(talk.Records)
	for i := range talk.Inputs {
		talk.Inputs[i].BeforeRecordID = firsts[talk.Inputs[i].round]
	}
	return talk, nil
}

// endedCalls returns the newest finished calls of a run, and its steps by key. It leaves out
// questions that were never asked.
func endedCalls(record doc.WorkflowRun) (ended []workflow.Passage, steps map[string]doc.FlowStep, err error) {
	templates, err := workflow.Templates(record)
	if err != nil {
		return nil, nil, err
	}
	steps = map[string]doc.FlowStep{}
	for _, step := range record.Steps {
		steps[stepKey(step.Round, step.Path, step.Iteration)] = step
	}
	for _, p := range workflow.Passages(templates, record) {
		if _, asked := steps[stepKey(p.Round, p.Path, p.Iteration)]; asked && p.State == workflow.Left && p.Text != nil {
			ended = append(ended, p)
		}
	}
	return ended[max(0, len(ended)-maxRecords):], steps, nil
}

// newestInputs returns the newest inputs of a run's rounds that fit into room bytes, and the bytes
// they use. Each reserves space for the id of a call.
func newestInputs(record doc.WorkflowRun, room int) (inputs []roundInput, used int) {
	inputs = []roundInput{}
	for _, round := range slices.Backward(record.Rounds) {
		if round.Input == "" {
			continue
		}
		size := encodedSize(roundInput{Text: round.Input, BeforeRecordID: record.RunID + ":" + strings.Repeat("0", maxStepID)})
		if used+size > room {
			break
		}
		used += size
		inputs = append(inputs, roundInput{Text: round.Input, round: round.Round})
	}
	slices.Reverse(inputs)
	return inputs, used
}

// maxStepID bounds the id of a step, in bytes.
const maxStepID = 200

// encodedSize returns how many bytes a value adds to a list in a message.
func encodedSize(v any) int {
	text, err := dialect.Encode(v)
	if err != nil {
		return maxConversation // too large for any message
	}
	return len(text) + 1 // plus a comma
}

// stepKey returns the key of one entry of a node.
func stepKey(round int, path string, iteration int) string {
	return fmt.Sprintf("%d/%s/%d", round, path, iteration)
}

// callRecord returns one call, with the tools that its agent used.
func (s *server) callRecord(ctx context.Context, run string, p workflow.Passage, step doc.FlowStep) (callRecord, error) {
	one := callRecord{
		ID: run + ":" + step.Step, AgentName: p.Name, CreatedAt: p.StartedAt, UserMessage: userMessage{"user", p.Input},
		Text: *p.Text, FinishReason: "stop",
	}
	said := responseMessage{Role: "assistant"}
	outputs := responseMessage{Role: "tool"}
	if p.JobID != "" {
		tools, err := s.toolsOf(ctx, p.JobID)
		if err != nil {
			return one, err
		}
		for _, item := range tools {
			input := json.RawMessage(argsOf(item))
			said.Content = append(said.Content, calledTool{"tool-call", item.ID, toolName(item), input})
			outputs.Content = append(outputs.Content, toolOutput{"tool-result", item.ID, toolName(item), cutTail(outputOf(item), maxToolOutput)})
		}
		if one.Usage, err = s.usageOf(ctx, p.JobID); err != nil {
			return one, err
		}
	}
	said.Content = append(said.Content, textEvent{"text", *p.Text})
	one.ResponseMessages = []responseMessage{said}
	if len(outputs.Content) > 0 {
		one.ResponseMessages = append(one.ResponseMessages, outputs)
	}
	return one, nil
}

// toolsOf returns the tool items of a job's attempts.
func (s *server) toolsOf(ctx context.Context, job string) (items []*transcript.Item, err error) {
	attempts, err := dialect.Do(ctx, s.Company, orchestration.Operations.StepAttempts, orchestration.StepAttemptsParams{Dir: s.In(), ProjectID: s.ProjectID, JobID: job})
	for _, a := range attempts {
		page, err := dialect.Do(ctx, s.Company, orchestration.Operations.Transcript, orchestration.TranscriptParams{
			Dir: s.In(), ProjectID: s.ProjectID, RunID: a.RunID, Kinds: []string{transcript.KindTool, transcript.KindFileChange}, Limit: 1000,
		})
		if unknown(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, item := range page.Items {
			if item.Tool != nil && item.Parent == "" {
				items = append(items, item)
			}
		}
	}
	return items, err
}

// cutTail returns the last bytes of a text, at most most.
func cutTail(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[len(text)-most:], "")
}
