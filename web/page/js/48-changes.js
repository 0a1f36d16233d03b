// The changes tab: the changed files of a run, comments on lines, and the bar with actions.

function staleChanges(open) {
  clearTimeout(open.changesTimer);
  open.changesTimer = setTimeout(() => state.open === open && stale('changes/' + open.id), 1000);
}

function readChanges(open) {
  const entry = fetched('changes/' + open.id, () => call('run.changes', { project_id: open.project, run_id: open.id }), runLives(open) ? 30000 : Infinity);
  if (entry.value && open.changes !== entry.value) {
    open.changes = entry.value;
    const paths = new Set((entry.value.files || []).map((f) => f.path));
    // Code spans in agents' texts link to the changed file that they name.
    open.pathHref = (text) => (paths.has(text) ? hrefOf('runs', open.id, 'changes', { file: text }) : '');
  }
  return entry;
}

function changesTab(open) {
  const entry = readChanges(open);
  const { changes } = open;
  if (!changes) return entry.error ? (entry.reason === 'no_worktree' ? empty('No changes to show', 'This run had no worktree of its own: what it did to files stands in its transcript.') : fault(entry.error, () => stale('changes/' + open.id))) : loading('Comparing files…');
  const files = changes.files || [];
  const wide = matchMedia('(min-width: 900px)').matches;
  const path = state.route.query.file || (wide && files.length ? files[0].path : '');
  const file = files.find((f) => f.path === path);
  return [
    changesBar(open, changes), checkpointLines(changes.checkpoints || []),
    !files.length ? empty('Nothing changed', runLives(open) ? 'Files that the agent changes show here.' : 'This run left the files as they were.')
      : h('div', { class: 'changes' + (file ? ' opened' : ''), key: 'changes' }, fileList(open, files, path), file ? filePane(open, file) : path ? empty('There is no change of ' + oneLine(path), 'It may have been undone meanwhile.') : null),
  ];
}

const stateWords = { live: 'worktree, work goes on', kept: 'worktree kept', branch: 'worktree gone, branch kept', landed: 'landed', none: 'no files left' };

function changesBar(open, changes) {
  const { totals } = changes;
  const drafts = draftsOf(open);
  return h('div', { class: 'changes-bar', key: 'bar' },
    h('p', {}, plural(totals.files, 'file') + ' +' + totals.added + ' −' + totals.removed, h('span', { class: 'quiet' }, ' ' + (changes.branch || '') + ' ' + (stateWords[changes.state] || words(changes.state)) + (changes.landed ? ' as ' + String(changes.landed.commit || '').slice(0, 7) : '')),
      changes.truncated_files > 0 && h('span', { class: 'note warn' }, plural(changes.truncated_files, 'file') + ' left out')),
    h('div', { class: 'actions' },
      drafts.length > 0 && act('send-comments', 'Send ' + plural(drafts.length, 'comment') + ' to ' + personName(aboutRun(open).agent), () => askReview(open), { kind: 'primary' }),
      landActs(open, changes),
      totals.files > 0 && button('Copy patch', () => copyPatch(open), { key: 'patch' })));
}

async function copyPatch(open) {
  try {
    const { patch } = await call('run.changes', { project_id: open.project, run_id: open.id, form: 'patch' });
    await copyText(patch, 'The patch is copied.');
  } catch (error) {
    say('Not copied: ' + error.message, true);
  }
}

const actionSigns = { create: '+', add: '+', modify: '±', delete: '−', rename: '→' };

function fileList(open, files, path) {
  const drafts = draftsOf(open);
  const folder = (f) => f.path.slice(0, f.path.lastIndexOf('/') + 1);
  return h('nav', { class: 'file-list', 'aria-label': 'Changed files', key: 'files' }, h('ul', {}, files.map((f, i) => [
    (i === 0 || folder(f) !== folder(files[i - 1])) && folder(f) && h('li', { key: 'in/' + folder(f) + i, class: 'file-folder' }, plainText(folder(f))),
    h('li', { key: f.path }, h('a', { class: 'file-row' + (f.path === path ? ' chosen' : ''), 'data-file': f.path, href: hrefOf('runs', open.id, 'changes', { file: f.path }), 'aria-current': f.path === path ? 'true' : undefined },
      h('span', { 'aria-hidden': 'true' }, actionSigns[f.action] || '±'), h('span', { class: 'file-name' }, oneLine(f.path.slice(folder(f).length))), h('span', { class: 'quiet' }, words(f.action) + (f.binary ? ', binary' : ' +' + f.added + ' −' + f.removed)),
      drafts.some((d) => d.path === f.path) && h('span', { class: 'note' }, drafts.filter((d) => d.path === f.path).length + ' unsent'))),
  ])));
}

