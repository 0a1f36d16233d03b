// The palette (Ctrl+K): views, commands and search results.

const paletteDelay = 120;
const paletteAgain = 500;
let paletteTimer = 0;

function openPalette() {
  if (state.dialog) return;
  state.palette = { q: '', at: 0, hits: [], opener: document.activeElement, asked: 0, behind: 0, error: '' };
  changed();
}

function closePalette(back = true) {
  const { opener } = state.palette;
  state.palette = null;
  clearTimeout(paletteTimer);
  drawNow();
  if (back) refocus(opener);
}

const paletteHeadings = { run: 'Runs', task: 'Tasks', milestone: 'Tasks', person: 'People', artifact: 'Artifacts', message: 'Messages', comment: 'Messages', help: 'Messages' };
const optionKinds = { milestone: 'task', comment: 'message', help: 'message' };

// hitHref returns the address of a search hit.
function hitHref(hit) {
  const project = { project: hit.project_id };
  switch (hit.kind) {
    case 'run': return hrefOf('runs', hit.run_id || hit.ref, hit.seq ? 'transcript' : '', { ...project, seq: hit.seq });
    case 'task': return hrefOf('plan', hit.ref, '', project);
    case 'milestone': return hrefOf('plan', hit.of || hit.ref, '', project);
    case 'person': return hrefOf('people', hit.ref);
    case 'artifact': return tableOf('needs').has(needOfArtifact(hit.ref)) ? hrefOf('needs', needOfArtifact(hit.ref), '', project) : hrefOf('decided', hit.ref, '', project);
    case 'help': return hrefOf('needs', 'help:' + hit.ref);
    case 'comment': return hit.run_id ? hrefOf('runs', hit.run_id, 'notes', project) : hrefOf('people', hit.ref);
    default: return hrefOf('talk', hit.of || hit.ref, '', project);
  }
}

function recentRuns(most) {
  return [...tableOf('runs')].filter(([, row]) => inProject(row)).sort(([, a], [, b]) => (a.at < b.at ? 1 : -1)).slice(0, most)
    .map(([id, row]) => ({ kind: 'run', heading: 'Runs', title: oneLine(row.title, 100) || id, under: oneLine(personName(row.agent), 60), href: hrefOf('runs', id, '', { project: row.p }) }));
}

// whoseRun describes a run that was found as a whole, instead of showing its ids.
function whoseRun(hit) {
  const row = hit.kind === 'run' && !hit.seq && tableOf('runs').get(hit.run_id || hit.ref);
  return row ? [oneLine(personName(row.agent), 60), oneLine(projectName(row.p), 60), statusOfRun(row)].join(' · ') : '';
}

const viewOptions = () => views.map(([id, name]) => ({ kind: 'command', heading: 'Go to', title: id === 'start' ? 'Start…' : name, href: hrefOf(id) }));

// paletteOptions returns the options in display order.
function paletteOptions() {
  const { q, hits } = state.palette;
  const wanted = q.trim().toLowerCase();
  if (!wanted) return [...viewOptions(), ...recentRuns(5)];
  const commands = [...viewOptions(), { kind: 'command', heading: 'Do', title: 'Light or dark', run: flipTheme }, { kind: 'command', heading: 'Do', title: 'Keys', run: openKeys }, { kind: 'command', heading: 'Do', title: 'Switch project', run: openSwitcher }]
    .filter((one) => one.title.toLowerCase().includes(wanted));
  const found = hits.map((hit) => ({ kind: optionKinds[hit.kind] || hit.kind, heading: paletteHeadings[hit.kind] || 'Messages', title: oneLine(hit.title, 160) || hit.ref, under: whoseRun(hit), hit, href: hitHref(hit) }));
  const order = [...new Set(Object.values(paletteHeadings))];
  found.sort((a, b) => order.indexOf(a.heading) - order.indexOf(b.heading));
  return [...commands, ...found];
}

function searchSoon() {
  clearTimeout(paletteTimer);
  const palette = state.palette;
  const q = palette.q.trim();
  if (!q) {
    palette.hits = [];
    palette.behind = 0;
    return;
  }
  paletteTimer = setTimeout(() => findFor(palette, q), paletteDelay);
}

