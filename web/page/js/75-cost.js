// Cost: what was used, by day, provider, agent and project. Money that nobody
// computed is not zero, it is unpriced; tokens that were guessed say so.

function sums(list, keyOf) {
  const groups = new Map();
  for (const r of list) {
    const key = keyOf(r);
    let g = groups.get(key);
    if (!g) groups.set(key, (g = { key, runs: 0, tokens: 0, cost: 0, priced: 0, unpriced: 0, estimated: 0, silent: 0 }));
    g.runs++;
    g.tokens += r.usage_total_tokens || 0;
    if (known(r.usage_cost_usd)) {
      g.cost += r.usage_cost_usd;
      g.priced++;
    } else g.unpriced++;
    if (r.usage_source === 'estimated_chars') g.estimated++;
    else if (!r.usage_source) g.silent++;
  }
  return [...groups.values()];
}

const costMost = 5000;

function costView() {
  const everywhere = state.fields.everywhere === true;
  const name = 'cost/' + (everywhere ? '*all' : state.project);
  const entry = fetched(name, () => call('index.list_runs', everywhere ? { limit: costMost } : { project_id: state.project, limit: costMost }), 15000);
  return h('div', { class: 'page', key: 'cost' },
    h('header', { class: 'pane-head' }, h('div', {}, h('h1', { tabindex: '-1', id: 'title' }, 'Cost'), h('p', { class: 'sub' }, 'Tokens and money, by day, provider, agent and project')),
      h('div', { class: 'filters' }, h('div', { class: 'switch', role: 'group', 'aria-label': 'Of which projects' }, button('This project', () => { state.fields.everywhere = false; changed(); }, { kind: 'chip', key: 'one', pressed: !everywhere }), button('All projects', () => { state.fields.everywhere = true; changed(); }, { kind: 'chip', key: 'all', pressed: everywhere })))),
    h('div', { class: 'scroller', tabindex: '-1' }, shownOr(entry, name, (list) => costBody(list, everywhere))));
}

function costBody(list, everywhere) {
  if (!list.length) return empty('Nothing was used yet', 'What runs use shows here as their providers report it. Prices come from the rate card in .local/machine.yaml.');
  const all = sums(list, () => 'all')[0];
  const byMoney = state.fields.unit === 'money';
  return [
    section('In all', h('span', { class: 'note' }, list.length >= costMost ? 'the newest ' + count(costMost) + ' runs' : plural(list.length, 'run')),
      h('div', { class: 'figures' },
        figure('Tokens', compact(all.tokens), all.estimated ? plural(all.estimated, 'run') + ' estimated' : 'as reported'),
        figure('Cost', all.priced ? money(all.cost) : none, 'of ' + plural(all.priced, 'priced run')),
        figure('Unpriced', count(all.unpriced), all.unpriced ? 'their cost is unknown' : '', all.unpriced ? 'warn' : ''),
        figure('Estimated', count(all.estimated), all.estimated ? 'from the length of text' : ''),
        figure('Silent', count(all.silent), all.silent ? 'told no usage' : '')),
      all.unpriced > 0 && h('p', { class: 'quiet' }, 'Unpriced runs had no rate card for their provider when they ended. Add ', h('code', {}, 'provider_pricing_usd_per_1k_tokens'), ' to .local/machine.yaml for the next ones.')),
    section('By day', h('div', { class: 'switch', role: 'group', 'aria-label': 'Unit' }, button('Tokens', () => { state.fields.unit = 'tokens'; changed(); }, { kind: 'chip', key: 't', pressed: !byMoney }), button('Money', () => { state.fields.unit = 'money'; changed(); }, { kind: 'chip', key: 'm', pressed: byMoney })), dayChart(list, byMoney)),
    h('div', { class: 'columns' },
      sumTable('By provider', sums(list, (r) => r.provider), (k) => k, byMoney),
      sumTable('By agent', sums(list, (r) => r.agent_id), agentName, byMoney),
      everywhere && sumTable('By project', sums(list, (r) => r.project_id), (k) => k, byMoney)),
  ];
}

