package agentbench

import (
	"sync"
)

// Steps returns a script that gives one reply after another and then repeats the last one. It
// answers the bookkeeping requests of the agents (see Bookkeeping) without advancing.
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

// Bookkeeping answers the requests that an agent makes for its own purposes; ok is false for
// all others. A choice of model is charged, a title is not.
func Bookkeeping(r Request, charged Usage) (reply Reply, ok bool) {
	switch {
	case r.API == Gemini && r.Schema: // the choice of a model
		return Reply{Text: `{"complexity_reasoning":"simple","complexity_score":10}`, Usage: charged}, true
	case r.API == Chat && len(r.Tools) == 0: // a title
		return Reply{Text: "A title"}, true
	}
	return Reply{}, false
}
