// Requests of agents and people's answers: the same in lists, in Needs you and in the transcript.
//
//   askForm(record)         the form to answer an interaction
//   respond(record, given)  answers it, and reports the outcome
//   outcomeOf(record)       how a closed interaction ended, in words

const answering = new Set(); // interactions with an answer on its way

function outcomeOf(record) {
  const answers = record.answers ? Object.values(record.answers).map((a) => a.join(', ')).join('; ') : record.text || '';
  const said = { allowed: record.scope === 'session' ? 'Allowed for this session' : 'Allowed', denied: 'Denied', answered: 'Answered', timed_out: 'Nobody answered in time', cancelled: 'Withdrawn' }[record.state] || sentence(record.state);
  const by = record.by && record.by !== 'system' ? ' by ' + (record.by === state.actor ? 'you' : personName(record.by)) : '';
  return said + by + (answers ? ': ' + oneLine(answers) : '');
}

async function respond(record, given) {
  const id = record.interaction_id;
  if (answering.has(id)) return;
  answering.add(id);
  changed();
  try {
    const done = await call('interaction.respond', { project_id: record.project_id, run_id: record.run_id, interaction_id: id, ...given });
    for (const name in state.fields) if (name.startsWith('ask/' + id)) delete state.fields[name];
    tellOutcome(sentence(done.state) + ': ' + oneLine(record.title) + (done.handed_over ? '' : ' (the agent did not take it)'), !done.handed_over);
    settle('interaction:' + id, sentence(done.state));
  } catch (error) {
    const closed = error.reason === 'interaction_closed' && error.data;
    tellOutcome(closed ? oneLine(record.title) + ': ' + outcomeOf(closed) : 'Nothing was sent. ' + error.message, !closed);
  }
  answering.delete(id);
  stale('interactions', 'need/interaction:' + id);
}

// tellOutcome shows an outcome and reads it to screen readers.
function tellOutcome(text, bad) {
  say(text, bad);
  announce(text);
}

const optionTone = (o) => (o.effect === 'deny' ? 'danger' : o.scope === 'session' ? '' : 'primary');

function optionButton(record, o, given, more) {
  return button(oneLine(o.label), () => respond(record, { option_id: o.option_id, ...given() }), {
    key: o.option_id, act: 'respond', 'data-option': o.option_id, 'data-effect': o.effect, 'data-scope': o.scope,
    kind: optionTone(o), hint: o.description && oneLine(o.description), disabled: answering.has(record.interaction_id), ...more });
}

function askForm(record) {
  if (record.kind === 'question') return questionForm(record);
  if (record.kind === 'input') return inputForm(record);
  return decisionForm(record);
}

const askField = (record, part, label, props, tag) => field('ask/' + record.interaction_id + part, label, props, tag);
const asked = (record, part) => state.fields['ask/' + record.interaction_id + part];

// decisionForm has a button for each option, and a field for a message with a denial. No button
// takes the focus by itself, so that Enter cannot answer by accident.
function decisionForm(record) {
  const why = () => (asked(record, '/why') || '').trim();
  const deny = (record.options || []).find((o) => o.effect === 'deny');
  const saying = asked(record, '/saying');
  const openWhy = () => { state.fields['ask/' + record.interaction_id + '/saying'] = true; changed(); focusDrawn(() => document.getElementById('field-ask/' + record.interaction_id + '/why')); };
  return h('div', { class: 'asked-answer' },
    saying && deny && askField(record, '/why', 'What to do instead', { rows: 2, onkeydown: sends(() => why() && respond(record, { option_id: deny.option_id, text: why() })) }, 'textarea'),
    h('div', { class: 'actions' }, (record.options || []).map((o) => optionButton(record, o, () => (o.effect === 'deny' && why() ? { text: why() } : {}))),
      deny && !saying && button('Deny and say…', openWhy, { key: 'say', kind: 'quiet' })));
}

