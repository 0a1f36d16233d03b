package agentbench

import (
	"sync"
)

// Steps is a script that returns one reply after another, the last one again and
// again. Bookkeeping of the agents (titles, choices of a model) is answered beside,
// and charged as side says.
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

// Bookkeeping answers what an agent asks a model for its own ends; ok is false for
// everything else.
func Bookkeeping(r Request, charged Usage) (reply Reply, ok bool) {
	switch {
	case r.API == Gemini && r.Schema: // which model is to answer
		return Reply{Text: `{"complexity_reasoning":"simple","complexity_score":10}`, Usage: charged}, true
	case r.API == Chat && len(r.Tools) == 0: // a title
		return Reply{Text: "A title"}, true
	}
	return Reply{}, false
}
