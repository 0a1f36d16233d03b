package agent

// The usage of an ACP agent's turn, and its model. The protocol has no common place for them:
// opencode reports usage in the response to the prompt, gemini reports both in the response's
// _meta.

import "ac/runs/usage"

// acpEnd is the response to a prompt.
type acpEnd struct {
	Stop  string `json:"stopReason"`
	Usage *struct {
		Input    int64  `json:"inputTokens"`
		Output   int64  `json:"outputTokens"`
		Total    *int64 `json:"totalTokens"`
		Thought  int64  `json:"thoughtTokens"`
		Cached   int64  `json:"cachedReadTokens"`
		CacheNew *int64 `json:"cachedWriteTokens"`
	} `json:"usage"`
	Meta struct {
		Quota struct {
			Count  *acpCount `json:"token_count"`
			Models []struct {
				Model string   `json:"model"`
				Count acpCount `json:"token_count"`
			} `json:"model_usage"`
		} `json:"quota"`
	} `json:"_meta"`
}

type acpCount struct {
	Input  int64 `json:"input_tokens"`
	Output int64 `json:"output_tokens"`
}

// turnUsed records the usage and the model from the response to a prompt.
func (a *acp) turnUsed(end *acpEnd) {
	most := int64(-1)
	for _, m := range end.Meta.Quota.Models {
		if n := m.Count.Input + m.Count.Output; n > most && isModel(m.Model) {
			most, a.model = n, m.Model
		}
	}
	switch u, count := end.Usage, end.Meta.Quota.Count; {
	case u != nil:
		if u.CacheNew != nil {
			u.Input += *u.CacheNew
		}
		turn := usage.Counters{
			Input: &u.Input, Cached: &u.Cached, Output: &u.Output, Reasoning: &u.Thought,
			Total: u.Input + u.Cached + u.Output + u.Thought, CacheWrite: u.CacheNew,
		}
		if u.Total != nil {
			turn.Total = *u.Total
		}
		a.used(turn)
	case count != nil:
		a.used(usage.Counters{Input: &count.Input, Output: &count.Output, Total: count.Input + count.Output})
	}
}

// isModel reports whether a word names a model, rather than leaving the choice to the agent.
func isModel(word string) bool { return word != "" && word != "auto" && word != "default" }

// setModel records the model in use from now on.
func (a *acp) setModel(model string) {
	if isModel(model) {
		a.model = model
	}
}

func (a *acp) used(turn usage.Counters) {
	a.sum, a.usageReported = a.sum.Plus(turn), true
	a.report()
}

// report reports the usage and the cost. The agent's cost is a total of the conversation.
func (a *acp) report() {
	r := usage.Report{Counters: a.sum, Captured: "session/prompt", Model: a.model}
	if a.cost != nil {
		base := 0.0
		if b := a.start.Baseline.CostUSD; b != nil {
			base = *b
		}
		r.CostUSD = new(max(0, *a.cost-base))
	}
	a.host.Used(r)
}
