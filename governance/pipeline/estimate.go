package pipeline

// The usage of planning, as far as it is known.

import (
	"math"
	"unicode/utf16"

	"ac/runs"
	"ac/workspace/doc"
)

// UsageEstimate is the usage of the runs of a plan.
type UsageEstimate struct {
	Source               string     `json:"source"`
	Confidence           string     `json:"confidence"`
	Method               string     `json:"method"`
	EstimatedTotalTokens int64      `json:"estimated_total_tokens"`
	EstimatedCostUSD     *float64   `json:"estimated_cost_usd"`
	ByRun                []RunUsage `json:"by_run"`
}

// RunUsage is the usage of one run.
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

// Sources of figures.
const (
	reported  = "provider_reported"
	estimated = "estimated_chars"
	mixed     = "mixed"
)

// charsMethod is how tokens are estimated if the run reports no usage.
const charsMethod = "characters / 4, rounded up, at least 1"

// estimate sums up the usage of the stages.
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
			total = math.Round(total*1e9) / 1e9 // the precision in which costs are stored
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

// usageOf returns the usage of a stage: as its run reports it, otherwise estimated from its
// characters.
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

// tokens estimates the number of tokens in a number of characters.
func tokens(chars int64) int64 { return max(1, (chars+3)/4) }

// chars counts UTF-16 code units, as providers' estimates do.
func chars(text string) int64 { return int64(len(utf16.Encode([]rune(text)))) }
