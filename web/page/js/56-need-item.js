// One need: its proof and its actions.

function needEntry(id) {
  return fetched('need/' + id, () => call('needs.get', { need_id: id }));
}

// On a narrow screen, an item is a view of its own and its title is the page's heading.
const itemHeading = (text) => h(wide() ? 'h2' : 'h1', { id: 'detail-title', tabindex: '-1' }, text);

function needItem([id, row], list) {
  const entry = needEntry(id);
  const need = entry.value || row;
  // A need that left the list is requested again, to show its outcome.
  const version = row ? JSON.stringify([row.title, row.at, row.expires_at]) : store.ready ? 'gone' : entry.version;
  if (entry.version !== version) {
    if (entry.version !== undefined) queueMicrotask(() => stale('need/' + id));
    entry.version = version;
  }
  const at = list.findIndex(([one]) => one === id);
  const back = h('a', { class: 'icon-button back', href: hrefOf('needs', '', '', needQuery()), 'aria-label': 'Back to the list' }, icon('back'));
  if (!need) {
    return h('section', { class: 'pane detail need', key: 'need/' + id, 'aria-labelledby': 'detail-title' }, h('header', { class: 'item-head' }, back, itemHeading(entry.error ? 'There is no such need' : 'Reading…')),
      entry.error && h('div', { class: 'need-body' }, h('p', {}, settledWords(entry)), keptNote(id), h('a', { class: 'button', href: hrefOf('needs') }, 'See what waits')));
  }
  const step = at >= 0 && list.length > 1 && h('span', { class: 'need-place' }, count(at + 1) + ' of ' + count(list.length));
  return h('section', { class: 'pane detail need', key: 'need/' + id, 'data-need-open': id, 'data-kind': need.kind, 'aria-labelledby': 'detail-title' },
    h('header', { class: 'item-head' }, back,
      h('div', { class: 'item-title' }, itemHeading(shownText(needTitle(need))),
        h('p', { class: 'item-who' }, need.who && h('strong', {}, oneLine(personName(need.who), 60)), ' ', needNames[need.kind], troubled(need) && tableOf('runs').has(need.run) && [' · ', h('a', { class: 'text-link', key: 'run', href: hrefOf('runs', need.run, '', { project: need.p }) }, oneLine(tableOf('runs').get(need.run).title, 80) || brief(need.run))], ' · ', agoSince(need.at), need.expires_at && since(need.expires_at, 'left', { class: 'note', 'data-deadline': id }))),
      step),
    h('div', { class: 'need-body', key: 'body', tabindex: '0', role: 'group', 'aria-label': 'Proof' },
      entry.value ? [proofOf(unmasked(shownNeeds, id, entry.value) || entry.value), maskedButton(entry.value)] : entry.error ? fault(settledWords(entry), () => stale('need/' + id)) : loading('Reading the proof…'),
      entry.value && needLinks(entry.value)),
    h('footer', { class: 'decide', key: 'decide' }, struck.has(id) || isOver(entry) ? [h('p', { class: 'sub', key: 'over' }, struck.has(id) ? struck.get(id).how : settledWords(entry)), keptNote(id)] : needActs(id, need, entry.value)));
}

const isOver = (entry) => entry.error !== '' && entry.reason === 'settled';

// keptNote shows a person's unsent note on a need that somebody else settled first.
function keptNote(id) {
  const note = (state.fields['notes/' + id] || state.fields['help/' + id] || '').trim();
  return note && h('div', { class: 'kept-note', key: 'kept', 'data-kept': id }, h('p', { class: 'sub' }, 'What you wrote was not sent:'), h('blockquote', {}, note), button('Copy', () => copyText(note, 'Copied.'), { kind: 'small' }));
}

function settledWords(entry) {
  if (entry.reason !== 'settled' || !entry.data) return entry.error;
  const { how, by, at } = entry.data;
  return 'It does not wait any more: ' + words(how) + (by ? ' by ' + personName(by) : '') + (at ? ', ' + moment(at) : '') + '.';
}

function needLinks(need) {
  const task = need.proof.evidence?.task;
  const links = [
    tableOf('runs').has(need.run) && h('a', { key: 'run', class: 'link', href: hrefOf('runs', need.run, '', { project: need.p }) }, 'Run' + (need.proof.changes ? ' (' + plural(need.proof.changes.files, 'change') + ')' : '') + ' ▸'),
    task && task.id && h('a', { key: 'task', class: 'link', href: hrefOf('plan', task.id, '', { project: need.p }) }, 'Task ▸'),
  ].filter(Boolean);
  return links.length > 0 && h('p', { class: 'need-links' }, links);
}

