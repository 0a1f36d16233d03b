package hub

// What an agent would have on this machine and lacks on another one: a notice tells it.

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"ac/events"
	"ac/runs/mcpserver"
	"ac/workspace"
)

type noticePayload struct {
	Message string `json:"message"`
}

// absent is a notice of what the agent of a launch does not have over there, nothing for one
// that lacks nothing.
func (l *launch) absent(source events.Source) ([]events.Draft, error) {
	lacks, err := l.lacks()
	if err != nil || len(lacks) == 0 {
		return nil, err
	}
	d, err := l.draft(source, events.RunNotice, noticePayload{fmt.Sprintf("On %s the agent does not have %s.", l.at.name, strings.Join(lacks, ", nor "))})
	return []events.Draft{d}, err
}

func (l *launch) lacks() (list []string, err error) {
	o := l.order
	if o.ModelProfile != "" {
		list = append(list, "model profile "+o.ModelProfile)
	}
	attached, err := tree(l.h.w.FS, path.Join(workspace.RunDir(o.ProjectID, o.RunID), "outputs/attachments"))
	if err == nil && len(attached) > 0 {
		list = append(list, "the files that were attached to the run")
	}
	if err != nil || o.Live == nil {
		return list, err
	}
	if o.Live.MCP {
		list = append(list, "the tools of ac")
	}
	machine, err := l.h.w.Machine()
	if err != nil {
		return list, err
	}
	for _, id := range slices.Sorted(maps.Keys(machine.MCPServers)) {
		if s := machine.MCPServers[id]; s.Enabled && slices.Contains(mcpserver.Drivers(id, s), o.Live.Driver) {
			list = append(list, "MCP server "+id)
		}
	}
	return list, nil
}
