// The view of transcript items.

const itemNames = { message: 'Agent', reasoning: 'Thinking', tool: 'Tool', file_change: 'Files', plan: 'Plan', notice: 'Notice' };

// itemView draws one item. The open run remembers which parts are folded, because rows out of sight
// leave the document.
function itemView(open, item) {
  const marked = open.marked === item.item_id;
  return h('div', {
    class: 'entry ' + lookOf(item) + (open.cursor === item.item_id ? ' found' : '') + (item.parent ? ' within' : ''), 'data-item': item.item_id, 'data-kind': item.kind,
    'data-state': stateOfItem(item), 'data-seq': item.seq_first, 'aria-current': marked ? 'true' : undefined,
  }, bodyOf(open, open.shown.get(item.item_id) || item), secretPart(open, item));
}

// secretPart offers to reveal masked text to those who may see it. Only the open run keeps it.
function secretPart(open, item) {
  if (!maySeeSecrets() || open.shown.has(item.item_id) || item.state !== 'closed' || !hasSecret(wordsOf(item).toUpperCase())) return null;
  const show = async () => {
    try {
      const read = await call('run.transcript', { project_id: open.project, run_id: open.id, since_seq: item.seq_last - 1, limit: 50, mask: false });
      const found = read.items.find((one) => one.item_id === item.item_id);
      if (found) open.shown.set(item.item_id, found);
      changed();
    } catch (error) {
      say('Not shown: ' + error.message, true);
    }
  };
  return h('div', { class: 'actions', key: 'secret' }, button('Show what is masked', show, { act: 'show-secret', key: 'show' }));
}

function lookOf(item) {
  if (failedItem(item)) return item.kind === 'notice' ? 'event bad' : 'error';
  if (item.kind === 'message') return item.role === 'user' ? 'user' + (item.note || item.state === 'open' ? ' waits' : '') : 'say';
  return { reasoning: 'think', tool: 'tool', file_change: 'tool', plan: 'plan', question: item.state === 'open' ? 'asks' : 'event', permission: item.state === 'open' ? 'asks' : 'event' }[item.kind] || 'event';
}

function bodyOf(open, item) {
  switch (item.kind) {
    case 'message':
      return item.role === 'user' ? saidBody(open, item) : [itemHead(open, item, ''), open.plain ? plainBody(item.text || '', 'mono') : mdText(open, item)];
    case 'reasoning':
      return thoughtBody(open, item);
    case 'tool':
    case 'file_change':
      return toolBody(open, item);
    case 'plan':
      return [itemHead(open, item, 'Plan'), planBody(item)];
    case 'question':
    case 'permission':
      return !item.interaction ? null : item.state === 'open' ? askCard(item.interaction, false) : lineBody(open, item, item.interaction.title + ': ' + outcomeOf(item.interaction), /^(allowed|answered)$/.test(item.interaction.state) ? 'good' : 'bad');
    case 'usage':
      return lineBody(open, item, 'Turn ' + item.turn + ': ' + usageWords(item.usage), '');
    default:
      return lineBody(open, item, item.text || '', failedItem(item) ? 'bad' : '');
  }
}

// mdText renders an agent's text as Markdown.
const mdText = (open, item) => markdown(item.text || '', { growing: item.state === 'open', pathHref: open.pathHref });

const plainBody = (text, more = '') => h('div', { class: 'entry-body ' + more }, shownText(text));

// itemHead is the line above an item: its author or kind, and on the right its duration and time.
function itemHead(open, item, kind, ...more) {
  return h('div', { class: 'entry-head', key: 'head' }, kind && h('span', { class: 'entry-kind' }, kind), more, h('span', { class: 'entry-side' }, tookOf(item), timeOf(item), seqLink(open, item)));
}

function tookOf(item) {
  const ms = item.ended_at ? instant(item.ended_at) - instant(item.started_at) : NaN;
  return item.kind === 'tool' && Number.isFinite(ms) && h('span', { class: 'entry-note', 'data-took': ms }, tookWords(ms));
}

const tookWords = (ms) => (ms < 60000 ? (ms / 1000).toFixed(1) + ' s' : duration(ms));

const timeOf = (item) => h('time', { title: moment(item.started_at) }, clock(item.started_at));

function seqLink(open, item) {
  const to = hrefOf('runs', open.id, 'transcript', { seq: item.seq_first });
  const copy = (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return; // opens a new tab or window
    event.preventDefault();
    copyText(new URL(to, location.href).href, 'The address of #' + item.seq_first + ' is copied.');
  };
  return h('a', { class: 'seq-link', href: to, onclick: copy, 'aria-label': 'Copy the address of event ' + item.seq_first }, '#' + item.seq_first);
}

async function copyText(text, done) {
  try {
    if (navigator.clipboard) await navigator.clipboard.writeText(text);
    else if (!copyByCommand(text)) throw new Error('refused');
    say(done);
  } catch {
    say('Not copied: the browser does not let this page write to the clipboard.', true);
  }
}