function filePane(open, file) {
  const asked = file.diff === undefined && !file.binary;
  const entry = asked ? fetched('changes/' + open.id + '/' + file.path + '/' + file.sha256, () => call('run.changes', { project_id: open.project, run_id: open.id, paths: [file.path] })) : null;
  const got = entry && entry.value && entry.value.files.find((f) => f.path === file.path);
  const diff = file.diff ?? (got && got.diff);
  return h('section', { class: 'file-pane', key: 'file/' + file.path, 'aria-label': oneLine(file.path) },
    h('header', { class: 'file-head' }, h('a', { class: 'icon-button file-back', href: hrefOf('runs', open.id, 'changes'), 'aria-label': 'Back to all files' }, icon('back')), h('h2', { class: 'mono' }, oneLine(file.path)), h('span', { class: 'quiet' }, words(file.action) + ' +' + file.added + ' −' + file.removed + (file.old_path ? ', was ' + oneLine(file.old_path) : ''))),
    file.binary ? h('p', { class: 'quiet' }, 'A binary file: there are no lines to show.')
      : diff ? [patchView(diff, file.path, { extra: commentsOn(open, file, diff) }), outdatedComments(open, file, diff)]
        : entry && entry.error ? fault(entry.error) : entry && entry.value ? h('p', { class: 'quiet' }, 'There is no text to compare.') : loading('Reading the diff…'));
}

// ---- Comments on lines. Unsent ones are kept in this browser.

const draftName = (open) => 'comments/' + open.id;

function draftsOf(open) {
  if (!open.drafts) {
    try {
      open.drafts = JSON.parse(memory.get(draftName(open)) || '[]');
    } catch {
      open.drafts = [];
    }
  }
  return open.drafts;
}

// keepDrafts stores the drafts, without excerpts that contain a masked secret.
function keepDrafts(open, drafts) {
  open.drafts = drafts;
  memory.set(draftName(open), JSON.stringify(drafts.map((d) => (hasSecret(d.excerpt) ? { ...d, excerpt: '' } : d))));
  changed();
}

const sideOf = (line) => (line.kind === 'removed' ? 'old' : 'new');
const numberOf = (line) => (line.kind === 'removed' ? line.old : line.now);

// commentsOn adds to each line of a diff a comment button and the line's comments.
function commentsOn(open, file, diff) {
  const lines = knownDiff(diff);
  const kept = ((open.changes && open.changes.comments) || []).filter((c) => c.path === file.path);
  const drafts = draftsOf(open);
  const onLine = (c, line) => line.sign !== undefined && (c.line_to || c.line) === numberOf(line) && c.side === sideOf(line) && fitsLines(c, lines);
  return {
    on: (line) => line.sign !== undefined && h('button', { type: 'button', class: 'comment-button', 'data-act': 'comment-line', 'aria-label': 'Comment on line ' + numberOf(line) + (sideOf(line) === 'old' ? ' (old)' : ''), onclick: () => beginComment(open, file, line) }, '✎'),
    below: (line) => line.sign !== undefined && [
      kept.filter((c) => onLine(c, line)).map((c) => keptComment(c)),
      drafts.filter((d) => d.path === file.path && d.line === numberOf(line) && d.side === sideOf(line)).map((d) => draftView(open, d)),
      open.commenting && open.commenting.path === file.path && open.commenting.line === numberOf(line) && open.commenting.side === sideOf(line) && commentForm(open),
    ],
  };
}

// fitsLines reports whether the text that a comment quotes is still at its line.
function fitsLines(comment, lines) {
  if (!comment.excerpt) return true;
  const last = comment.excerpt.split('\n').pop();
  return lines.some((line) => line.sign !== undefined && sideOf(line) === comment.side && numberOf(line) === (comment.line_to || comment.line) && line.text.trim() === last.trim());
}

