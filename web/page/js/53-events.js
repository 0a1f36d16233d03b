// The events and notes tabs of a run: its raw log, the state of its chain, and people's notes.

const newestEvents = 1000;
const keptEvents = 6000;

// readRunEvents reads the newest events, and verifies the whole chain.
async function readRunEvents(open) {
  const events = (open.events = { list: [], from: 0, busy: true, error: '', early: [], kind: 'all', chain: null });
  try {
    const { head_seq: head } = await call('events.replay', { project_id: open.project, run_id: open.id, since_seq: 0, limit: 1 });
    events.from = Math.max(0, head - newestEvents);
    events.list = await readEvents(open, events.from, head);
    open.eventsTo = Math.max(open.eventsTo || 0, head);
    events.list.push(...events.early.filter(({ seq }) => seq > head));
  } catch (error) {
    events.error = error.message;
  }
  events.busy = false;
  changed();
  verifyChain(open);
}

// verifyChain verifies the chain of the log up to its current end.
async function verifyChain(open) {
  const { events } = open;
  if (!events || (events.chain && events.chain.busy)) return;
  events.chain = { busy: true };
  changed();
  try {
    const log = await call('run.replay', { project_id: open.project, run_id: open.id, mode: 'verified', tail: 1 });
    const issues = [
      ...(log.parse_issues || []).map((i) => ({ seq: i.seq, what: 'line ' + i.seq + ' cannot be read: ' + i.error })),
      ...(log.verification_issues || []).map((i) => ({ seq: i.seq, what: 'event ' + i.seq + ': ' + i.message })),
    ];
    events.chain = { ok: log.deterministic_ok, issues, to: Math.max(open.eventsTo || 0, events.list.length ? events.list[events.list.length - 1].seq : 0) };
  } catch (error) {
    events.chain = { error: error.message };
  }
  changed();
}

async function readOlderEvents(open) {
  const { events } = open;
  if (events.busy || !events.from) return;
  events.busy = true;
  changed();
  try {
    const since = Math.max(0, events.from - newestEvents);
    events.list = [...(await readEvents(open, since, events.from)), ...events.list];
    events.from = since;
  } catch (error) {
    say('Not read: ' + error.message, true);
  }
  events.busy = false;
  changed();
}

// followEvents follows the run's events, for the tabs that show them raw.
function followEvents(open) {
  return follow(streamOfRun(open, '&since_seq=' + (open.eventsTo || open.transcript.seq)), {
    onframe(frame) {
      const said = frame.event === 'run' && parse(frame.data);
      if (!said || !said.event || said.seq <= (open.eventsTo || 0)) return;
      open.eventsTo = said.seq;
      logTakes(open, said.seq, said.event);
      eventTakes(open, said.seq, said.event);
      if (said.event.type === 'comment.added') stale('comments/' + open.id);
      changed();
    },
    onstate() {},
  });
}

function eventTakes(open, seq, event) {
  const { events } = open;
  if (!events) return;
  (events.busy ? events.early : events.list).push({ seq, event });
  if (events.list.length > keptEvents) {
    events.list.splice(0, keptEvents / 4);
    events.from = events.list[0].seq - 1;
  }
}

function chainWords(chain) {
  if (!chain || chain.busy) return h('span', { class: 'note' }, 'Verifying…');
  if (chain.error) return h('span', { class: 'note warn' }, 'Not verified: ' + chain.error);
  if (chain.ok) return h('span', { class: 'note good' }, 'Chain holds up to event ' + count(chain.to));
  const first = chain.issues[0];
  return h('span', { class: 'note bad' }, 'The log does not fit its chain' + (first ? ': ' + first.what + (chain.issues.length > 1 ? ' (and ' + (chain.issues.length - 1) + ' more)' : '') : ''));
}

const eventHeight = 36;

