// Cost: usage over time, by one key. Tokens without a price are unpriced, not free. Estimates are
// marked.

const dayMs = 86400000;
const costRanges = [['7d', '7 d'], ['14d', '14 d'], ['30d', '30 d'], ['90d', '90 d']];
const costKeys = [['agent', 'Agent'], ['provider', 'Provider'], ['model', 'Model'], ['project', 'Project'], ['task', 'Task']];

// localDay returns the day of an instant in the chosen time zone: YYYY-MM-DD.
const localDay = (ms) => new Date(ms - timeZoneOffset(ms) * 60000).toISOString().slice(0, 10);
const timeZoneOffset = (ms) => (memory.get('zone') === 'utc' ? 0 : new Date(ms).getTimezoneOffset());
const dayName = (day) => new Date(day + 'T00:00:00Z').toLocaleDateString('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });

// asksOfCost parses the query in the address.
function asksOfCost() {
  const { by, range, unit } = state.route.query;
  const span = /^(\d{4}-\d\d-\d\d)\.\.(\d{4}-\d\d-\d\d)$/.exec(range || '');
  const known1 = costRanges.some(([id]) => id === range);
  const days = span ? 0 : parseInt(known1 ? range : '14d', 10);
  const today = Date.now();
  const [from, to] = span ? [span[1], span[2]].sort() : [localDay(today - (days - 1) * dayMs), localDay(today)];
  return { by: costKeys.some(([id]) => id === by) ? by : 'agent', range: span ? range : known1 ? range : '14d', unit: unit === 'tokens' ? 'tokens' : 'usd', from, to };
}

function costView() {
  const asked = asksOfCost();
  const params = { from: asked.from, to: asked.to, by: asked.by, bucket: 'day', timezone_offset_minutes: timeZoneOffset(Date.now()), ...(state.project ? { project_id: state.project } : {}) };
  const name = 'cost/' + JSON.stringify(params);
  const entry = fetched(name, () => call('usage.series', params), 60000);
  return h('div', { class: 'page', key: 'cost' },
    h('header', { class: 'pane-head' }, h('div', {}, h('h1', { tabindex: '-1', id: 'title' }, 'Cost'), h('p', { class: 'sub' }, dayName(asked.from) + ' to ' + dayName(asked.to) + (state.project ? ' · ' + oneLine(projectName(state.project), 60) : ' · all projects'))), costFilters(asked)),
    h('div', { class: 'scroller', tabindex: '-1' }, shownOr(entry, name, (series) => costBody({ ...series, buckets: everyDay(series, asked) }, asked))));
}

function costFilters(asked) {
  const chips = (label, list, chosen, set) => h('div', { class: 'switch', role: 'group', 'aria-label': label, key: label }, list.map(([id, text]) => button(text, () => set(id), { kind: 'chip', key: id, pressed: chosen === id })));
  const day = (end) => h('input', { type: 'date', class: 'field', key: end, 'aria-label': end === 'from' ? 'From' : 'To', value: asked[end], onchange: (e) => e.target.value && setQuery({ range: end === 'from' ? e.target.value + '..' + asked.to : asked.from + '..' + e.target.value }) });
  return h('div', { class: 'filters' }, chips('Range', costRanges, asked.range, (range) => setQuery({ range })), day('from'), day('to'),
    h('select', { class: 'field', key: 'by', 'aria-label': 'By', value: asked.by, onchange: (e) => setQuery({ by: e.target.value }) }, costKeys.map(([id, text]) => h('option', { value: id, key: id }, 'by ' + text.toLowerCase()))),
    chips('Unit', [['usd', 'Money'], ['tokens', 'Tokens']], asked.unit, (unit) => setQuery({ unit })));
}

// everyDay returns a bucket for each requested day, including days without runs.
function everyDay(series, asked) {
  const known = new Map(series.buckets.map((b) => [String(b.at).slice(0, 10), b]));
  const days = [];
  for (let at = Date.parse(asked.from); at <= Date.parse(asked.to) && days.length < 400; at += dayMs) {
    const day = new Date(at).toISOString().slice(0, 10);
    days.push(known.get(day) || { at: day, keys: {} });
  }
  return days;
}

const noFigures = { runs: 0, reported: 0, rate: 0, estimated: 0, tokens: 0, guessed: 0, unpriced: 0, unpricedRuns: 0, silent: 0 };

// figuresOf sums cells of the series. Reported, rate-card and estimated cost stay apart.
function figuresOf(cells) {
  const sum = { ...noFigures };
  for (const c of cells) {
    const cost = c.cost || {}, tokens = c.tokens || {};
    sum.runs += c.runs || 0;
    sum.reported += cost.reported || 0;
    sum.rate += cost.rate || 0;
    sum.estimated += cost.estimated || 0;
    sum.tokens += tokens.reported || 0;
    sum.guessed += tokens.estimated || 0;
    sum.unpriced += c.unpriced_tokens || 0;
    sum.unpricedRuns += c.unpriced_runs || 0;
    sum.silent += c.silent_runs || 0;
  }
  return sum;
}

// costOf formats a sum of money. A zero sum is unknown, not free, and becomes a dash.
const costOf = (value, sign = '') => (value ? sign + money(value) : none);

function costBody(series, asked) {
  const cells = series.buckets.flatMap((b) => Object.values(b.keys));
  const all = figuresOf(cells);
  if (!cells.length) return empty('Nothing was used in these days', 'What runs use shows here as their providers report it. Prices come from the rate card in .local/machine.yaml.');
  return [
    section('In all', null, h('div', { class: 'figures' },
      figure('Reported', costOf(all.reported), 'by providers'), figure('By rate', costOf(all.rate), 'of the rate card'), figure('Estimated', costOf(all.estimated, '~'), 'from the length of text'),
      figure('Unpriced', compact(all.unpriced), 'tokens, ' + plural(all.unpricedRuns, 'run'), all.unpriced ? 'warn' : ''), figure('Tokens', (all.guessed ? '~' : '') + compact(all.tokens + all.guessed), all.guessed ? compact(all.guessed) + ' estimated' : 'reported'),
      figure('Silent', count(all.silent), 'runs that reported nothing'))),
    section(asked.unit === 'usd' ? 'Money by day' : 'Tokens by day', null, costChart(series, asked)),
    section('By ' + asked.by, null, costTable(series, asked)),
  ];
}

// nameOfKey returns a function from keys to names. Names of agents and projects come from the room.
const nameOfKey = (series, asked) => {
  const given = new Map(series.keys.map((k) => [k.key, k.name]));
  return (key) => (key === 'other' ? 'other' : oneLine((asked.by === 'agent' && rowOf('people', key)?.name) || (asked.by === 'project' && rowOf('projects', key)?.name) || given.get(key) || key || 'none', 80));
};

function costTable(series, asked) {
  const name = nameOfKey(series, asked);
  const rows = series.keys.map(({ key }) => ({ key, ...figuresOf(series.buckets.map((b) => b.keys[key]).filter(Boolean)) }));
  const heads = [asked.by[0].toUpperCase() + asked.by.slice(1), 'Runs', 'Reported', 'By rate', 'Estimated', 'Unpriced tokens', 'Tokens'];
  return h('div', { class: 'table-scroll', tabindex: '0', role: 'region', 'aria-label': 'By ' + asked.by }, h('table', {},
    h('thead', {}, h('tr', {}, heads.map((text, i) => h('th', { key: text, scope: 'col', class: i ? 'number' : '' }, text)))),
    h('tbody', {}, rows.map((r, i) => h('tr', { key: r.key },
      h('th', { scope: 'row' }, h('span', { class: 'swatch key-' + colourOf(series, r.key, i), 'aria-hidden': 'true' }), ' ', name(r.key)),
      [count(r.runs), costOf(r.reported), costOf(r.rate), costOf(r.estimated, '~'), r.unpriced ? compact(r.unpriced) + ' (' + plural(r.unpricedRuns, 'run') + ')' : none, r.silent === r.runs ? none : (r.guessed ? '~' : '') + compact(r.tokens + r.guessed)].map((text, k) => h('td', { key: k, class: 'number' }, text)))))));
}
