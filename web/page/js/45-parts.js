// Parts shared by views.

const icons = {
  now: 'M3 12h4l3 8 4-16 3 8h4',
  projects: 'M4 5h7v6H4zM13 5h7v6h-7zM4 13h7v6H4zM13 13h7v6h-7z',
  needs: 'M4 13h4l2 3h4l2-3h4M4 13l3-8h10l3 8v6H4z',
  start: 'M12 5v14M5 12h14',
  decided: 'M5 12l4 4L19 6M4 20h16',
  settings: 'M12 15a3 3 0 1 0 0-6 3 3 0 0 0 0 6M12 3v3M12 18v3M3 12h3M18 12h3M5.6 5.6l2.1 2.1M16.3 16.3l2.1 2.1M5.6 18.4l2.1-2.1M16.3 7.7l2.1-2.1',
  more: 'M6 12h.1M12 12h.1M18 12h.1',
  search: 'M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14M16 16l4 4',
  plan: 'M4 6h9M8 12h11M6 18h7',
  people: 'M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7M3 20c0-3.3 2.7-6 6-6s6 2.7 6 6M16 4.5a3.5 3.5 0 0 1 0 6.5M18 14.5c1.8.9 3 2.9 3 5.5',
  talk: 'M4 5h16v11H10l-5 4v-4H4z',
  cost: 'M5 20V11M12 20V4M19 20v-6',
  health: 'M12 20s-8-4.8-8-11a4.5 4.5 0 0 1 8-2.6A4.5 4.5 0 0 1 20 9c0 6.2-8 11-8 11z',
  menu: 'M4 7h16M4 12h16M4 17h16',
  close: 'M6 6l12 12M18 6L6 18',
  back: 'M15 5l-7 7 7 7',
  moon: 'M20 14.5A8 8 0 0 1 9.5 4 8 8 0 1 0 20 14.5z',
  sun: 'M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8M12 3v2M12 19v2M3 12h2M19 12h2M5.6 5.6L7 7M17 17l1.4 1.4M18.4 5.6L17 7M7 17l-1.4 1.4',
  help: 'M9.2 9a2.9 2.9 0 1 1 4.3 2.6c-.9.5-1.5 1.1-1.5 2.2M12 17.5v.1M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18',
  refresh: 'M20 11a8 8 0 0 0-14.5-4L4 9M4 4v5h5M4 13a8 8 0 0 0 14.5 4L20 15M20 20v-5h-5',
};

const icon = (name) => h('svg', { class: 'icon', viewBox: '0 0 24 24', 'aria-hidden': 'true' }, h('path', { d: icons[name] }));

const dot = (tone) => h('span', { class: 'dot ' + tone, 'aria-hidden': 'true' });

const tones = { running: 'live', ended: '', failed: 'bad', stopped: 'warn', active: 'live', needs_review: 'warn', idle: '', approved: 'good', denied: 'bad', pass: 'good', warn: 'warn', fail: 'bad', done: 'good', blocked: 'bad', in_progress: 'live' };

const pill = (status, text) => h('span', { class: 'pill ' + (tones[status] || '') }, dot(tones[status] || ''), text || sentence(status));

function button(text, onclick, options) {
  const { kind = '', key, label, hint, disabled, pressed, act, ...more } = options || {};
  return h('button', { type: 'button', class: 'button ' + kind, onclick, key, 'aria-label': label, title: hint, disabled, 'aria-pressed': pressed === undefined ? undefined : String(pressed), 'data-act': act, ...more }, text);
}

const iconButton = (name, label, onclick, more) => h('button', { type: 'button', class: 'icon-button', 'aria-label': label, title: label, onclick, ...more }, icon(name));

// empty says that there is nothing to show, and how that changes.
const empty = (title, what, ...more) => h('div', { class: 'empty' }, h('p', { class: 'empty-title' }, title), h('p', {}, what), more);

const code = (text) => h('code', {}, text);

const loading = (what) => h('div', { class: 'loading', role: 'status' }, what);

const fault = (message, again) =>
  h('div', { class: 'fault', role: 'alert' }, h('p', {}, message), again && button('Try again', again));

// shownOr shows a response, a loading note, or an error.
function shownOr(entry, name, show) {
  if (entry.value !== null) return show(entry.value);
  if (entry.error) return fault(entry.error, () => stale(name));
  return loading('Reading…');
}

const section = (title, aside, ...children) =>
  h('section', { class: 'card' }, h('header', { class: 'card-head' }, h('h2', {}, title), aside), children);

function facts(list) {
  return h('dl', { class: 'facts' }, list.filter(Boolean).map(([name, value, more]) => h('div', { key: name, class: 'fact' }, h('dt', {}, name), h('dd', { class: more || '' }, value))));
}

const figure = (name, value, note, tone) =>
  h('div', { class: 'figure', key: name }, h('span', { class: 'figure-name' }, name), h('span', { class: 'figure-value ' + (tone || '') }, value), h('span', { class: 'figure-note' }, note || ''));

// rows shows a list of any length with only the visible rows in the document. Every row has the
// given height. The element with the name scrolls.
function rows({ name, items, height, row, label, role = 'list', active = -1, onkey }) {
  const seen = state.scroll[name] || { top: 0, height: 800 };
  const over = 6;
  const from = Math.max(0, Math.floor(seen.top / height) - over);
  const to = Math.min(items.length, Math.ceil((seen.top + seen.height) / height) + over);
  const children = [];
  for (let i = from; i < to; i++) children.push(row(items[i], i));
  if (active >= 0 && (active < from || active >= to)) children.push(row(items[active], active));
  const keep = (el) => {
    const next = { top: el.scrollTop, height: el.clientHeight };
    const before = state.scroll[name];
    if (before && Math.abs(before.top - next.top) < height && before.height === next.height) return;
    state.scroll[name] = next;
    changed();
  };
  return h('div', {
    class: 'rows', key: 'rows/' + name, id: 'rows-' + name,
    tabindex: '-1',
    onscroll: (event) => keep(event.currentTarget || event.target),
    onkeydown: onkey,
    mounted: (el) => {
      el.acSize = new ResizeObserver(() => keep(el));
      el.acSize.observe(el);
      if (seen.top) el.scrollTop = seen.top;
    },
    unmounted: (el) => el.acSize && el.acSize.disconnect(),
  }, h('div', { class: 'rows-all', role, 'aria-label': label, style: { height: items.length * height + 'px' } }, children));
}

// placed returns the style of a row at its position in such a list.
const placed = (index, height) => ({ position: 'absolute', top: index * height + 'px', height: height + 'px', left: '0', right: '0' });

// field is an input or a text area whose text is kept in state.fields.
function field(name, label, props, tag) {
  return h(tag || 'input', {
    id: 'field-' + name, name, 'aria-label': label, placeholder: label, autocomplete: 'off', class: 'field',
    value: state.fields[name] || '',
    oninput: (event) => {
      state.fields[name] = event.target.value;
      changed();
    },
    ...props,
  });
}

// sends returns a key handler that calls act on Ctrl+Enter or Cmd+Enter.
const sends = (act) => (event) => {
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    act();
  }
};