function eventsTab(open) {
  if (!open.events) queueMicrotask(() => !open.events && readRunEvents(open));
  const { events } = open;
  if (!events || (events.busy && !events.list.length)) return loading('Reading the events…');
  if (events.error && !events.list.length) return fault(events.error, () => readRunEvents(open));
  const kinds = [['all', 'All'], ['output', 'Output'], ['run', 'Run'], ['decisions', 'Decisions'], ['usage', 'Usage'], ['notes', 'Notes']];
  const list = (events.kind === 'all' ? events.list.slice() : events.list.filter((e) => kindOf((e.event || {}).type || '') === events.kind)).reverse();
  return [
    h('div', { class: 'run-tools', key: 'tools' }, chainWords(events.chain), button('Verify again', () => verifyChain(open), { kind: 'chip', key: 'verify', hint: 'v' }), events.from > 0 && button('Older events', () => readOlderEvents(open), { kind: 'chip', key: 'older', disabled: events.busy })),
    h('div', { class: 'chips', role: 'group', 'aria-label': 'Kinds of events', key: 'kinds' }, kinds.map(([id, text]) => button(text, () => { events.kind = id; changed(); }, { kind: 'chip', key: id, pressed: events.kind === id }))),
    !list.length ? empty('No such event', 'This run has none of this kind so far.')
      : rows({ name: 'events/' + open.id + events.kind, items: list, height: eventHeight, label: 'Events, the newest first', focusable: true, row: ({ seq, event }, i) =>
        h('div', { key: seq, role: 'listitem', class: 'event-row', style: placed(i, eventHeight) },
          h('a', { class: 'event-seq', href: hrefOf('runs', open.id, 'transcript', { seq }), 'aria-label': 'Event ' + seq + ' in the transcript' }, seq), h('time', { title: moment(event.ts_wallclock) }, clock(event.ts_wallclock)),
          h('span', { class: 'event-type' }, dot(toneOf(event)), oneLine(event.type || 'unknown')), h('span', { class: 'event-said' }, oneLine(tell(event), 300))) }),
  ];
}

// kindOf groups event types by what readers look for.
function kindOf(type) {
  if (type === 'provider.raw') return 'output';
  if (/^(policy|budget|approval|interaction|permission)\.|^run\.policy_changed/.test(type)) return 'decisions';
  if (/^(usage|context)\./.test(type)) return 'usage';
  if (/^comment\.|^run\.reviewed/.test(type)) return 'notes';
  return 'run';
}

function notesTab(open) {
  const entry = fetched('comments/' + open.id, () => read('/api/comments?project_id=' + encodeURIComponent(open.project) + '&target_run_id=' + encodeURIComponent(open.id)));
  const notes = (entry.value && entry.value.comments) || [];
  const name = 'note/' + open.id;
  const keep = async () => {
    const body = (state.fields[name] || '').trim();
    if (!body) return;
    if (await addNote({ project_id: open.project, target_run_id: open.id }, body)) {
      state.fields[name] = '';
      changed();
    }
  };
  return h('div', { class: 'scroller', key: 'notes', tabindex: '0', role: 'region', 'aria-label': 'Notes' },
    h('div', { class: 'compose' }, field(name, 'A note about this run', { rows: 3, onkeydown: sends(keep), 'data-note': true }, 'textarea'), h('div', { class: 'compose-foot' }, h('span', { class: 'hint' }, 'Ctrl+Enter sends'), button('Add note', keep, { kind: 'primary', disabled: !(state.fields[name] || '').trim() }))),
    entry.error ? fault(entry.error) : !notes.length ? empty('No note yet', 'What you write here stays with the run, in its log too.') : h('ol', { class: 'notes' }, notes.map(noteView)));
}

const noteView = (c) =>
  h('li', { key: c.id, class: 'said-note' }, h('div', { class: 'note-head' }, h('strong', {}, personName(c.author_id)), h('span', { class: 'note' }, c.author_role), agoSince(c.created_at)), markdown(c.body, { key: 'body' }));

// addNote adds a comment on a run, an artifact or an agent.
async function addNote(target, body) {
  try {
    await send('/api/comments', { body, ...target });
    stale('comments/*');
    say('Note kept.');
    return true;
  } catch (error) {
    say('Not kept: ' + error.message, true);
    return false;
  }
}
