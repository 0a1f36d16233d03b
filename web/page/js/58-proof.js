// The proof of a need: what a decision is about, shown beside its buttons.

function proofOf(need) {
  const { proof } = need;
  switch (need.kind) {
    case 'milestone': return milestoneProof(need);
    case 'memory': return proof.delta ? deltaProof(proof.delta, proof.artifact) : reportOf(proof.artifact);
    case 'files': return proof.files ? filesProof(proof.files) : reportOf(proof.artifact);
    case 'action': return reportOf(proof.artifact);
    case 'help': return proof.help && helpProof(need, proof.help);
    case 'run_failed': return [failureProof(proof), lastItems(proof.items), changesProof(proof.changes)];
    case 'over_budget': return [budgetProof(proof.budget), lastItems(proof.items), changesProof(proof.changes)];
    case 'broken_log': return logProof(proof.log);
    default: return proof.interaction ? [askProof(proof.interaction), askFacts(need, proof.interaction), lastItems(proof.items)] : lastItems(proof.items);
  }
}

// The heading of a part comes one level below the item's title. That title is the page's heading on
// a narrow screen and on Decided.
const proofHeading = () => (state.route.view === 'needs' && wide() ? 'h3' : 'h2');
const proofPart = (kind, title, ...children) => h('section', { class: 'proof-part', key: kind + title, 'data-proof': kind, 'aria-label': title }, h(proofHeading(), { class: 'proof-title' }, title), children);

// evidenceOf returns the evidence of a milestone, as the server judges it now.
function evidenceOf(need) {
  if (need.proof.evidence) return { value: need.proof.evidence };
  return fetched('need/evidence/' + need.need_id, () => call('artifact.evidence', { project_id: need.p, artifact_id: need.need_id.slice('milestone:'.length) }));
}

// Revealed secrets, kept until another place is opened: by need, the revealed value and the masked
// value that it belongs to. A decision is sent with the masked value. So nobody decides on a newer
// value after seeing an older one.
const shownEvidence = new Map();
const shownNeeds = new Map();
let placesLeft = 0;

function forgetSecrets() {
  placesLeft++;
  shownEvidence.clear();
  shownNeeds.clear();
}

// unmasked returns the revealed value for a masked value, or null.
function unmasked(kept, id, of) {
  const shown = kept.get(id);
  return shown && shown.of === of ? shown.value : null;
}

// unmask requests the plain text of a masked value. It drops a response that arrives after the
// place was left.
async function unmask(kept, id, of, method, params) {
  const place = placesLeft;
  try {
    const value = await call(method, { ...params, mask: false });
    if (place === placesLeft) kept.set(id, { of, value });
  } catch (error) {
    if (place === placesLeft) say('Nothing is shown. ' + error.message, true);
  }
  changed();
}

const showMasked = (need) => unmask(shownNeeds, need.need_id, need, 'needs.get', { need_id: need.need_id });

// maskedButton offers to reveal masked text in a proof. Milestones have their own button.
const maskedButton = (need) => need.kind !== 'milestone' && !unmasked(shownNeeds, need.need_id, need) && maySeeSecrets() && hasSecret(JSON.stringify(need.proof)) && button('Show what is masked', () => showMasked(need), { act: 'show-secret', kind: 'small', key: 'secrets' });

const showSecrets = (need) => unmask(shownEvidence, need.need_id, evidenceOf(need).value, 'artifact.evidence', { project_id: need.p, artifact_id: need.need_id.slice('milestone:'.length) });

const maySeeSecrets = () => ['ceo', 'director', 'manager'].includes(state.role);

function secretsButton(need, items) {
  const masked = items.some((item) => hasSecret(item.text));
  return masked && maySeeSecrets() && button('Show what is masked', () => showSecrets(need), { act: 'show-secret', kind: 'small', key: 'secrets' });
}

