// Health: the checks of this workspace, each shown as soon as it is done, with mends; and the parts
// of the machine.

// checkParts groups the doctor's checks by request.
const checkParts = [
  ['workspace.schema'], ['machine.config'], ['providers.cli', 'providers.protocol'], ['repos.mappings'], ['index.rebuild', 'index.sync'], ['worktrees.references', 'worktrees.orphans'], ['references'], ['locks'], ['journal'],
  ['leftovers'], ['sessions'], ['events.chain'], ['heartbeat.config'], ['heartbeat.hierarchy'], ['usage.statements'], ['runs.new'],
];

// mends maps checks to the names that workspace.mend uses for their findings.
const mends = { 'index.rebuild': 'index', 'index.sync': 'index' };
for (const id of ['workspace.schema', 'events.chain', 'journal', 'locks', 'sessions', 'runs.new', 'leftovers']) mends[id] = id;

const rankOf = { fail: 0, warn: 1, wait: 2, pass: 3 };
const checkWords = { pass: 'Pass', warn: 'Warning', fail: 'Fails' };

function healthView() {
  const parts = checkParts.map((ids) => [ids, fetched('health/check/' + ids[0], () => call('workspace.doctor', { checks: ids }), 120000)]);
  const busy = parts.some(([, entry]) => entry.busy);
  const found = parts.flatMap(([ids, entry]) => (entry.value ? entry.value.checks : [{ id: ids[0], status: entry.error ? 'fail' : 'wait', message: entry.error }]));
  return h('div', { class: 'page', key: 'health' },
    h('header', { class: 'pane-head' }, h('div', {}, h('h1', { tabindex: '-1', id: 'title' }, 'Health'), h('p', { class: 'sub', role: 'status' }, verdict(found))), h('div', { class: 'actions' }, button(busy ? 'Looking…' : 'Look again', () => stale('health/*'), { disabled: busy }))),
    h('div', { class: 'scroller', tabindex: '-1' }, h('div', { class: 'columns health' },
      section('Doctor', null, h('ul', { class: 'checks', 'aria-busy': String(busy) }, found.sort((a, b) => rankOf[a.status] - rankOf[b.status]).map(checkRow))),
      machineParts())));
}

const verdict = (list) => {
  const of = (status) => list.filter((c) => c.status === status).length;
  const bad = of('fail'), warn = of('warn'), wait = of('wait');
  const said = bad ? plural(bad, 'check') + ' failed' + (warn ? ', ' + plural(warn, 'warning') : '') : warn ? plural(warn, 'warning') : wait ? '' : 'All checks pass';
  return [said, wait && plural(wait, 'check') + ' not done yet'].filter(Boolean).join(', ');
};

function checkRow(c) {
  if (c.status === 'wait') return h('li', { key: c.id, class: 'check wait', 'data-check': c.id }, h('div', { class: 'check-head' }, pill('', 'Looking'), h('span', { class: 'check-id' }, words(c.id))), h('span', { class: 'skeleton', 'aria-hidden': 'true' }));
  return h('li', { key: c.id, class: 'check ' + c.status, 'data-check': c.id },
    h('div', { class: 'check-head' }, pill(c.status, checkWords[c.status] || sentence(c.status)), h('span', { class: 'check-id' }, words(c.id)), known(c.duration_ms) && h('span', { class: 'number quiet' }, count(c.duration_ms) + ' ms')),
    h('p', {}, shownText(c.message)),
    c.details && c.details.length > 0 && h('details', {}, h('summary', {}, plural(c.details.length, 'detail')), h('ul', { class: 'details' }, c.details.slice(0, 200).map((t, i) => h('li', { key: i }, shownText(t))))),
    c.hint && c.status !== 'pass' && h('p', { class: 'check-hint' }, shownText(c.hint)),
    c.status !== 'pass' && mends[c.id] && mendPart(mends[c.id]));
}

// mendPart offers to mend the findings of a check, or else to copy the doctor command.
function mendPart(check) {
  const entry = fetched('health/mend/' + check, () => call('workspace.mend', { checks: [check], dry_run: true }), 120000);
  if (!entry.value) return entry.error ? copyPart() : null;
  const would = entry.value.mends;
  return would.length ? h('div', { class: 'actions' }, button('Mend…', () => askMend(check, would), { act: 'fix', key: 'mend' })) : copyPart();
}

const doctorCommand = () => 'ac workspace:doctor ' + quoted(boot.workspace || '<workspace>');

const copyPart = () => h('div', { class: 'actions' }, button('Copy command', () => copyText(doctorCommand(), 'Copied: ' + doctorCommand()), { key: 'copy' }));

function askMend(check, would) {
  openDialog({
    name: 'mend', title: 'Mend this?', confirm: 'Mend', wide: true,
    body: () => [h('p', {}, 'This will be done:'), h('ul', { class: 'conflicts', tabindex: '0', 'aria-label': 'What will be done' }, would.map((m, i) => h('li', { key: i }, shownText(m.what), ' ', h('span', { class: 'mono quiet' }, oneLine(m.path)))))],
    run: async () => {
      const done = await call('workspace.mend', { checks: [check] });
      const failed = done.mends.filter((m) => m.outcome === 'failed').length;
      say(done.ok ? 'Mended: ' + plural(done.mends.length, 'thing') + '.' : plural(failed, 'thing') + ' could not be mended.', !done.ok);
      stale('health/*');
    },
  });
}
