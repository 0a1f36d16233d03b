// Decided: what was decided, by whom, when and by which rule, and how to take it back.

const decidedHeight = 84;
const fileDecision = 'files'; // the subject kind of reviews of files

// decidedReviews returns the newest decisions, of all projects.
function decidedReviews() {
  const entry = fetched('reviews', () => call('inbox.list_reviews', { limit: 1000 }));
  const rev = tableRev('needs'); // a removed need may have been decided
  if (entry.rev !== rev) {
    if (entry.rev !== undefined) queueMicrotask(() => stale('reviews'));
    entry.rev = rev;
    queueMicrotask(() => stale('checkpoints/*'));
  }
  return entry;
}

const decidedArtifact = (review) => fetched('artifact/' + review.subject.artifact_id, () => call('artifact.read', { project_id: review.subject.project_id, artifact_id: review.subject.artifact_id }));
const decidedTitle = (review) => decidedArtifact(review).value?.frontmatter?.title || brief(review.subject.artifact_id);

// checkpointsOf returns the checkpoints in the project of a decision, the newest first.
const checkpointsOf = (review) => fetched('checkpoints/' + review.subject.project_id, () => call('artifact.checkpoints', { project_id: review.subject.project_id, limit: 500 }));

// tracesOf returns the checkpoints of an approval of files: its application, reverts and
// reapplications.
function tracesOf(review, checkpoints) {
  const ids = new Set();
  for (const c of [...checkpoints].reverse()) if (c.proposal_id === review.subject.artifact_id || ids.has(c.reverts)) ids.add(c.checkpoint_id);
  return checkpoints.filter((c) => ids.has(c.checkpoint_id));
}

const decidesFiles = (review) => review.decision === 'approved' && review.subject.kind === fileDecision;

// takeBack returns the button that undoes a decision, or null.
function takeBack(review) {
  if (!decidesFiles(review)) return null;
  const traces = tracesOf(review, checkpointsOf(review).value || []);
  const applied = appliedOf(traces);
  return applied ? button('Revert…', () => openRevert(review, applied), { act: 'revert', kind: 'small' }) : null;
}

function openRevert(review, applied) {
  openDialog({
    name: 'revert', title: 'Revert these files?', confirm: 'Revert', danger: true,
    body: () => [h('p', {}, 'The files are again as they were before ' + moment(applied.at) + ':'), h('ul', {}, applied.files.map((file) => h('li', { key: file.path }, h('code', {}, oneLine(file.path)))))],
    run: async () => {
      const done = await call('artifact.revert', { project_id: review.subject.project_id, checkpoint_id: applied.checkpoint_id });
      tellOutcome('Put back ' + plural(done.reverted, 'file') + '.');
      stale('checkpoints/*', 'changes/*');
    },
  });
}

// decidedTraces describes what happened to the files of a decision.
function decidedTraces(review) {
  const entry = decidesFiles(review) && checkpointsOf(review);
  if (!entry) return null;
  if (entry.error) return h('p', { class: 'sub' }, 'Whether the files still stand is not known: ' + entry.error);
  const traces = entry.value ? tracesOf(review, entry.value) : [];
  return traces.length > 1 && h('p', { class: 'sub', 'data-checkpoint': traces[0].checkpoint_id }, checkpointWords(traces[0], traces));
}

function decisionView(review) {
  const good = review.decision === 'approved';
  return h('div', { class: 'decision-row', 'data-review': review.id },
    h('span', { class: 'pill ' + (good ? 'good' : 'bad') }, (good ? '✓ ' : '✗ ') + sentence(review.decision)),
    h('div', { class: 'decision-what' },
      h('a', { href: hrefOf('decided', review.subject.artifact_id, '', { project: review.subject.project_id }) }, oneLine(decidedTitle(review))), ' ', h('span', { class: 'note' }, words(review.subject.kind)),
      h('p', { class: 'sub' }, 'by ' + oneLine(personName(review.actor_id)) + ' (' + review.actor_role + '), rule ' + review.policy.rule_id + ': ' + words(review.policy.reason)),
      decidedTraces(review),
      review.notes && h('p', { class: 'sub' }, h('q', {}, shownText(oneLine(review.notes))))),
    agoSince(review.created_at, { class: 'need-when' }), takeBack(review));
}

function fitsDecided(review) {
  const { kind, who, day: onDay } = state.route.query;
  if (state.project && review.subject.project_id !== state.project) return false;
  return (!kind || review.subject.kind === kind) && (!who || review.actor_id === who) && (!onDay || review.created_at.startsWith(onDay));
}

function decidedFilters(all) {
  const kinds = [...new Set(all.map((review) => review.subject.kind))].map((kind) => [kind, sentence(kind)]);
  const people = [...new Set(all.map((review) => review.actor_id))].map((id) => [id, oneLine(personName(id), 60)]);
  return h('div', { class: 'filters' }, choiceOf('kind', 'Kind', kinds), choiceOf('who', 'Person', people),
    h('input', { type: 'date', class: 'field', 'aria-label': 'Day', value: state.route.query.day || '', onchange: (e) => setQuery({ day: e.target.value }) }));
}

