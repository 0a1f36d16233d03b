package feed

// Subscriptions whose notifications do not come from the logs of runs.

import (
	"bytes"
	"context"
	"encoding/json"
)

// Sender sends the notifications of a subscription, from its start until ctx ends. notify writes
// one. It blocks while the reader is slow, and fails when the reader is gone or ctx ends. When a
// sender returns, its subscription has ended.
type Sender func(ctx context.Context, id string, notify func(ctx context.Context, method string, params any) error) error

// SubscribeSender begins a subscription that is served by a sender. It shares the ids of all
// subscriptions. An empty id is replaced by a generated one. Nothing is sent before start is
// called.
func (h *Hub) SubscribeSender(id string, send Sender) (answer SubscribeResult, start func(), err error) {
	if id == "" {
		id = h.newID("sub")
	}
	s, replaced, err := h.add(Spec{ID: id, background: func(ctx context.Context) error { return send(ctx, id, h.notify) }})
	replaced.wait()
	if err != nil {
		return answer, nil, err
	}
	return SubscribeResult{ID: id}, func() { h.start(s) }, nil
}

// notify writes a notification.
func (h *Hub) notify(ctx context.Context, method string, params any) error {
	line := bytes.NewBufferString(`{"jsonrpc":"2.0","method":"` + method + `","params":`)
	text := json.NewEncoder(line)
	text.SetEscapeHTML(false)
	if err := text.Encode(params); err != nil {
		return err
	}
	line.Truncate(line.Len() - 1)
	line.WriteByte('}')
	return h.sink.Notify(ctx, line.Bytes())
}
