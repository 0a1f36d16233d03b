// Several needs at once. They must be of one family. One dialog lists every title and the state of
// every preview.

const chosenMany = new Set(); // need ids

const familyOf = (id) => { const kind = tableOf('needs').get(id)?.kind || id.split(':')[0]; return artifactKinds.includes(kind) ? 'artifacts' : dismissible.includes(kind) ? 'dismissible' : ''; };

function chooseMany(id) {
  if (chosenMany.has(id)) chosenMany.delete(id);
  else chosenMany.add(id);
  changed();
}

function chooseAll(list) {
  chosenMany.clear();
  for (const [id] of list) chosenMany.add(id);
  changed();
}

function bulkBar(list) {
  const there = new Set(list.map(([id]) => id));
  for (const id of chosenMany) if (!there.has(id) || struck.has(id)) chosenMany.delete(id);
  if (!chosenMany.size) return null;
  const families = new Set([...chosenMany].map(familyOf));
  const [family] = families;
  const one = families.size === 1;
  return h('div', { class: 'bulk', key: 'bulk', role: 'group', 'aria-label': 'The chosen' },
    h('span', {}, count(chosenMany.size) + ' chosen'),
    showsDismissed() ? button('Restore', () => restore([...chosenMany]), { act: 'restore', kind: 'small' })
      : one && family === 'artifacts' ? [button('Approve…', () => openBulk('approved'), { key: 'a', act: 'bulk-approve', kind: 'small primary' }), button('Deny…', () => openBulk('denied'), { key: 'd', act: 'bulk-deny', kind: 'small' })]
        : one && family === 'dismissible' ? button('Dismiss', () => dismiss([...chosenMany]), { act: 'bulk-dismiss', kind: 'small' })
          : h('span', { class: 'sub' }, one ? 'These are answered one by one.' : 'Choose proposals only, or failed runs only.'),
    button('Clear', () => chooseAll([]), { kind: 'small quiet', key: 'clear' }));
}

// bulkState returns why the dialog leaves an item out, or '' if the item will be decided.
function bulkState(id, decision) {
  const entry = needEntry(id);
  if (!entry.value) return entry.error ? settledWords(entry) : 'reading…';
  return decision === 'approved' ? approvable(entry.value, entry.value) : '';
}

function openBulk(decision) {
  const ids = [...chosenMany];
  const outcome = new Map();
  const approve = decision === 'approved';
  const reading = () => ids.some((id) => !needEntry(id).value && !needEntry(id).error);
  const fits = () => ids.filter((id) => bulkState(id, decision) === '');
  openDialog({
    name: 'bulk', wide: true, title: (approve ? 'Approve ' : 'Deny ') + plural(ids.length, 'thing') + '?', confirm: approve ? 'Approve' : 'Deny', danger: !approve,
    ready: () => !reading() && fits().length > 0 && outcome.size === 0,
    body: () => [
      h('ul', { class: 'bulk-list' }, ids.map((id) => bulkLine(id, bulkState(id, decision), outcome.get(id), approve))),
      fits().length < ids.length && !reading() && h('p', { class: 'sub' }, plural(ids.length - fits().length, 'item') + ' left out.'),
      outcome.size === 0 && field('bulk-notes', 'A note with each decision (optional)', { rows: 2 }, 'textarea'),
    ],
    run: async () => {
      await resolveMany(fits(), decision, outcome);
      return false;
    },
  });
}

function bulkLine(id, why, outcome, approve) {
  const need = needEntry(id).value || tableOf('needs').get(id) || struck.get(id)?.row;
  const delta = need && need.proof && need.proof.delta;
  return h('li', { key: id, 'data-item-of': id }, h('span', { class: 'bulk-title' }, shownText(oneLine(need ? need.title : id))),
    outcome ? h('span', { class: 'note ' + (outcome.ok ? 'good' : 'bad') }, outcome.words)
      : why ? h('span', { class: 'note warn' }, 'left out: ' + why) : h('span', { class: 'note good' }, delta ? words(delta.state) : approve ? 'fits' : 'will be denied'));
}

async function resolveMany(ids, decision, outcome) {
  const items = ids.map((id) => {
    const need = needEntry(id).value;
    return { project_id: need.p, artifact_id: id.slice(id.indexOf(':') + 1), decision, ...(decision === 'approved' && decisionHash(need) ? { expect_hash: decisionHash(need) } : {}) };
  });
  const done = await call('inbox.resolve_many', { items, notes: (state.fields['bulk-notes'] || '').trim() });
  for (const result of done.results) {
    const id = ids.find((one) => one.endsWith(':' + result.artifact_id));
    outcome.set(id, { ok: result.ok, words: result.ok ? (decision === 'approved' ? 'approved' : 'denied') : result.error?.message || 'not decided' });
    if (!result.ok) continue;
    settle(id, outcome.get(id).words);
    chosenMany.delete(id);
  }
  delete state.fields['bulk-notes'];
  const bad = done.results.filter((result) => !result.ok).length;
  tellOutcome(count(done.resolved) + ' decided' + (bad ? ', ' + count(bad) + ' not.' : '.'), bad > 0);
  stale('reviews*', 'need/*');
}
