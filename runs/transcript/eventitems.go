package transcript

// Items from events other than output: people's texts and decisions, turns, sessions and their
// ends.

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"ac/events"
	"ac/internal/terminal"
	"ac/runs/interaction"
)

// commandDriver is the driver of per-turn agents, whose sessions the fold does not treat as live.
const commandDriver = "command"

// execute starts the decoding of a new execution.
func (f *Fold) execute(e Event) {
	f.finish()
	var p struct {
		Mode   string `json:"mode"`
		Driver string `json:"driver"`
	}
	_ = json.Unmarshal(e.Payload, &p) // other programs' logs may lack it
	switch {
	case f.number == 0 || f.ended || f.announced > 0:
		used, _ := f.Used()
		f.number, f.execution, f.used = max(f.number+1, f.announced), 1, turnUsage{done: used}
	case f.named:
		f.execution++
	}
	f.announced = 0
	f.live = p.Driver != "" && p.Driver != commandDriver
	if p.Driver == "" && p.Mode == "codex_app_server" {
		p.Driver = DriverCodex
	}
	f.begun, f.state.Status = false, "running"
	f.start(p.Driver, e.SessionRef)
}

func (f *Fold) agentStarted(e Event) {
	var p struct {
		Capabilities *struct {
			Resume bool `json:"resume"`
		} `json:"capabilities"`
	}
	_ = json.Unmarshal(e.Payload, &p) // other programs' logs may lack it
	f.begun, f.cannotResume = true, p.Capabilities != nil && !p.Capabilities.Resume
}

// event handles an event other than output or the start or end of a session.
func (f *Fold) event(e Event) {
	switch e.Type {
	case events.AgentStarted:
		f.agentStarted(e)
	case events.TurnStarted:
		f.turnStarted(e)
	case events.TurnEnded:
		f.turnEnded(e)
	case events.SteerQueued:
		f.steerQueued(e)
	case events.SteerApplied:
		f.steerApplied(e)
	case events.SteerDiscarded:
		f.steerDiscarded(e)
	case events.InteractionRequested:
		f.requested(e)
	case events.InteractionResolved:
		f.resolved(e)
	case events.UsageReported:
		f.usage(e)
	case events.PlanCleared:
		if f.plan != nil {
			f.plan.setPlan([]Step{})
			f.add(Change{Op: Update, Item: f.plan})
		}
	default:
		if text := noticeOf(e); text != "" {
			f.notice(e, text)
		}
	}
	if e.Type == events.RunContinued {
		f.continued(e)
	}
}

// textPayload is the payload of an event with a text for the agent.
type textPayload struct {
	Turn        int             `json:"turn"`
	Text        string          `json:"text"`
	TextBytes   int64           `json:"text_bytes"`
	Truncated   bool            `json:"truncated"`
	SteerID     string          `json:"steer_id"`
	SteerIDs    []string        `json:"steer_ids"`
	DisplayText string          `json:"display_text"`
	DisplayMeta json.RawMessage `json:"display_meta"`
}

// item returns the message that shows the text.
func (p *textPayload) item(e Event) *Item {
	item := &Item{ID: ownID(e), Kind: KindMessage, Role: RoleUser, Actor: actorOf(e)}
	item.setText(p.Text)
	item.Truncated = item.Truncated || p.Truncated
	if p.DisplayText != "" {
		item.setText(p.DisplayText)
		item.PromptBytes = max(p.TextBytes, int64(len(p.Text)))
	}
	if len(p.DisplayMeta) > 0 && string(p.DisplayMeta) != "null" {
		item.DisplayMeta = p.DisplayMeta
	}
	return item
}

func (f *Fold) turnStarted(e Event) {
	var p textPayload
	if json.Unmarshal(e.Payload, &p) != nil {
		return
	}
	f.turn, f.state.Turn, f.begun = p.Turn, p.Turn, true
	for _, id := range p.SteerIDs {
		if item := f.waiting(steerID(id)); item != nil {
			item.Turn = p.Turn
			f.closeItem(item)
		}
	}
	if strings.TrimSpace(p.Text) != "" {
		f.addClosed(p.item(e))
	}
	if f.session != nil {
		f.session.BeginTurn()
	}
}

func (f *Fold) turnEnded(e Event) {
	var p struct {
		Turn   int    `json:"turn"`
		Status string `json:"status"`
		Error  string `json:"error"`
	}
	if json.Unmarshal(e.Payload, &p) != nil {
		return
	}
	f.turn = p.Turn
	if f.session != nil {
		f.session.EndTurn(p.Status != ToolCompleted)
	}
	f.used.close(f)
	text := "Turn " + firstOf(p.Status, "ended")
	switch {
	case p.Error != "":
		f.notice(e, text+": "+p.Error)
	case p.Status != ToolCompleted:
		f.notice(e, text+".")
	}
	f.turn = 0
}

func (f *Fold) steerQueued(e Event) {
	var p textPayload
	if json.Unmarshal(e.Payload, &p) != nil || p.SteerID == "" {
		return
	}
	item := p.item(e)
	item.own = steerID(p.SteerID)
	f.wait(item, 0)
}

func (f *Fold) steerApplied(e Event) {
	var p struct {
		SteerID string `json:"steer_id"`
		Turn    int    `json:"turn"`
		How     string `json:"how"`
	}
	if json.Unmarshal(e.Payload, &p) != nil || p.How != "mid_turn" {
		return // the turn that it begins has its own event
	}
	if item := f.waiting(steerID(p.SteerID)); item != nil {
		item.Turn = p.Turn
		f.closeItem(item)
	}
}