// findFor searches for a text, and repeats while the search index is behind.
async function findFor(palette, q) {
  const asked = ++palette.asked;
  try {
    const found = await call('search.query', { q, limit: 30 });
    if (asked !== palette.asked || state.palette !== palette || palette.q.trim() !== q) return; // superseded by a newer search
    Object.assign(palette, { hits: found.hits, behind: found.behind, error: '' });
    if (found.behind) paletteTimer = setTimeout(() => findFor(palette, q), paletteAgain);
  } catch (error) {
    if (asked === palette.asked) Object.assign(palette, { hits: [], error: error.message });
  }
  changed();
}

// marks returns the pieces of a snippet with the matches marked. spans holds offsets, not markup.
function marks(text, spans) {
  const out = [];
  let at = 0;
  for (const [from, to] of spans || []) {
    out.push(plainText(text.slice(at, from)), h('mark', {}, plainText(text.slice(from, to))));
    at = to;
  }
  return [...out, plainText(text.slice(at))];
}

function choosePalette(option, away) {
  if (!option) return;
  if (option.run) {
    closePalette();
    option.run();
  } else if (away) window.open(option.href, '_blank', 'noopener');
  else {
    closePalette(false);
    location.hash = option.href;
  }
}

function paletteKey(event) {
  const palette = state.palette;
  const options = paletteOptions();
  if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
    palette.at = options.length ? (palette.at + (event.key === 'ArrowDown' ? 1 : -1) + options.length) % options.length : 0;
    changed();
    requestAnimationFrame(() => requestAnimationFrame(() => document.getElementById('palette-' + palette.at)?.scrollIntoView({ block: 'nearest' })));
  } else if (event.key === 'Enter') choosePalette(options[palette.at], event.ctrlKey || event.metaKey);
  else if (event.key === 'Escape') closePalette();
  else if (event.key !== 'Tab') return;
  event.stopPropagation();
  event.preventDefault();
}

function paletteView() {
  const palette = state.palette;
  if (!palette) return null;
  const options = paletteOptions();
  palette.at = Math.min(palette.at, Math.max(0, options.length - 1));
  const headings = [...new Set(options.map((one) => one.heading))];
  return h('div', { class: 'overlay top-overlay', key: 'palette', onclick: (e) => e.target.classList.contains('overlay') && closePalette() },
    h('div', { class: 'dialog palette', role: 'dialog', 'aria-modal': 'true', 'aria-label': 'Search and commands', 'data-palette': true, onkeydown: paletteKey },
      h('input', { type: 'text', class: 'field', role: 'combobox', 'aria-expanded': 'true', 'aria-controls': 'palette-list', 'aria-activedescendant': options.length ? 'palette-' + palette.at : undefined, 'aria-autocomplete': 'list', 'aria-label': 'Search and commands', placeholder: 'Go to, do, or search…', autocomplete: 'off', value: palette.q, mounted: (el) => el.focus(), oninput: (e) => { palette.q = e.target.value; palette.at = 0; searchSoon(); changed(); } }),
      h('div', { role: 'listbox', id: 'palette-list', 'aria-label': 'Results', class: 'palette-list' }, headings.map((heading) => h('div', { key: heading, role: 'group', 'aria-label': heading }, h('div', { class: 'palette-heading', 'aria-hidden': 'true' }, heading),
        options.map((option, i) => option.heading === heading && paletteOption(option, i, palette.at === i))))),
      h('p', { class: 'hint', role: 'status' }, palette.error || (palette.behind ? 'The search is behind by ' + count(palette.behind) + '.' : palette.q.trim() && !options.length ? 'Nothing found.' : ''))));
}

function paletteOption(option, i, active) {
  const { hit } = option;
  return h('div', { key: option.href || option.title, role: 'option', id: 'palette-' + i, 'aria-selected': String(active), 'data-kind': option.kind, class: 'palette-option' + (active ? ' chosen' : ''), onclick: (e) => choosePalette(option, e.ctrlKey || e.metaKey) },
    h('span', { class: 'palette-title' }, plainText(option.title)),
    (option.under || hit?.snippet) && h('span', { class: 'sub' }, option.under || marks(hit.snippet, hit.marks)));
}