// needActs returns the actions for a kind of need. Approvals and denials take two steps, with a
// note.
function needActs(id, need, full) {
  if (showsDismissed()) return h('div', { class: 'actions' }, button('Restore', () => restore([id]), { act: 'restore', kind: 'primary', hint: 'u' }));
  if (need.group === 'interaction') return full && full.proof.interaction ? askForm(full.proof.interaction) : null;
  if (need.kind === 'help') return full && full.proof.help ? helpForm(id, full.proof.help) : null;
  if (artifactKinds.includes(need.kind)) return decisionBar(id, need, full);
  return h('div', { class: 'actions' },
    need.kind === 'run_failed' && button('Retry', () => go('start', '', '', { from: need.run, project: need.p }), { act: 'retry', kind: 'primary' }),
    (need.kind === 'run_failed' || need.kind === 'over_budget') && button('Continue', () => go('runs', need.run, 'transcript', { project: need.p }), { act: 'continue' }),
    need.kind === 'broken_log' && h('a', { class: 'button', href: hrefOf('runs', need.run, 'events', { project: need.p }) }, 'Open the log'),
    need.kind === 'unreachable' && [h('span', { class: 'hint', key: 'waits' }, 'It is waited for, unless somebody gives it up in a terminal.'), button('Copy the command', () => copyAbandon(need), { key: 'abandon' })],
    dismissible.includes(need.kind) && button('Dismiss', () => dismiss([id]), { act: 'dismiss' }));
}

// copyAbandon copies the command that abandons the session of an unreachable machine.
async function copyAbandon(need) {
  let ref = 'local_' + need.run;
  try {
    const read = await call('run.transcript', { project_id: need.p, run_id: need.run, tail: 1 });
    ref = read.state?.session_ref || ref;
  } catch {
    // This is the name of its first session.
  }
  copyText(['ac', 'session:abandon', quoted(boot.workspace || '<workspace>'), quoted(ref), '--reason', "'its machine is gone'"].join(' '), 'The command is copied.');
}

// ---- Approve, deny

const deciding = { id: '', decision: '', busy: false };

// approvable returns why approving is disabled, or ''.
function approvable(need, full) {
  if (!full) return 'The proof is being read.';
  const { delta, files } = full.proof;
  if (need.kind === 'milestone') {
    const evidence = evidenceOf(full).value;
    if (!evidence) return 'The evidence is being read.';
    if (!evidence.fits) return evidence.why || 'The evidence does not fit.';
  }
  if (delta && delta.state === 'conflict') return delta.reason || 'The memory changed; this proposal does not fit any more.';
  if (files && files.files.some((file) => file.problem)) return 'The files cannot be applied as they are.';
  return '';
}

function beginDecision(decision) {
  const id = (chosenNeed(listedNeeds()) || [])[0];
  const need = id && tableOf('needs').get(id);
  if (!need || !artifactKinds.includes(need.kind)) return;
  if (decision === 'approved' && approvable(need, needEntry(id).value)) return say(approvable(need, needEntry(id).value), true);
  Object.assign(deciding, { id, decision, busy: false });
  changed();
  focusDrawn(() => document.getElementById('field-notes/' + id));
}

function decisionBar(id, need, full) {
  const why = approvable(need, full);
  if (deciding.id !== id) {
    return h('div', { class: 'actions', key: 'choose' },
      button('Deny', () => beginDecision('denied'), { act: 'deny', key: 'deny', hint: 'd' }), button('Approve', () => beginDecision('approved'), { act: 'approve', key: 'approve', kind: 'primary', disabled: why !== '', hint: 'a' }),
      h('span', { class: 'hint' }, (full && why) || ((state.fields['notes/' + id] || '').trim() && 'Your note is kept.')));
  }
  const approve = deciding.decision === 'approved';
  const act = () => decide(id, need, full);
  return h('div', { class: 'deciding', key: 'note' },
    field('notes/' + id, approve ? 'A note with your approval (optional)' : 'Why not? (optional)', { rows: 2, onkeydown: (e) => {
      if (e.key === 'Escape') { e.stopPropagation(); cancelDecision(); return; }
      sends(act)(e);
    } }, 'textarea'),
    h('div', { class: 'actions' }, button('Cancel', cancelDecision, { key: 'cancel', act: 'cancel' }),
      button(deciding.busy ? 'Deciding…' : approve ? 'Approve' : 'Deny', act, { key: 'do', act: 'confirm', kind: approve ? 'primary' : 'danger', disabled: deciding.busy }), h('span', { class: 'hint' }, 'Ctrl+Enter decides')));
}

function cancelDecision() {
  deciding.id = '';
  changed();
  focusDrawn(() => document.querySelector('.decide [data-act="approve"]:not(:disabled)') || document.querySelector('.decide [data-act="deny"]'));
}

// decisionHash is the hash of the content that the person saw.
const decisionHash = (full) => full?.proof.delta?.hash;