// copyByCommand copies on a page without a clipboard API, such as a plain http address of another
// machine.
function copyByCommand(text) {
  let copied = false;
  const give = (event) => {
    event.clipboardData.setData('text/plain', text);
    event.preventDefault();
    copied = true;
  };
  document.addEventListener('copy', give, { once: true });
  document.execCommand('copy');
  document.removeEventListener('copy', give);
  return copied;
}

const lineBody = (open, item, text, tone) => [dot(tone), h('span', { class: 'entry-said' }, plainText(cut(text, 4000))), timeOf(item), seqLink(open, item)];

function saidBody(open, item) {
  const who = !item.actor || item.actor === state.actor ? 'You' : personName(item.actor);
  const note = item.note || (item.state === 'open' ? 'waits for the agent' : '');
  return [itemHead(open, item, who, note && h('span', { class: 'entry-note' }, note)), plainBody(item.text || '')];
}

const firstLine = (text) => cut((text || '').trim().split('\n')[0].replace(/[*#`_]/g, ''), 160);

// folding is a button that shows or hides the body of an item.
function folding(open, item, shown, ...title) {
  const flip = () => {
    if (!open.unfolded.delete(item.item_id + (shown ? '+' : '-'))) open.unfolded.add(item.item_id + (shown ? '-' : '+'));
    changed();
  };
  return h('button', { type: 'button', class: 'entry-fold', 'aria-expanded': String(shown), onclick: flip }, title);
}

// unfolded reports whether an item is open, by default or by choice.
const unfolded = (open, item, itself) => (itself ? !open.unfolded.has(item.item_id + '-') : open.unfolded.has(item.item_id + '+'));

function thoughtBody(open, item) {
  const shown = unfolded(open, item, state.thoughts || item.state === 'open');
  return [itemHead(open, item, '', folding(open, item, shown, h('span', { class: 'entry-kind' }, 'Thinking'), !shown && h('span', { class: 'entry-title' }, shownText(firstLine(item.text))))), shown && mdText(open, item)];
}

function toolBody(open, item) {
  const tool = item.tool || { title: '', status: '' };
  const failed = failedItem(item);
  const paths = (tool.locations || []).map((l) => l.path);
  const command = tool.kind === 'execute';
  const title = item.kind === 'file_change' ? paths.join(', ') || tool.title : tool.title || tool.name;
  const note = [tool.server, known(tool.exit_code) ? 'exit ' + tool.exit_code : tool.status === 'in_progress' ? 'runs' : tool.status === 'completed' ? '' : words(tool.status)].filter(Boolean).join(' · ');
  const shown = unfolded(open, item, failed || item.kind === 'file_change');
  const body = toolOutput(open, item, tool, shown);
  const top = [h('span', { class: 'entry-kind' }, command ? '$' : itemNames[item.kind]), h('span', { class: 'entry-title mono' }, shownText(cut(title || '', 400))), tool.diff && h('span', { class: 'entry-note' }, lineCounts(tool.diff)), note && h('span', { class: 'entry-note' + (failed ? ' bad-text' : '') }, note)];
  return [itemHead(open, item, '', body ? folding(open, item, shown, top) : h('span', { class: 'entry-fold plain' }, top)), shown && body];
}

const lastLines = 10;

function toolOutput(open, item, tool, shown) {
  if (!tool.output_tail && !tool.diff && !tool.input) return null;
  if (!shown) return true;
  const all = open.unfolded.has(item.item_id + '*');
  const lines = (tool.output_tail || '').replace(/\n$/, '').split('\n');
  const more = lines.length > lastLines && !all;
  const showAll = () => {
    open.unfolded.add(item.item_id + '*');
    changed();
  };
  return h('div', { class: 'entry-out', key: 'out' },
    more && h('button', { type: 'button', class: 'link', onclick: showAll }, 'last ' + lastLines + ' lines; all ' + count(lines.length)),
    tool.output_tail && plainBody(more ? lines.slice(-lastLines).join('\n') : lines.join('\n'), 'mono'),
    tool.diff && patchView(tool.diff, pathOfTool(tool)),
    !tool.output_tail && !tool.diff && tool.input && plainBody(cut(typeof tool.input === 'string' ? tool.input : JSON.stringify(tool.input, null, 2), 20000), 'mono'));
}

const pathOfTool = (tool) => ((tool.locations || [])[0] || {}).path || '';

function lineCounts(diff) {
  const many = (kind) => knownDiff(diff).filter((line) => line.kind === kind).length;
  return '+' + many('added') + ' −' + many('removed');
}

function planBody(item) {
  if (!item.plan || !item.plan.length) return plainBody(item.text || 'No step.');
  const signs = { completed: '✓', in_progress: '▸' };
  return h('ol', { class: 'steps' }, item.plan.map((s, i) => h('li', { key: i, class: s.status }, h('span', { 'aria-hidden': 'true' }, signs[s.status] || '○'), h('span', { class: 'quiet-text' }, words(s.status) + ': '), shownText(s.text))));
}