function dayChart(list, byMoney) {
  const groups = new Map(sums(list, (r) => (r.created_at || '').slice(0, 10)).map((g) => [g.key, g]));
  const last = instant([...groups.keys()].sort().pop() + 'T00:00:00Z');
  const first = instant([...groups.keys()].filter(Boolean).sort()[0] + 'T00:00:00Z');
  const days = Math.min(60, Math.max(14, Math.round((last - first) / dayMs) + 1));
  const shown = Array.from({ length: days }, (_, i) => {
    const t = last - (days - 1 - i) * dayMs;
    return { t, g: groups.get(new Date(t).toISOString().slice(0, 10)) };
  });
  const value = (g) => (g ? (byMoney ? g.cost : g.tokens) : 0);
  const most = Math.max(...shown.map((d) => value(d.g)), byMoney ? 0.0001 : 1);
  const told = byMoney ? money : compact;
  return h('figure', { class: 'days' }, h('div', { class: 'days-most number' }, told(most)),
    h('div', { class: 'days-bars', role: 'list', 'aria-label': byMoney ? 'Cost by day' : 'Tokens by day' }, shown.map(({ t, g }) => {
      const said = day(t) + ': ' + (g ? (byMoney ? (g.priced ? money(g.cost) : 'unpriced') : (g.estimated ? '~' : '') + count(g.tokens) + ' tokens') + ', ' + plural(g.runs, 'run') + (g.unpriced ? ', ' + g.unpriced + ' unpriced' : '') : 'nothing');
      const full = g && (byMoney ? g.unpriced === 0 : g.estimated === 0);
      return h('div', { key: t, class: 'days-bar', role: 'listitem', 'aria-label': said, title: said }, h('span', { class: 'days-fill' + (g && !full ? ' partly' : ''), style: { height: g ? Math.max(2, (value(g) / most) * 100) + '%' : '0' } }));
    })),
    h('figcaption', { class: 'days-axis' }, h('span', {}, day(shown[0].t)), h('span', { class: 'hint' }, byMoney ? 'Hatched: some runs of the day are unpriced' : 'Hatched: partly estimated'), h('span', {}, day(last))));
}

function sumTable(title, list, name, byMoney) {
  const sorted = list.sort((a, b) => (byMoney ? b.cost - a.cost : b.tokens - a.tokens) || b.runs - a.runs);
  const most = Math.max(...sorted.map((g) => (byMoney ? g.cost : g.tokens)), 0.0001);
  return section(title, h('span', { class: 'note' }, count(sorted.length)),
    h('div', { class: 'table-scroll', tabindex: '0', role: 'region', 'aria-label': title }, h('table', {},
      h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, 'Name'), h('th', { scope: 'col', class: 'number' }, 'Runs'), h('th', { scope: 'col', class: 'number' }, 'Tokens'), h('th', { scope: 'col', class: 'number' }, 'Cost'))),
      h('tbody', {}, sorted.slice(0, 200).map((g) => h('tr', { key: g.key },
        h('th', { scope: 'row' }, h('span', { class: 'bar-name' }, name(g.key)), h('span', { class: 'meter thin', 'aria-hidden': 'true' }, h('span', { class: 'meter-fill', style: { width: ((byMoney ? g.cost : g.tokens) / most) * 100 + '%' } }))),
        h('td', { class: 'number' }, count(g.runs)),
        h('td', { class: 'number' }, g.silent === g.runs ? none : (g.estimated ? '~' : '') + compact(g.tokens)),
        h('td', { class: 'number' }, g.priced ? money(g.cost) : 'unpriced', g.priced > 0 && g.unpriced > 0 && h('span', { class: 'under' }, '+ ' + g.unpriced + ' unpriced'))))))),
    sorted.length > 200 && h('p', { class: 'quiet' }, 'and ' + count(sorted.length - 200) + ' more'));
}