function decidedView() {
  const entry = decidedReviews();
  const all = entry.value || [];
  if (state.route.id) return decidedItem(state.route.id, entry);
  const list = all.filter(fitsDecided);
  return h('div', { class: 'page', key: 'decided' },
    h('header', { class: 'pane-head' }, h('div', {}, h('h1', { tabindex: '-1', id: 'title' }, 'Decided'), h('p', { class: 'sub' }, plural(list.length, 'decision') + ' · ', h('a', { class: 'link', href: hrefOf('needs', '', '', { state: 'dismissed' }) }, 'what was dismissed'))), decidedFilters(all)),
    !entry.value ? shownOr(entry, 'reviews', () => null)
      : !list.length ? empty('Nothing was decided', 'Every approval and denial stays here, with who decided, when, and by which rule.', h('a', { class: 'button', href: hrefOf('needs') }, 'See what waits'))
        : rows({ name: 'decided', items: list, height: decidedHeight, label: 'Decisions, the newest first', row: (review, i) => h('div', { key: review.id, role: 'listitem', style: placed(i, decidedHeight) }, decisionView(review)) }));
}

// decidedItem shows one decision with its subject.
function decidedItem(id, entry) {
  const review = (entry.value || []).find((one) => one.subject.artifact_id === id);
  const title = review ? oneLine(decidedTitle(review)) : entry.value ? 'There is no such decision' : 'Reading…';
  return h('div', { class: 'page', key: 'decided/' + id },
    h('header', { class: 'pane-head' }, h('div', {}, h('p', {}, h('a', { class: 'link', href: hrefOf('decided') }, '‹ Decided')), h('h1', { tabindex: '-1', id: 'title' }, title))),
    review && h('div', { class: 'scroller', tabindex: '0', role: 'group', 'aria-label': 'Decision' }, decisionView(review), decidedProof(review)));
}

// addedLines returns the lines that a diff adds. It skips the header above the first hunk.
const addedLines = (diff) => diff.slice(diff.search(/^@@/m)).split('\n').filter((line) => line.startsWith('+')).map((line) => line.slice(1)).filter((line, i, all) => line.trim() || (i > 0 && i < all.length - 1));

// insertedUnder returns the line below which a proposal inserted its lines, or '' if unknown.
const insertedUnder = (artifact) => (/^- inserted_under: (`+) ?(.*?) ?\1$/m.exec(artifact?.markdown || '') || [])[2] || '';

// proposeReverse proposes to remove the lines that an approved proposal added to a memory. The new
// proposal needs a decision like any other.
function proposeReverse(review, shown) {
  const { artifact_id: id, project_id: project } = review.subject;
  const title = 'Take back: ' + oneLine(decidedTitle(review), 120);
  openDialog({
    name: 'reverse', title: 'Propose the reverse?', confirm: 'Propose', wide: true,
    body: () => [h('p', {}, 'These lines are to leave ', h('code', {}, oneLine(shown.target_file)), '. Somebody has to approve it:'), h('pre', { tabindex: '0', 'aria-label': 'Lines' }, shownText(addedLines(shown.diff).join('\n')))],
    run: async () => {
      // The real lines, even if they are shown masked.
      const { diff, target_file: target } = await call('memory.preview_delta', { project_id: project, artifact_id: id, ...(hasSecret(shown.diff) ? { mask: false } : {}) });
      let about = decidedArtifact(review).value;
      if (hasSecret(about.markdown)) about = await call('artifact.read', { project_id: project, artifact_id: id, mask: false });
      await call('memory.propose_delta', { project_id: project, title, under_heading: insertedUnder(about), insert_lines: addedLines(diff), remove: true, target_file: target, visibility: about.frontmatter.visibility || 'managers', run_id: 'run_manual', context_pack_id: 'ctx_manual', evidence: [id] });
      tellOutcome('Proposed: ' + title + '. It waits in Needs you.');
    },
  });
}

function decidedProof(review) {
  const { artifact_id: id, project_id: project, kind } = review.subject;
  const artifact = decidedArtifact(review);
  const delta = kind === 'memory_delta' && fetched('decided/' + id, () => call('memory.preview_delta', { project_id: project, artifact_id: id })).value;
  const evidence = kind === 'milestone_report' || kind === 'milestone';
  return [
    delta && delta.diff && proofPart('diff', 'Change', patchView(delta.diff, delta.target_file), review.decision === 'approved' && addedLines(delta.diff).length > 0 && insertedUnder(artifact.value) && button('Propose the reverse…', () => proposeReverse(review, delta), { act: 'reverse', key: 'reverse' })),
    evidence && milestoneProof({ need_id: 'milestone:' + id, p: project, kind: 'milestone', proof: {} }),
    shownOr(artifact, 'artifact/' + id, (a) => proofPart('items', 'Proposal', markdown(a.markdown.replace(/^---\r?\n[\s\S]*?\r?\n---\r?\n/, '')))),
  ];
}
