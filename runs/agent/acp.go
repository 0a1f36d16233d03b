package agent

// The Agent Client Protocol, version 1, for any agent that implements it. A prompt is one call,
// answered at the end of its turn. A second prompt would cancel the first, so nothing is sent
// during a turn.

import (
	"encoding/json"
	"maps"
	"slices"

	"ac/runs/usage"
)

type acp struct {
	host  Host
	start Start
	rpc   rpcConn

	talk    Conversation
	thread  string
	modes   []string
	mode    string // the current one, as the agent confirmed it
	config  []acpOption
	loading bool // the agent is replaying an earlier conversation
	load    bool // the agent can load conversations, which replays them
	resume  bool // the agent can resume conversations without a replay
	login   []string
	command bool // the agent has a compact command
	takes   acpTransports

	requested string // the mode last requested, until the agent responds
	requests  int    // for a mode

	active bool
	turns  int
	asked  map[string]acpRequest
	tools  map[string]acpTool // tool calls as known so far

	sum           usage.Counters
	cost          *float64 // of the whole conversation
	usageReported bool     // usage was reported
	model         string   // the model in use, "" if unknown
}

// ACP returns a driver for an agent that implements the Agent Client Protocol.
func ACP() Driver { return &acp{asked: map[string]acpRequest{}, tools: map[string]acpTool{}} }

type acpInitialize struct {
	Version      int             `json:"protocolVersion"`
	Capabilities acpCapabilities `json:"clientCapabilities"`
	Client       clientInfo      `json:"clientInfo"`
}

type acpCapabilities struct {
	FS struct {
		Read  bool `json:"readTextFile"`
		Write bool `json:"writeTextFile"`
	} `json:"fs"`
	Terminal bool `json:"terminal"`
}

type acpSession struct {
	ID      string `json:"sessionId,omitempty"`
	Cwd     string `json:"cwd"`
	Servers []any  `json:"mcpServers"` // acpServer and acpRemote
}

type acpPrompt struct {
	ID     string    `json:"sessionId"`
	Prompt []acpText `json:"prompt"`
}

type acpText struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// acpVersion is the protocol version that the driver implements.
const acpVersion = 1

func (a *acp) Start(h Host, s Start) error {
	a.host, a.start, a.rpc.send, a.rpc.version = h, s, h.Send, "2.0"
	return a.rpc.call("initialize", acpInitialize{Version: acpVersion, Client: clientInfo{clientName, "ac", s.Version}}, a.greeted)
}

// authRequired is the protocol's error code for a missing login.
const authRequired = -32000

func (a *acp) broke(method string, failed *failure) {
	b := HandshakeFailure{Reason: ReasonProtocol, Error: method + ": " + failed.words()}
	if failed.Code == authRequired || needsLogin(failed.words()) {
		b.Reason = ReasonAuth
		for i, way := range a.login {
			if i == 0 {
				b.Error += "; ways to log in: " + way
			} else {
				b.Error += ", " + way
			}
		}
	}
	a.host.HandshakeFailed(b)
}

func (a *acp) greeted(result json.RawMessage, failed *failure) {
	if failed != nil {
		a.broke("initialize", failed)
		return
	}
	var hello struct {
		Version int `json:"protocolVersion"`
		Agent   struct {
			Name    string `json:"name"`
			Version string `json:"version"`
		} `json:"agentInfo"`
		Capabilities struct {
			Load    bool          `json:"loadSession"`
			MCP     acpTransports `json:"mcpCapabilities"`
			Session struct {
				Resume *struct{} `json:"resume"`
			} `json:"sessionCapabilities"`
		} `json:"agentCapabilities"`
		Auth []struct {
			Name string `json:"name"`
		} `json:"authMethods"`
	}
	decode(result, &hello)
	for _, way := range hello.Auth {
		a.login = append(a.login, way.Name)
	}
	if hello.Version != acpVersion {
		a.host.HandshakeFailed(HandshakeFailure{Reason: ReasonProtocol, Error: "initialize: the agent speaks another version of the protocol"})
		return
	}
	a.load, a.resume = hello.Capabilities.Load, hello.Capabilities.Session.Resume != nil
	a.takes = hello.Capabilities.MCP
	a.talk = Conversation{
		Name: hello.Agent.Name, Version: hello.Agent.Version, Protocol: "1",
		Capabilities: Capabilities{Interrupt: true, Resume: a.load || a.resume, Modes: []string{}, MCP: true},
	}
	a.cannotSend(a.open(a.start.Thread))
}

func (a *acp) cannotSend(err error) {
	if err != nil {
		a.host.HandshakeFailed(HandshakeFailure{Reason: ReasonStuck, Error: err.Error()})
	}
}