async function decide(id, need, full) {
  if (deciding.busy || deciding.id !== id) return;
  const { decision } = deciding;
  deciding.busy = true;
  changed();
  const params = { project_id: need.p, artifact_id: id.slice(id.indexOf(':') + 1), decision, notes: (state.fields['notes/' + id] || '').trim() };
  if (decision === 'approved' && decisionHash(full)) params.expect_hash = decisionHash(full);
  try {
    await call('inbox.resolve', params);
    settle(id, (decision === 'approved' ? 'approved' : 'denied') + ' by ' + state.actor + ', ' + clock(new Date().toISOString()));
    delete state.fields['notes/' + id];
    deciding.id = '';
    nextNeed(id);
    tellOutcome((decision === 'approved' ? 'Approved: ' : 'Denied: ') + oneLine(need.title));
    stale('reviews*', 'need/*');
  } catch (error) {
    stale('need/' + id);
    if (error.status === 409) {
      deciding.id = '';
      tellOutcome('Nothing was decided: it changed meanwhile. ' + error.message, true);
      goThen(() => document.getElementById('detail-title'), 'needs', id, '', needQuery()); // it stays in view, however the list changes
    } else tellOutcome((error.status === 0 ? 'Nothing was sent. ' : 'Nothing was decided: ') + error.message, true);
  }
  deciding.busy = false;
  changed();
}

// ---- Help

function helpForm(id, help) {
  const sendAnswer = async () => {
    const body = (state.fields['help/' + id] || '').trim();
    if (!body || deciding.busy) return;
    deciding.busy = true;
    changed();
    try {
      await call('help.answer', { help_request_id: id.slice('help:'.length), body, expect_hash: help.hash });
      delete state.fields['help/' + id];
      settle(id, 'answered by ' + state.actor + ', ' + clock(new Date().toISOString()));
      nextNeed(id);
      tellOutcome('Answered: ' + oneLine(help.frontmatter.title));
    } catch (error) {
      stale('need/' + id);
      tellOutcome(error.reason === 'changed' ? 'Nothing was sent: the request changed meanwhile. Your answer is kept.' : 'Nothing was sent. ' + error.message, true);
    }
    deciding.busy = false;
    changed();
  };
  return h('div', { class: 'deciding' }, field('help/' + id, 'Your answer (Markdown)', { rows: 4, onkeydown: sends(sendAnswer) }, 'textarea'),
    h('div', { class: 'actions' }, button('Pass on…', () => passOn(id, help), { key: 'pass', act: 'pass-on' }), button('Answer', sendAnswer, { key: 'answer', act: 'answer', kind: 'primary', disabled: deciding.busy || !(state.fields['help/' + id] || '').trim() }), h('span', { class: 'hint' }, 'Ctrl+Enter answers')));
}

// passOn asks another person for the answer, by a note to them. The request stays open until it is
// answered.
function passOn(id, help) {
  const of = tableOf('needs').get(id) || {};
  const name = 'pass/' + id;
  const others = [...rowsOf('people')].filter(([person]) => person !== of.who).sort(byName);
  openDialog({
    name: 'pass-on', title: 'Who is to answer this?', confirm: 'Pass on', ready: () => Boolean(state.fields[name]),
    body: () => [
      h('p', {}, 'They get a note with the question. It waits here until it is answered.'),
      h('select', { class: 'field', 'data-field': 'agent', 'aria-label': 'Who', value: state.fields[name] || '', onchange: (e) => { state.fields[name] = e.target.value; changed(); } }, h('option', { key: '', value: '' }, 'Choose somebody'), others.map(([person, row]) => h('option', { key: person, value: person }, oneLine(row.name, 60) + ' · ' + words(row.role)))),
      !of.p && !state.project && noteProjectField(),
      field(name + '/words', 'A word to it (optional)', { rows: 3 }, 'textarea'),
    ],
    run: async () => {
      const said = (state.fields[name + '/words'] || '').trim();
      const who = state.fields[name];
      await call('comment.add', { project_id: of.p || noteProject(), target_agent_id: who, body: 'Please answer the request for help "' + oneLine(help.frontmatter.title) + '" (' + id.slice('help:'.length) + ').\n\n' + help.question.trim() + (said ? '\n\n' + said : '') });
      delete state.fields[name];
      delete state.fields[name + '/words'];
      stale('comments/*');
      tellOutcome('Passed on to ' + oneLine(personName(who), 60) + '.');
    },
  });
}

// ---- Dismiss, restore

async function dismiss(ids) {
  try {
    const done = await call('needs.dismiss', { need_ids: ids });
    for (const id of done.done) settle(id, 'dismissed');
    if (ids.length === 1) nextNeed(ids[0]);
    tellOutcome(done.errors.length ? 'Not dismissed: ' + done.errors.map((e) => e.message).join('; ') : plural(done.done.length, 'thing') + ' dismissed.', done.errors.length > 0);
  } catch (error) {
    tellOutcome('Nothing was dismissed. ' + error.message, true);
  }
  stale('link/*');
}

async function restore(ids) {
  try {
    const done = await call('needs.restore', { need_ids: ids });
    tellOutcome(done.errors.length ? 'Not restored: ' + done.errors.map((e) => e.message).join('; ') : 'Restored.', done.errors.length > 0);
    go('needs', '', '', needQuery());
    focusTitle();
  } catch (error) {
    tellOutcome('Nothing was restored. ' + error.message, true);
  }
  stale('link/*');
}
