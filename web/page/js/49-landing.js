// Land, apply and revert: bringing a run's changes into its repository, with a preview first.

const landingRefusals = { run_busy: 'The agent still works.', target_busy: 'Another run works in that place.', snapshot_base: 'This run began from uncommitted files: apply its files instead of landing it as one commit.' };

function landActs(open, changes) {
  if (!changes.totals.files || changes.state === 'none') return null;
  const now = open.transcript.state || {};
  const works = runLives(open) && now.activity !== 'idle';
  const landed = changes.state === 'landed';
  const applied = appliedOf(changes.checkpoints || []);
  return [
    !landed && h('span', { class: 'split-button', key: 'land', role: 'group', 'aria-label': 'Land' },
      act('land', 'Land…', () => askLand(open), { disabled: works, hint: works ? landingRefusals.run_busy : 'As one commit' }),
      act('land', 'As uncommitted changes…', () => askApply(open, changes), { disabled: works, key: 'apply', hint: works ? landingRefusals.run_busy : 'Into the files of the repository' })),
    applied && act('revert', 'Revert', () => askRevert(open, applied)),
  ];
}

// putsBack reports whether a checkpoint undoes an application: it reverts one, not another revert.
function putsBack(checkpoint, checkpoints) {
  let back = false;
  for (let c = checkpoint; c && c.reverts; c = checkpoints.find((one) => one.checkpoint_id === c.reverts)) back = !back;
  return back;
}

// appliedOf returns the newest application that was not reverted.
const appliedOf = (checkpoints) => checkpoints.find((c) => c.state !== 'reverted' && !putsBack(c, checkpoints));

// checkpointLines lists what was applied and put back, the newest first.
function checkpointLines(checkpoints) {
  if (!checkpoints.length) return null;
  return h('ul', { class: 'checkpoints', key: 'checkpoints', 'aria-label': 'Applied and put back' }, checkpoints.slice(0, 5).map((c) => h('li', { key: c.checkpoint_id, 'data-checkpoint': c.checkpoint_id }, checkpointWords(c, checkpoints))));
}

function checkpointWords(c, checkpoints) {
  const what = c.reverts ? (putsBack(c, checkpoints) ? 'Put back ' : 'Applied again ') : 'Applied ';
  const of = c.reverts && checkpoints.find((one) => one.checkpoint_id === c.reverts);
  return what + plural(c.files.length, 'file') + (of && of.files.length > c.files.length ? ' of ' + count(of.files.length) : '') + ' by ' + oneLine(personName(c.actor_id), 60) + ', ' + moment(c.at) + (c.state === 'conflicted' ? '; some were changed by others and left as they are' : '');
}

const refusalWords = (error) => landingRefusals[error.reason] || error.message;
const conflictsOf = (error) => (error.data && error.data.conflicts ? { conflicts: error.data.conflicts } : null);

// tried stores the result of a dry run, or its error.
async function tried(plan, ask) {
  try {
    plan.result = await ask();
  } catch (error) {
    plan.error = refusalWords(error);
    plan.result = conflictsOf(error);
  }
  plan.busy = false;
  changed();
}

// refusing rethrows a refusal with this screen's explanation.
async function refusing(ask) {
  try {
    return await ask();
  } catch (error) {
    error.message = refusalWords(error);
    throw error;
  }
}

// askLand previews landing as one commit, and lands on confirmation.
function askLand(open) {
  const plan = { busy: true, result: null, error: '' };
  const name = 'land/' + open.id;
  const params = (more) => ({ project_id: open.project, run_id: open.id, ...((state.fields[name] || '').trim() ? { message: state.fields[name].trim() } : {}), ...more });
  const run = async () => {
    const done = await refusing(() => call('run.land', params()));
    stale('changes/' + open.id);
    const { opener } = state.dialog;
    tellLanded(done);
    state.dialog.opener = opener;
  };
  openDialog({ name: 'land', title: 'Land as one commit?', confirm: 'Land', wide: true, body: () => landBody(open, plan, name), run, ready: () => !plan.busy && !plan.error && plan.result && !(plan.result.conflicts || []).length });
  tried(plan, () => call('run.land', params({ dry_run: true })));
}