const keptComment = (c, note) =>
  h('div', { class: 'line-comment', key: c.comment_id }, h('p', { class: 'note-head' }, h('strong', {}, personName(c.author_id)), h('time', { title: moment(c.at) }, clock(c.at)), note && h('span', { class: 'note warn' }, note)), markdown(c.text, { key: 'text' }));

// outdatedComments shows the comments whose lines are gone.
function outdatedComments(open, file, diff) {
  const lines = knownDiff(diff);
  const gone = ((open.changes && open.changes.comments) || []).filter((c) => c.path === file.path && !lines.some((line) => line.sign !== undefined && (c.line_to || c.line) === numberOf(line) && c.side === sideOf(line) && fitsLines(c, lines)));
  return gone.length > 0 && h('div', { class: 'outdated', key: 'outdated' }, gone.map((c) => keptComment(c, 'outdated, was line ' + c.line)));
}

function beginComment(open, file, line) {
  open.commenting = { path: file.path, side: sideOf(line), line: numberOf(line), excerpt: line.text };
  state.fields['comment/' + open.id] = '';
  changed();
}

function endComment(open) {
  const { path, line } = open.commenting;
  open.commenting = null;
  changed();
  focusDrawn(() => [...document.querySelectorAll('[data-act=comment-line]')].find((el) => el.getAttribute('aria-label').startsWith('Comment on line ' + line)) || document.querySelector('[data-file="' + CSS.escape(path) + '"]'));
}

function commentForm(open) {
  const keep = () => {
    const body = (state.fields['comment/' + open.id] || '').trim();
    if (!body) return;
    keepDrafts(open, [...draftsOf(open), { ...open.commenting, body, at: Date.now() }]);
    endComment(open);
  };
  return h('form', { class: 'line-comment compose', key: 'form', onsubmit: (event) => event.preventDefault() },
    field('comment/' + open.id, 'Comment on line ' + open.commenting.line, { rows: 2, onkeydown: sends(keep), mounted: (el) => el.focus() }, 'textarea'),
    h('div', { class: 'actions end' }, act('cancel', 'Cancel', () => endComment(open)), act('keep-comment', 'Keep', keep, { kind: 'primary', hint: 'Ctrl+Enter' })));
}

const draftView = (open, d) =>
  h('div', { class: 'line-comment draft', key: 'draft/' + d.at }, h('p', { class: 'note-head' }, h('strong', {}, 'You'), h('span', { class: 'note' }, 'not sent')), h('p', { class: 'entry-body' }, d.body),
    h('div', { class: 'actions end' }, button('Remove', () => keepDrafts(open, draftsOf(open).filter((one) => one !== d)), { key: 'remove' })));

// reviewText returns the message that the agent will receive.
const reviewText = (drafts, text) =>
  ['Comments on your changes:', ...drafts.map((d) => d.path + ':' + d.line + ' (' + d.side + ')\n' + (d.excerpt ? '> ' + d.excerpt + '\n' : '') + d.body), text].filter(Boolean).join('\n\n');

function askReview(open) {
  const drafts = draftsOf(open);
  const lives = runLives(open);
  const name = personName(aboutRun(open).agent);
  const words = () => (state.fields['review/' + open.id] || '').trim();
  const run = async () => {
    const comments = drafts.map(({ path, side, line, body, excerpt }) => ({ path, side, line, body, ...(excerpt ? { excerpt } : {}) }));
    const params = { project_id: open.project, run_id: open.id, deliver: 'auto', comments, client_message_id: messageId(open, JSON.stringify(drafts) + words()) };
    if (words()) params.text = words();
    const done = await call('run.review', params);
    open.message = null;
    state.fields['review/' + open.id] = '';
    keepDrafts(open, []);
    say(done.delivered === 'steer' ? 'Sent: the agent takes the comments into its work.' : 'Sent: the run continues with the comments.');
    stale('changes/' + open.id, 'comments/' + open.id);
  };
  openDialog({
    name: 'review', title: 'Send to ' + name + '?', confirm: lives ? 'Send' : 'Send and continue', wide: true, run,
    body: () => [
      h('p', {}, lives ? 'The agent works: it gets this as a message (steer).' : 'The run is over: it continues with this.'),
      h('pre', { class: 'review-text', tabindex: '0' }, plainText(reviewText(drafts, words()))),
      field('review/' + open.id, 'More words (optional)', { rows: 2 }, 'textarea'),
    ],
  });
}
