package main

// Conversations: sending and listing messages.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const manyMessages = 100_000

// measureMessages times sending messages and listing the last ones of many.
func measureMessages(ctx context.Context, b *bench) (found []figure, err error) {
	dir := b.path("messages")
	if err := b.fixture(ctx, dir, size{}); err != nil {
		return nil, err
	}
	c, err := b.serve(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	var project struct {
		ID string `json:"project_id"`
	}
	if err := c.call("workspace.project.create_with_defaults", map[string]any{"workspace_dir": dir, "name": "P"}, &project); err != nil {
		return nil, err
	}
	home := "conv_" + project.ID + "_home"
	in := func(more map[string]any) map[string]any {
		more["workspace_dir"], more["scope"], more["project_id"], more["conversation_id"] = dir, "project", project.ID, home
		return more
	}
	message := in(map[string]any{"author_id": "human_ceo", "author_role": "ceo", "body": strings.Repeat("said ", 40)})
	sent, err := repeat(50, func() error { return c.call("conversation.message.send", message, nil) })
	if err != nil {
		return nil, err
	}
	synced, err := b.syncedFiles("message-bare", 1)
	if err != nil {
		return nil, err
	}
	logs, err := filepath.Glob(filepath.Join(dir, "work/projects", project.ID, "conversations", home, "messages.jsonl"))
	if err != nil || len(logs) != 1 {
		return nil, errors.Join(err, fmt.Errorf("%d logs of messages", len(logs)))
	}
	text, err := os.ReadFile(logs[0])
	if err != nil {
		return nil, err
	}
	many := strings.Repeat(string(text), manyMessages/len(sent))
	if err := os.WriteFile(logs[0], []byte(many), 0o600); err != nil {
		return nil, err
	}
	listed, err := repeat(20, func() error {
		var rows []struct{}
		err := c.call("conversation.messages.list", in(map[string]any{"limit": 300}), &rows)
		if err == nil && len(rows) != 300 {
			err = fmt.Errorf("%d messages listed", len(rows))
		}
		return err
	})
	return []figure{
		{Name: "conversation.message.send", Unit: "ms", Seen: ms(sent.median()), Target: 5, Limit: ms(synced.median()), By: "one synced file", Note: sent.spread()},
		{Name: "last 300 of 100,000 messages", Unit: "ms", Seen: ms(listed.median()), Target: 10, Note: listed.spread() + fmt.Sprintf("; a log of %d MB", len(many)/1e6)},
	}, err
}