function landBody(open, { busy, result, error }, name) {
  const conflicts = (result && result.conflicts) || [];
  const branch = oneLine((result && result.branch) || 'main');
  if (busy) return loading('Trying it out…');
  return [
    error && !conflicts.length && h('p', { class: 'fault', role: 'alert' }, 'It cannot be landed: ' + error),
    result && result.branch && !conflicts.length && h('p', {}, plural(result.files, 'file') + ' +' + result.added + ' −' + result.removed + ' as one commit on ', h('strong', {}, branch), '.' + (result.already ? ' All of it is there already.' : '')),
    (result && result.notes ? result.notes : []).map((note) => h('p', { key: note, class: 'quiet' }, oneLine(note))),
    conflicts.length > 0 && [h('p', {}, 'These files conflict with ' + branch + ':'), h('ul', { class: 'conflicts' }, conflicts.map((path) => h('li', { key: path, class: 'mono' }, oneLine(path)))), act('continue', 'Continue: rebase on ' + branch, () => rebase(open, branch))],
    !conflicts.length && !error && field(name, 'Message of the commit (when empty: what the run was asked to do)', { rows: 3 }, 'textarea'),
  ];
}

// rebase opens the message box with a request to rebase.
function rebase(open, branch) {
  closeDialog();
  state.fields['say/' + open.id] = 'Rebase on ' + branch + '.';
  go('runs', open.id, 'transcript');
  focusDrawn(() => document.querySelector('[data-steer]'));
}

function tellLanded(done) {
  const short = String(done.commit || '').slice(0, 7);
  const undo = 'git revert ' + short;
  openDialog({ name: 'landed', title: done.commit ? 'Landed on ' + oneLine(done.branch) + ' as ' + short : 'It was there already', body: () => done.commit && h('p', {}, 'To undo it: ', h('code', {}, undo), ' ', button('Copy', () => copyText(undo, 'Copied: ' + undo), { key: 'copy' })) });
}

// askApply previews applying the run's files to the repository as uncommitted changes, and applies
// them on confirmation.
function askApply(open, changes) {
  const plan = { busy: true, result: null, error: '' };
  const problems = () => ((plan.result && plan.result.files) || []).filter((f) => f.problem);
  const run = async () => {
    const done = await refusing(() => call('artifact.apply', { project_id: open.project, preview_id: plan.result.preview_id }));
    say('Applied ' + plural(done.applied, 'file') + '. Revert takes them back.');
    stale('changes/' + open.id);
  };
  openDialog({ name: 'apply', title: 'Apply as uncommitted changes?', confirm: 'Apply', wide: true, body: () => applyBody(plan, problems()), run, ready: () => !plan.busy && plan.result && !problems().length });
  tried(plan, () => call('artifact.preview', { project_id: open.project, artifact_ids: changes.files.map((f) => f.id), target: { repo_id: changes.repo_id } }));
}

function applyBody({ busy, result, error }, problems) {
  const files = (result && result.files) || [];
  if (busy) return loading('Comparing with the repository…');
  return [
    error && h('p', { class: 'fault', role: 'alert' }, 'It cannot be applied: ' + error),
    files.length > 0 && h('ul', { class: 'conflicts', tabindex: '0', 'aria-label': 'Files' }, files.map((f) => h('li', { key: f.path }, h('span', { class: 'mono' }, oneLine(f.path)), ' ', f.problem ? h('span', { class: 'note bad' }, oneLine(f.message || words(f.problem))) : h('span', { class: 'quiet' }, words(f.action) + ' +' + f.added + ' −' + f.removed)))),
    problems.length > 0 && h('p', {}, 'While ' + plural(problems.length, 'file') + ' cannot be applied, none is.'),
  ];
}

function askRevert(open, checkpoint) {
  const run = async () => {
    const done = await refusing(() => call('artifact.revert', { project_id: open.project, checkpoint_id: checkpoint.checkpoint_id }));
    say('Put back ' + plural(done.reverted, 'file') + '.');
    stale('changes/' + open.id);
  };
  openDialog({
    name: 'revert', title: 'Put these files back?', confirm: 'Revert', danger: true, run,
    body: () => [
      h('ul', { class: 'conflicts', tabindex: '0', 'aria-label': 'Files' }, (checkpoint.files || []).map((f) => h('li', { key: f.path, class: 'mono' }, oneLine(f.path)))),
      h('p', {}, 'They become as they were before they were applied, on ' + moment(checkpoint.at) + '.'),
    ],
  });
}