func (f *Fold) steerDiscarded(e Event) {
	var p struct {
		SteerID string `json:"steer_id"`
		Reason  string `json:"reason"`
	}
	if json.Unmarshal(e.Payload, &p) != nil {
		return
	}
	if item := f.waiting(steerID(p.SteerID)); item != nil {
		item.Note = "not delivered: " + p.Reason
		f.closeItem(item)
	}
}

func envelope(e Event) interaction.Envelope {
	return interaction.Envelope{Session: e.SessionRef, Actor: e.Actor, At: e.At, Payload: e.Payload}
}

func (f *Fold) requested(e Event) {
	record, ok := interaction.NewRecord(f.project, e.RunID, envelope(e))
	if !ok || f.waiting(record.InteractionID) != nil {
		return
	}
	kind := KindQuestion
	if record.Kind == interaction.Permission || record.Kind == interaction.Plan {
		kind = KindPermission
	}
	if waits := f.askingItem(record.ItemID); waits != nil {
		record.ItemID = waits.ID
	}
	id := record.InteractionID
	item := &Item{ID: id, Kind: kind, Role: RoleAssistant, InteractionID: id, Interaction: &record, own: id}
	f.wait(item, record.Turn)
}

// askingItem returns the agent's open item that an interaction names, by the agent's id or ours.
func (f *Fold) askingItem(id string) *Item {
	if f.session == nil || id == "" {
		return nil
	}
	if item := f.session.find(id); item != nil {
		return item
	}
	i := slices.IndexFunc(f.session.items, func(i *Item) bool { return i.ID == id })
	if i < 0 {
		return nil
	}
	return f.session.items[i]
}

func (f *Fold) resolved(e Event) {
	done, ok := interaction.ParseResolution(envelope(e))
	if !ok {
		return
	}
	item := f.waiting(done.InteractionID)
	if item == nil || item.Interaction == nil {
		return
	}
	record := item.Interaction.Resolved(done, e.At)
	item.Interaction = &record
	f.closeItem(item)
	refused := record.State != interaction.Allowed && item.Kind == KindPermission
	if waits := f.askingItem(record.ItemID); waits != nil && refused {
		f.session.refuse(waits)
	}
}

func (f *Fold) continued(e Event) {
	var p struct {
		Session    int    `json:"session"`
		SessionRef string `json:"session_ref"`
	}
	_ = json.Unmarshal(e.Payload, &p) // a workflow's event has neither
	f.announced = max(p.Session, f.number+1)
	f.state.Status, f.state.SessionRef, f.live = "running", firstOf(p.SessionRef, e.SessionRef, f.state.SessionRef), false
}

// end handles the end of a session.
func (f *Fold) end(e Event) {
	f.finish()
	f.used.close(f)
	f.turn, f.ended, f.live = 0, true, false
	f.state.Status = strings.TrimPrefix(e.Type, "run.")
	f.notice(e, endNotice(e))
}

// reportState records a change if the state of the run changed.
func (f *Fold) reportState() {
	now := f.state
	now.OpenInteractions = []string{}
	waits := ""
	for _, item := range f.own {
		if item.Interaction != nil {
			now.OpenInteractions = append(now.OpenInteractions, item.ID)
			waits = firstOf(waits, item.Interaction.Kind)
		}
	}
	switch {
	case now.Status != "running" || !f.live && f.turn == 0:
		now.Activity = ""
	case waits != "":
		now.Activity = ActivityWaiting + waits
	case f.turn > 0:
		now.Activity = ActivityBusy
	case f.begun:
		now.Activity = ActivityIdle
	default:
		now.Activity = ActivityStarting
	}
	if now.equal(f.shown) {
		return
	}
	f.state, f.shown = now, now
	if f.quiet {
		return
	}
	f.changes = append(f.changes, Change{Op: Status, State: new(now)})
}

// wait adds an open item of ours. A turn of 0 means the current one.
func (f *Fold) wait(item *Item, turn int) {
	f.begin(item)
	item.Turn = cmp.Or(turn, item.Turn)
	item.State, item.size = StateOpen, item.bytes()
	f.own, f.ownSize = append(f.own, item), f.ownSize+item.size
	f.add(Change{Op: Open, Item: item})
	for len(f.own) > maxOwn || f.ownSize > maxOwnBytes && len(f.own) > 1 {
		f.closeItem(f.own[0])
	}
}

// waiting returns our open item with a key, nil for none.
func (f *Fold) waiting(key string) *Item {
	i := slices.IndexFunc(f.own, func(i *Item) bool { return i.own == key })
	if i < 0 {
		return nil
	}
	return f.own[i]
}

// closeItem closes an item of ours.
func (f *Fold) closeItem(item *Item) {
	if i := slices.Index(f.own, item); i >= 0 {
		f.own = slices.Delete(f.own, i, i+1)
		f.ownSize -= item.size
	}
	item.State = StateClosed
	f.add(Change{Op: Close, Item: item})
}

// addClosed adds an item of ours that is closed from the start.
func (f *Fold) addClosed(item *Item) {
	f.begin(item)
	item.State = StateClosed
	f.keep(item)
	f.add(Change{Op: Close, Item: item})
}

func (f *Fold) notice(e Event, text string) {
	item := &Item{ID: ownID(e), Kind: KindNotice, Role: RoleSystem, Actor: actorOf(e)}
	item.setText(terminal.PlainLines(text))
	f.addClosed(item)
}

func ownID(e Event) string { return "ev:" + e.ID }

// steerID returns the key of a queued text. The prefix separates it from interaction ids.
func steerID(id string) string { return "steer " + id }

// actorOf returns who acted, "" for the system.
func actorOf(e Event) string {
	if e.Actor == events.ActorSystem {
		return ""
	}
	return e.Actor
}