function milestoneProof(need) {
  const entry = evidenceOf(need);
  if (!entry.value) return entry.error ? fault(entry.error) : loading('Reading the evidence…');
  const shown = unmasked(shownEvidence, need.need_id, entry.value);
  const { criteria, requires, fits, why, items, task, milestone } = shown || entry.value;
  const named = need.proof.artifact?.markdown;
  return [
    h('p', { class: 'sub', key: 'of' }, [milestone && milestone.title && 'Milestone ' + oneLine(milestone.title), task && task.title && 'of ' + oneLine(task.title)].filter(Boolean).join(' '), ' ', h('span', { class: 'note ' + (fits ? 'good' : 'bad') }, fits ? 'fits ✓' : 'does not fit ✗')),
    !fits && h('p', { class: 'fault', key: 'why' }, why || 'The evidence does not fit.'),
    proofPart('criteria', 'Criteria', criteria && criteria.length ? h('ul', { class: 'criteria' }, criteria.map((one, i) => h('li', { key: i }, '☐ ', shownText(one)))) : h('p', {}, 'This milestone has no criteria.')),
    evidenceItems('patch', 'Patch', items.filter((item) => item.role === 'evidence' && item.form !== 'missing'), requires && requires.patch, items.filter((item) => item.role === 'evidence' && item.form === 'missing')),
    evidenceItems('tests', 'Tests', items.filter((item) => item.role === 'tests' && item.form !== 'missing'), requires && requires.tests, items.filter((item) => item.role === 'tests' && item.form === 'missing')),
    !shown && secretsButton(need, items),
    named && h('details', { class: 'source', key: 'report' }, h('summary', {}, 'Report'), markdown(named)),
    changesProof(need.proof.changes),
  ];
}

function evidenceItems(kind, title, there, required, missing) {
  if (!there.length && !missing.length && !required) return null;
  return proofPart(kind, title,
    !there.length && !missing.length && h('p', { class: 'bad-text' }, 'It is required and missing.'),
    missing.map((item) => h('p', { class: 'bad-text', key: 'missing/' + item.id }, 'Missing: ' + item.id)),
    there.map((item) => h('div', { key: item.id + item.relpath, class: 'evidence-item' },
      h('p', { class: 'evidence-head' }, h('code', { title: item.relpath }, oneLine((item.relpath || item.id).split('/').pop())), known(item.added) && h('span', { class: 'counts' }, '+' + item.added + ' −' + (item.removed || 0)), h('span', { class: 'quiet' }, bytesWords(item.bytes)), item.truncated && h('span', { class: 'note warn' }, 'shortened')),
      evidenceText(item))));
}

function evidenceText(item) {
  if (!item.text) return h('p', { class: 'quiet' }, item.binary ? 'It is binary.' : item.bytes ? 'It is too large to be shown.' : 'It is empty.');
  if (item.form === 'patch') return patchFiles(item.text);
  if (item.form === 'markdown') return markdown(item.text.replace(/^---\r?\n[\s\S]*?\r?\n---\r?\n/, ''));
  return h('pre', { tabindex: '0', 'aria-label': item.relpath || item.id }, shownText(item.text));
}

// patchFiles shows a patch file by file, each under its name.
function patchFiles(text) {
  const files = text.split(/^(?=diff --git )/m).filter((one) => one.trim());
  return files.map((one, i) => {
    const path = (/^\+\+\+ (?:b\/)?([^\t\n]+)/m.exec(one) || [])[1] || '';
    const name = path === '/dev/null' ? (/^--- (?:a\/)?([^\t\n]+)/m.exec(one) || [])[1] : path;
    return h('div', { key: i, 'data-file': name }, name && h('p', { class: 'evidence-head' }, h('code', {}, oneLine(name))), patchView(one, name || ''));
  });
}

const bytesWords = (n) => (!known(n) ? '' : n < 1024 ? plural(n, 'byte') : n < 1 << 20 ? (n / 1024).toFixed(1) + ' KiB' : (n / (1 << 20)).toFixed(1) + ' MiB');

const reportOf = (artifact) => artifact && proofPart('items', 'Proposal', markdown(artifact.markdown));

function deltaProof(delta, artifact) {
  return [
    delta.state === 'conflict' && h('p', { class: 'fault', key: 'conflict' }, 'Approving cannot work: ' + (delta.reason || 'the memory changed.') + ' Deny it, or ask for a new proposal.'),
    proofPart('diff', 'Change', h('p', { class: 'target' }, 'Into ', h('code', {}, oneLine(delta.target_file)), delta.state === 'reanchored' && h('span', { class: 'note warn' }, 'moved: the file changed since')), delta.diff && patchView(delta.diff, delta.target_file)),
    artifact && h('details', { class: 'source', key: 'source' }, h('summary', {}, 'Reason and whole proposal'), markdown(artifact.markdown)),
  ];
}

