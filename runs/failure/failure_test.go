package failure

import "testing"

// TestFailures checks how agents' error messages are classified.
func TestFailures(t *testing.T) {
	t.Parallel()
	for words, want := range map[string]string{
		"unexpected status 401 Unauthorized: no, url: http://127.0.0.1/v1/responses":  Auth,
		"Your access token could not be refreshed. Please log out and sign in again.": Auth,
		"Invalid API key · Please run /login":                                         Auth,
		"Invalid auth method selected.":                                               Auth,
		"exceeded retry limit, last status: 429 Too Many Requests":                    RateLimit,
		"API Error: Request rejected (429) · slow down":                               RateLimit,
		"We’re currently experiencing high demand, which may cause temporary errors.": Overloaded,
		"API Error: 529 Overloaded":                                                   Overloaded,
		"You've hit your usage limit. Try again at 3pm.":                              Quota,
		"Credit balance is too low":                                                   Quota,
		"Prompt is too long":                                                          Context,
		"Gemini CLI is not running in a trusted directory. To proceed, either use `--skip-trust`, or trust the directory": Trust,
		"Not inside a trusted directory and --skip-git-repo-check was not specified.":                                     Trust,
		"error sending request for url (http://127.0.0.1:1/v1/responses)":                                                 Network,
		"fetch failed: connect ECONNREFUSED 127.0.0.1:1":                                                                  Network,
		"thread 'main' panicked at src/main.rs":                                                                           Crash,
		"stream disconnected before completion: Incomplete response returned, reason: content_filter":                     Refused,
		"This request has been flagged for possible cybersecurity risk.":                                                  Refused,
		"Your prompt was flagged as potentially violating our usage policy.":                                              Refused,
		"The model response was blocked due to safety settings.":                                                          Refused,
		"The response was blocked by the provider's content filter":                                                       Refused,
		"something else entirely": Unknown,
	} {
		if got := Classify(words); got != want {
			t.Errorf("%q is %s, want %s", words, got, want)
		}
	}
	for words, want := range map[string]string{
		"Please try again in 11.054s.": "11.054s", "Suggested retry after 1s.": "1s", `"retryDelay":"37s"`: "37s", "Try again in 5 minutes": "5m0s", "try again later": "0s",
		"retry in 250 ms": "250ms",
	} {
		if got := retryAfter(words).String(); got != want {
			t.Errorf("%q: %s, want %s", words, got, want)
		}
	}
}
