// What agents ask, and the answers of people: interactions as cards.

// openAsks are the open interactions of the project, the oldest first.
function openAsks() {
  const entry = fetched('interactions', () => call('interaction.list', { project_id: state.project }), state.hears ? 60000 : pollEvery);
  return (entry.value && entry.value.interactions) || [];
}

const answering = new Map(); // interaction id: true while its answer is on its way

// outcomeOf says how an interaction ended, and by whom.
function outcomeOf(record) {
  const answers = record.answers ? Object.values(record.answers).map((a) => a.join(', ')).join('; ') : record.text || '';
  const said = { allowed: record.scope === 'session' ? 'Allowed for this session' : 'Allowed', denied: 'Denied', answered: 'Answered', timed_out: 'Nobody answered in time', cancelled: 'Withdrawn' }[record.state] || sentence(record.state);
  const by = record.by && record.by !== 'system' ? ' by ' + (record.by === state.actor ? 'you' : agentName(record.by)) : '';
  return said + by + (answers ? ': ' + answers : '');
}

async function respond(record, given) {
  const id = record.interaction_id;
  if (answering.has(id)) return;
  answering.set(id, true);
  changed();
  try {
    const done = await call('interaction.respond', { project_id: record.project_id, run_id: record.run_id, interaction_id: id, ...given });
    for (const name in state.fields) if (name.startsWith('ask/' + id)) delete state.fields[name];
    say(sentence(done.state) + ': ' + record.title + (done.handed_over ? '' : ' (the agent did not take it)'), !done.handed_over);
  } catch (error) {
    const closed = error.reason === 'interaction_closed' && error.data;
    say(closed ? record.title + ': ' + outcomeOf(closed) : 'Not answered: ' + error.message, !closed);
  }
  answering.delete(id);
  stale('interactions');
}

// resolvedElsewhere says what somebody else decided of what is shown here.
function resolvedElsewhere(payload) {
  const entry = state.cache.interactions;
  const record = ((entry && entry.value && entry.value.interactions) || []).find((r) => r.interaction_id === payload.interaction_id);
  if (record && !answering.has(record.interaction_id) && payload.by !== state.actor) say(record.title + ': ' + outcomeOf(payload));
}

const askWords = { permission: 'asks for permission', plan: 'proposes a plan', question: 'asks a question', input: 'asks for text' };

// askCard shows what an agent asks, with the ways to answer. No button has the focus by
// itself, so that Enter answers nothing that was not chosen.
function askCard(record, linkRun) {
  const id = record.interaction_id;
  const left = record.expires_at ? instant(record.expires_at) - state.now : null;
  return h('article', { class: 'card ask', key: id, 'data-ask': id, 'aria-label': sentence(record.kind) + ': ' + record.title },
    h('header', { class: 'item-head' },
      h('p', { class: 'item-who' }, h('strong', {}, agentName(record.agent_id)), ' ' + (askWords[record.kind] || 'asks'), linkRun && h('a', { class: 'id', href: '#/runs/' + encodeURIComponent(record.run_id) }, 'run ' + brief(record.run_id)),
        h('span', { class: 'note' + (left !== null && left < 60000 ? ' warn' : '') }, left === null ? 'no time limit' : left > 0 ? duration(left) + ' left' : 'time is up')),
      h('h3', { class: 'asked-title' }, record.title)),
    record.prompt && record.prompt !== record.title && h('div', { class: 'asked-prompt' }, prose(record.prompt)),
    record.resource && record.resource !== record.title && h('p', { class: 'asked-resource' }, words(record.operation), ' ', code(record.resource)),
    record.diff ? diff(record.diff) : record.args_preview && h('details', { class: 'source' }, h('summary', {}, 'What the tool gets'), h('pre', {}, record.args_preview)),
    record.kind === 'question' ? questionForm(record) : record.kind === 'input' ? inputForm(record) : decisionForm(record));
}

const askField = (record, part, label, props, tag) => field('ask/' + record.interaction_id + part, label, props, tag);
const asked = (record, part) => state.fields['ask/' + record.interaction_id + part];

// decisionForm has a button for each option, and words for the agent with a denial.
function decisionForm(record) {
  const busy = answering.has(record.interaction_id);
  const why = () => (asked(record, '/why') || '').trim();
  return h('div', { class: 'asked-answer' },
    askField(record, '/why', 'What to do instead (sent with a denial)', { rows: 1 }, 'textarea'),
    h('div', { class: 'actions end' }, (record.options || []).map((o) => {
      const deny = o.effect === 'deny';
      return button(o.label, () => respond(record, deny && why() ? { option_id: o.option_id, text: why() } : { option_id: o.option_id }), { key: o.option_id, kind: deny ? 'danger' : o.scope === 'session' ? '' : 'primary', hint: o.description, disabled: busy });
    })));
}

// questionForm has the choices as buttons that stay pressed, and one that answers.
function questionForm(record) {
  const answers = {};
  const parts = (record.questions || []).map((q) => questionPart(record, q, answers));
  const whole = (record.questions || []).every((q) => answers[q.question_id].length > 0);
  return h('div', { class: 'asked-answer' }, parts,
    h('div', { class: 'actions end' }, button('Answer', () => respond(record, { answers }), { kind: 'primary', disabled: !whole || answering.has(record.interaction_id) })));
}

function questionPart(record, q, answers) {
  const id = q.question_id;
  const text = (asked(record, '/text/' + id) || '').trim();
  const chosen = asked(record, '/chosen/' + id) || [];
  answers[id] = q.multi_select ? [...chosen, ...(text ? [text] : [])] : text ? [text] : chosen;
  const choose = (label) => {
    const has = chosen.includes(label);
    state.fields['ask/' + record.interaction_id + '/chosen/' + id] = q.multi_select ? (has ? chosen.filter((c) => c !== label) : [...chosen, label]) : has ? [] : [label];
    if (!q.multi_select) state.fields['ask/' + record.interaction_id + '/text/' + id] = '';
    changed();
  };
  return h('div', { class: 'asked-question', key: id, role: 'group', 'aria-label': q.question },
    q.question !== record.title && h('p', {}, q.header && h('strong', {}, q.header + ': '), q.question),
    h('div', { class: 'actions' }, (q.options || []).map((o) => button(o.label, () => choose(o.label), { key: o.label, kind: 'chip', hint: o.description, pressed: chosen.includes(o.label) }))),
    q.free_text && askField(record, '/text/' + id, q.options && q.options.length ? 'Another answer' : 'Your answer', q.secret ? { type: 'password' } : {}));
}

function inputForm(record) {
  const send = () => respond(record, { text: asked(record, '/text') || '' });
  return h('div', { class: 'asked-answer' },
    askField(record, '/text', 'Your answer', { rows: 3, onkeydown: sends(send) }, 'textarea'),
    h('div', { class: 'actions end' }, h('span', { class: 'hint' }, 'Ctrl+Enter sends'), button('Answer', send, { kind: 'primary', disabled: answering.has(record.interaction_id) })));
}