function filesProof(listing) {
  return proofPart('diff', plural(listing.files.length, 'file'), listing.files.map((file) => h('div', { key: file.id, class: 'evidence-item', 'data-file': file.path },
    h('p', { class: 'evidence-head' }, h('code', {}, oneLine(file.path)), h('span', {}, file.action), h('span', { class: 'counts' }, '+' + file.added + ' −' + file.removed), file.problem && h('span', { class: 'note bad' }, words(file.problem))),
    file.message && h('p', { class: 'bad-text' }, oneLine(file.message)), file.diff && patchView(file.diff, file.path))));
}

function helpProof(need, help) {
  const live = [...rowsOf('runs')].filter(([, row]) => row.agent === need.who).sort(([, a], [, b]) => (a.at < b.at ? 1 : -1))[0];
  return [
    proofPart('question', 'Question', markdown(help.question)),
    live && h('p', { class: 'sub', key: 'run' }, oneLine(personName(need.who)), isLive(live[1]) ? ' works on ' : ' last worked on ', h('a', { class: 'link', href: hrefOf('runs', live[0], '', { project: live[1].p }) }, oneLine(live[1].title) || live[0])),
    help.response.trim() && h('details', { key: 'response', open: true }, h('summary', {}, 'Answered before'), markdown(help.response)),
  ];
}

function failureProof(proof) {
  const { error, error_kind: kind, exit_code: exit, signal } = proof.failure || {};
  return proofPart('figures', 'What failed', facts([kind && ['Kind', errorKinds[kind] || words(kind)], ['Exit', known(exit) ? count(exit) : signal || 'none']]),
    error && h('pre', { tabindex: '0', 'aria-label': 'Error' }, shownText(error)));
}

function budgetProof(budget) {
  if (!budget) return null;
  const figureOf = (n) => (budget.metric && budget.metric.includes('cost') ? money(n) : compact(n));
  const over = known(budget.actual) && known(budget.threshold) ? budget.actual - budget.threshold : null;
  return proofPart('figures', 'Budget', facts([['Metric', words(budget.metric)], ['Limit', figureOf(budget.threshold)], ['Used', figureOf(budget.actual)], over !== null && ['Over by', figureOf(over), 'bad'], ['Set by', words(budget.scope)], ['Severity', words(budget.severity)]]));
}

function logProof(log) {
  if (!log) return null;
  const lines = [...log.parse_issues.map((i) => [i.seq, i.error]), ...log.verification_issues.map((i) => [i.seq, i.message])];
  return proofPart('figures', plural(lines.length, 'fault') + ' in the log', h('ul', { class: 'faults' }, lines.map(([where, what], i) => h('li', { key: i }, h('code', {}, 'line ' + where), ' ', shownText(oneLine(what))))));
}

// askFacts shows where a request would act, and what the run may do.
function askFacts(need, record) {
  const policy = fetched('need/policy/' + need.run, () => call('run.policy.get', { project_id: need.p, run_id: need.run }));
  const may = policy.value && (policy.value.policy || policy.value);
  const run = rowOf('runs', need.run);
  const args = parse(record.args_preview || '');
  const folder = args && typeof args.cwd === 'string' ? args.cwd : '';
  return proofPart('figures', 'Where', facts([folder && ['Folder', code(oneLine(folder))], run && ['Run', oneLine(run.title) || need.run], may && may.mode && ['Mode', words(may.mode)], may && may.permission_level && ['Level', words(may.permission_level)], record.tool && ['Tool', oneLine(record.tool)]]));
}

const itemWords = { message: 'said', reasoning: 'thought', tool: 'ran', file_change: 'changed', plan: 'planned', notice: 'notice', permission: 'asked', question: 'asked', usage: '' };

// lastItems shows the end of the transcript: one line per item, with the end of its output.
function lastItems(items) {
  const shown = (items || []).filter((item) => itemWords[item.kind] !== '');
  if (!shown.length) return null;
  return proofPart('items', 'What came before', h('ol', { class: 'last-items' }, shown.map((item) => h('li', { key: item.item_id, class: item.state === 'error' ? 'bad' : '' },
    h('span', { class: 'entry-kind' }, item.role === 'user' ? 'told' : itemWords[item.kind] || words(item.kind)), ' ',
    item.tool ? [h('code', {}, oneLine(item.tool.title || item.tool.name)), item.tool.output_tail && h('pre', { tabindex: '0', 'aria-label': 'End of the output' }, shownText(item.tool.output_tail.trim().split('\n').slice(-10).join('\n')))] : markdown(item.text || item.interaction?.title || '')))));
}

const changesProof = (changes) => changes && changes.files > 0 && proofPart('figures', 'Changes', h('p', {}, plural(changes.files, 'file') + ' +' + changes.added + ' −' + changes.removed));
