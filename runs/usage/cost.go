package usage

// The cost of usage, by this machine's rate cards.

import (
	"math"

	"ac/workspace/doc"
)

// cardKeys returns the keys of a provider's rate card, in lookup order.
func cardKeys(provider string) []string {
	keys := []string{provider}
	if p := doc.ProviderNamed(provider); p.PolicyFrom != "" {
		keys = append(keys, string(p.Driver))
	}
	return append(keys, "default")
}

// Price sets the cost of a usage and returns whether it has one. It keeps a cost that the agent
// reported. Without a rate card, or if the cost overflows, it sets CostSource to CostUnknown.
func Price(u *doc.Usage, cards map[string]doc.RateCard) bool {
	if u.CostUSD != nil && u.CostSource == CostReported {
		return true
	}
	for _, name := range cardKeys(u.Provider) {
		card, ok := cards[name]
		if !ok {
			continue
		}
		usd := cost(u, card)
		if math.IsInf(usd, 0) {
			break // an overflow is no cost and makes the document invalid
		}
		u.CostUSD, u.CostCurrency = &usd, "USD"
		u.CostSource, u.CostRateCardProvider = CostRateCard, name
		return true
	}
	u.CostSource = CostUnknown
	return false
}

func cost(u *doc.Usage, card doc.RateCard) float64 {
	input, output := u.InputTokens, u.OutputTokens
	if input == nil && output == nil && u.CachedInputTokens == nil && u.ReasoningOutputTokens == nil {
		half := u.TotalTokens / 2
		input, output = &half, new(u.TotalTokens-half)
	}
	price := func(tokens *int64, rate float64) float64 {
		if tokens == nil {
			return 0
		}
		return float64(*tokens) / 1000 * rate
	}
	or := func(rate *float64, otherwise float64) float64 {
		if rate == nil {
			return otherwise
		}
		return *rate
	}
	sum := price(input, card.Input) + price(u.CachedInputTokens, or(card.CachedInput, card.Input)) +
		price(output, card.Output) + price(u.ReasoningOutputTokens, or(card.ReasoningOutput, card.Output))
	if sum >= 1<<53 { // too large for nine exact decimals
		return sum
	}
	return math.Floor(sum*1e9+0.5) / 1e9
}
