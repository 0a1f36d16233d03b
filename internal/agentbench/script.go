package agentbench

import (
	"sync"
)

// Steps is a script that returns one reply after another and then repeats the
// last one. Bookkeeping requests of the agents (titles, choice of a model) are
// answered without advancing it, and charged with side.
func Steps(side Usage, replies ...Reply) Script {
	var mu sync.Mutex
	next := 0
	return func(r Request) Reply {
		if answer, ok := Bookkeeping(r, side); ok {
			return answer
		}
		mu.Lock()
		defer mu.Unlock()
		reply := replies[min(next, len(replies)-1)]
		next++
		return reply
	}
}

// Bookkeeping answers the requests that an agent makes for its own purposes; ok
// is false for all others.
func Bookkeeping(r Request, charged Usage) (reply Reply, ok bool) {
	switch {
	case r.API == Gemini && r.Schema: // which model is to answer
		return Reply{Text: `{"complexity_reasoning":"simple","complexity_score":10}`, Usage: charged}, true
	case r.API == Chat && len(r.Tools) == 0: // a title
		return Reply{Text: "A title"}, true
	}
	return Reply{}, false
}
