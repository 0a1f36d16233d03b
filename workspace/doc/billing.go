package doc

// Recorded bills of providers.

import "ac/internal/yamldoc"

// Sources of a statement.
const (
	StatementManual = "manual"
	StatementAPI    = "api"
)

// Statement is one line of a provider's bill.
type Statement struct {
	_             struct{} `is:"strict"`
	SchemaVersion int      `json:"schema_version" is:"min=1,max=1"`
	Type          string   `json:"type" is:"enum=usage_reconciliation_statement"`
	StatementID   string   `json:"statement_id"`
	Provider      string   `json:"provider"`
	ProviderKey   string   `json:"provider_key"`
	PeriodStart   string   `json:"period_start"`
	PeriodEnd     string   `json:"period_end"`
	Currency      string   `json:"currency" is:"enum=USD"`
	BilledCostUSD float64  `json:"billed_cost_usd" is:"min=0"`
	BilledTokens  *int64   `json:"billed_tokens,omitempty" is:"optional,min=0"`
	Source        string   `json:"source" is:"enum=manual|api"`
	ExternalRef   string   `json:"external_ref,omitempty" is:"optional"`
	Notes         string   `json:"notes,omitempty" is:"optional"`
	ImportedAt    string   `json:"imported_at" is:"time"`
}

// Statements is .local/billing/reconciliation_statements.json.
type Statements struct {
	_             struct{}    `is:"strict"`
	SchemaVersion int         `json:"schema_version" is:"min=1,max=1"`
	Type          string      `json:"type" is:"enum=usage_reconciliation_statements"`
	UpdatedAt     string      `json:"updated_at" is:"time"`
	Statements    []Statement `json:"statements"`
}

// StatementsCodec reads and writes the statements of a workspace.
var StatementsCodec = yamldoc.For[Statements]()
