package doc

// ModelProfile is a model that runs can be started with, stored in machine.yaml: the model's
// name at a provider and, if it differs from the agent's own, the address. APIKey and header
// values are Hidden if secrets.yaml holds them.
type ModelProfile struct {
	Provider       string            `json:"provider"`
	Model          string            `json:"model"`
	BaseURL        string            `json:"base_url,omitempty" is:"optional"`
	RequestHeaders map[string]string `json:"request_headers,omitempty" is:"optional"`
	ContextWindow  int64             `json:"context_window,omitempty" is:"optional"`
	AgentID        string            `json:"agent_id,omitempty" is:"optional"`
	APIKey         string            `json:"api_key,omitempty" is:"optional"`
}