// open starts a session, or resumes one.
func (a *acp) open(thread string) error {
	p := acpSession{ID: thread, Cwd: a.start.Dir, Servers: acpServers(a.start.Servers, a.takes)}
	method := "session/new"
	switch {
	case thread == "":
	case a.resume:
		method = "session/resume"
	case a.load:
		method, a.loading = "session/load", true
	default:
		return a.openNew("the agent does not go on with conversations", "session/load")
	}
	return a.rpc.call(method, p, func(result json.RawMessage, failed *failure) { a.opened(method, thread, result, failed) })
}

// openNew starts a new conversation in place of one that the agent could not find. With
// MustResume, the handshake fails instead.
func (a *acp) openNew(why, method string) error {
	a.loading = false
	if a.start.MustResume {
		a.host.HandshakeFailed(HandshakeFailure{Reason: ReasonResume, Error: method + ": " + why})
		return nil
	}
	a.talk.ResumeError = why
	a.start.Baseline = usage.Report{}
	return a.open("")
}

func (a *acp) opened(method, thread string, result json.RawMessage, failed *failure) {
	a.loading = false
	switch {
	case failed != nil && thread != "" && failed.Code != authRequired:
		a.cannotSend(a.openNew(failed.words(), method))
		return
	case failed != nil:
		a.broke(method, failed)
		return
	}
	var known struct {
		ID    string `json:"sessionId"`
		Modes struct {
			Current string `json:"currentModeId"`
			Modes   []struct {
				ID string `json:"id"`
			} `json:"availableModes"`
		} `json:"modes"`
		Models struct {
			Current string `json:"currentModelId"`
			Models  []struct {
				ID string `json:"modelId"`
			} `json:"availableModels"`
		} `json:"models"`
		Config []acpOption `json:"configOptions"`
	}
	decode(result, &known)
	if a.thread = orElse(known.ID, thread); a.thread == "" {
		a.host.HandshakeFailed(HandshakeFailure{Reason: ReasonProtocol, Error: method + ": the answer names no session"})
		return
	}
	a.mode = known.Modes.Current
	a.setModel(known.Models.Current)
	a.settings(known.Config)
	for _, mode := range known.Modes.Modes {
		a.modes = append(a.modes, mode.ID)
	}
	a.talk.Thread, a.talk.Resumed, a.talk.Capabilities.Modes = a.thread, thread != "", append([]string{}, a.modes...)
	models := []string{}
	for _, model := range known.Models.Models {
		models = append(models, model.ID)
	}
	err := a.choose(models)
	if err == nil {
		err = a.Mode(a.start.Mode)
	}
	a.talk.Mode, a.talk.Model = a.mode, a.model
	if slices.Contains(a.modes, a.requested) {
		a.talk.Mode = a.requested
	}
	if err != nil {
		a.cannotSend(err)
		return
	}
	a.host.HandshakeSucceeded(a.talk)
}

func (a *acp) Prompt(p Prompt) error {
	a.active = true
	a.turns++
	turn := a.turns
	err := a.rpc.call("session/prompt", acpPrompt{a.thread, []acpText{{"text", p.Text}}}, func(result json.RawMessage, failed *failure) {
		if a.turns == turn {
			a.ended(result, failed)
		}
	})
	if err == nil {
		a.host.Accepted(string(arguments(a.rpc.next)))
	}
	return err
}

func (a *acp) Steer(Prompt) error { return ErrQueue }

func (a *acp) Compacts() bool { return a.command }

func (a *acp) Compact(p Prompt) error {
	if !a.command {
		return ErrQueue
	}
	p.Text = "/compact"
	return a.Prompt(p)
}

func (a *acp) Interrupt() error {
	if !a.active {
		return nil
	}
	// The protocol requires a response to every open request.
	for _, key := range slices.Sorted(maps.Keys(a.asked)) {
		a.host.Withdrawn(key)
		if err := a.Answer(key, Answer{State: Cancelled}); err != nil {
			return err
		}
	}
	return a.rpc.notify("session/cancel", struct {
		ID string `json:"sessionId"`
	}{a.thread})
}

// ended handles the response to a prompt.
func (a *acp) ended(result json.RawMessage, failed *failure) {
	a.active = false
	clear(a.asked)
	if failed != nil {
		a.host.TurnEnded(Outcome{Status: Failed, Error: failed.words()})
		return
	}
	var end acpEnd
	decode(result, &end)
	a.turnUsed(&end)
	o := Outcome{Status: Completed, StopReason: end.Stop}
	switch end.Stop {
	case "cancelled":
		o.Status = Interrupted
	case "refusal":
		o.Status, o.Error = Failed, "the agent refused to go on"
	}
	a.host.TurnEnded(o)
}