// questionForm has the choices as toggle buttons, and one button that answers.
function questionForm(record) {
  const answers = {};
  const parts = (record.questions || []).map((q) => questionPart(record, q, answers));
  const whole = (record.questions || []).every((q) => answers[q.question_id].length > 0);
  return h('div', { class: 'asked-answer' }, parts,
    h('div', { class: 'actions' }, button('Answer', () => respond(record, { answers }), { kind: 'primary', act: 'answer', disabled: !whole || answering.has(record.interaction_id) })));
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
  return h('div', { class: 'asked-question', key: id, role: 'group', 'aria-label': oneLine(q.question) },
    q.question !== record.title && h('p', {}, q.header && h('strong', {}, oneLine(q.header) + ': '), shownText(q.question)),
    h('div', { class: 'actions' }, (q.options || []).map((o) => button(oneLine(o.label), () => choose(o.label), { key: o.label, kind: 'chip', 'data-option': o.label, hint: o.description && oneLine(o.description), pressed: chosen.includes(o.label) }))),
    q.free_text && askField(record, '/text/' + id, q.options && q.options.length ? 'Another answer' : 'Your answer', q.secret ? { type: 'password' } : {}));
}

function inputForm(record) {
  const send = () => respond(record, { text: asked(record, '/text') || '' });
  return h('div', { class: 'asked-answer' },
    askField(record, '/text', 'Your answer', { rows: 3, onkeydown: sends(send) }, 'textarea'),
    h('div', { class: 'actions' }, button('Answer', send, { kind: 'primary', act: 'answer', disabled: answering.has(record.interaction_id) }), h('span', { class: 'hint' }, 'Ctrl+Enter sends')));
}

// askProof is what an answer decides on: the whole command or diff.
function askProof(record) {
  const command = record.resource || record.args_preview || '';
  return h('div', { class: 'proof' },
    record.prompt && record.prompt !== record.title && h('div', { 'data-proof': 'question' }, markdown(record.prompt)),
    record.questions && h('div', { 'data-proof': 'question' }, record.questions.map((q) => h('p', { key: q.question_id }, shownText(q.question)))),
    record.resource && h('pre', { class: 'command', 'data-proof': 'figures', tabindex: '0', 'aria-label': words(record.operation) || 'What it is about' }, shownText(command)),
    record.diff && h('div', { 'data-proof': 'diff' }, patchView(record.diff, record.resource)),
    !record.diff && record.args_preview && record.args_preview !== record.resource && h('details', { class: 'source' }, h('summary', {}, 'What the tool gets'), h('pre', { tabindex: '0' }, shownText(record.args_preview))));
}

// openAsks returns the open requests of agents, by id.
function openAsks() {
  const rev = tableRev('needs');
  const entry = fetched('interactions', () => call('interaction.list', {}));
  if (entry.rev !== rev) {
    if (entry.rev !== undefined) queueMicrotask(() => stale('interactions'));
    entry.rev = rev;
  }
  return new Map(((entry.value && entry.value.interactions) || []).map((record) => [record.interaction_id, record]));
}

const askWords = { permission: 'asks for permission', plan: 'proposes a plan', question: 'asks a question', input: 'asks for text' };

const deadline = (record) => record.expires_at && since(record.expires_at, 'left', { 'data-deadline': record.interaction_id, class: 'note' });

// askCard shows an open request among the items of a transcript.
function askCard(record) {
  const id = record.interaction_id;
  return h('article', { class: 'card ask', key: id, 'data-ask': id, 'aria-label': sentence(record.kind) + ': ' + oneLine(record.title) },
    h('p', { class: 'item-who' }, h('strong', {}, oneLine(personName(record.agent_id))), ' ' + (askWords[record.kind] || 'asks'), deadline(record)),
    h('h2', { class: 'asked-title' }, shownText(oneLine(record.title))), askProof(record), askForm(record));
}
