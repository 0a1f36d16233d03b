package terminal

// Shut is the first step of Close: it rejects new terminals and returns those to be ended.
func (h *Hub) Shut() []*Terminal { return h.shut() }
