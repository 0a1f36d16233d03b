package pipeline

// What planning has used, as far as anybody knows.

import (
	"math"
	"unicode/utf16"

	"ac/runs"
	"ac/workspace/doc"
)

// UsageEstimate is what the runs of a plan have used.
type UsageEstimate struct {
	Source               string     `json:"source"`
	Confidence           string     `json:"confidence"`
	Method               string     `json:"method"`
	EstimatedTotalTokens int64      `json:"estimated_total_tokens"`
	EstimatedCostUSD     *float64   `json:"estimated_cost_usd"`
	ByRun                []RunUsage `json:"by_run"`
}

// RunUsage is what one of them has used.
type RunUsage struct {
	Stage                 string   `json:"stage"`
	AgentID               string   `json:"agent_id"`
	RunID                 string   `json:"run_id"`
	ContextPackID         string   `json:"context_pack_id"`
	PromptChars           int64    `json:"prompt_chars"`
	OutputChars           int64    `json:"output_chars"`
	EstimatedInputTokens  int64    `json:"estimated_input_tokens"`
	EstimatedOutputTokens int64    `json:"estimated_output_tokens"`
	EstimatedTotalTokens  int64    `json:"estimated_total_tokens"`
	EstimateMethod        string   `json:"estimate_method"`
	Source                string   `json:"source"`
	Confidence            string   `json:"confidence"`
	EstimatedCostUSD      *float64 `json:"estimated_cost_usd"`
}

// Sources of figures, and how sure they are.
const (
	reported  = "provider_reported"
	estimated = "estimated_chars"
	mixed     = "mixed"
)

// charsMethod is how tokens are estimated where the run has no usage.
const charsMethod = "characters / 4, rounded up, at least 1"

// estimate sums up what the stages have used.
func (p *planning) estimate(stages []*stage) (UsageEstimate, error) {
	sum := UsageEstimate{Method: "the usage of each run where it has one, else " + charsMethod + ", of instructions and artifact", ByRun: []RunUsage{}}
	known := map[string]bool{}
	for _, s := range stages {
		run, err := runs.Load(p.w, p.project, s.planned.RunID)
		if err != nil {
			return sum, err
		}
		used := usageOf(s, run.Usage)
		known[used.Source] = true
		sum.EstimatedTotalTokens += used.EstimatedTotalTokens
		if used.EstimatedCostUSD != nil {
			total := *used.EstimatedCostUSD
			if sum.EstimatedCostUSD != nil {
				total += *sum.EstimatedCostUSD
			}
			total = math.Round(total*1e9) / 1e9 // as costs are kept
			sum.EstimatedCostUSD = &total
		}
		sum.ByRun = append(sum.ByRun, used)
	}
	switch {
	case known[reported] && known[estimated]:
		sum.Source, sum.Confidence = mixed, "medium"
	case known[reported]:
		sum.Source, sum.Confidence = reported, "high"
	default:
		sum.Source, sum.Confidence = estimated, "low"
	}
	return sum, nil
}

// usageOf is what a stage has used: by its run's usage, else by its characters.
func usageOf(s *stage, usage *doc.Usage) RunUsage {
	used := RunUsage{
		Stage: s.name, AgentID: s.agent.ID, RunID: s.planned.RunID, ContextPackID: s.planned.ContextPackID,
		PromptChars: chars(s.prompt), OutputChars: chars(s.text),
	}
	used.EstimatedInputTokens, used.EstimatedOutputTokens = tokens(used.PromptChars), tokens(used.OutputChars)
	used.EstimatedTotalTokens = used.EstimatedInputTokens + used.EstimatedOutputTokens
	used.EstimateMethod, used.Source, used.Confidence = charsMethod, estimated, "low"
	if usage == nil {
		return used
	}
	used.EstimatedInputTokens, used.EstimatedOutputTokens = orZero(usage.InputTokens), orZero(usage.OutputTokens)
	used.EstimatedTotalTokens, used.EstimatedCostUSD = usage.TotalTokens, usage.CostUSD
	used.Source, used.Confidence, used.EstimateMethod = usage.Source, usage.Confidence, usage.EstimateMethod
	if used.EstimateMethod == "" {
		used.EstimateMethod = "reported by the provider"
	}
	return used
}

func orZero(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

// tokens estimates how many tokens a number of characters are.
func tokens(chars int64) int64 { return max(1, (chars+3)/4) }

// chars counts as providers' estimates do, in UTF-16.
func chars(text string) int64 { return int64(len(utf16.Encode([]rune(text)))) }
