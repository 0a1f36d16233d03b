// The chart of Cost. uPlot draws the stacks. Over each lies an element of the same width that
// describes it. Labels are elements too.

const chartAxis = 56; // pixels left of the first slot
const chartHeight = 248;
const chartFoot = 8; // pixels below the plot, for half of the lowest label
const slotLeast = 34; // pixels; keeps a bar at least 24 wide, as a pointer target
const barShare = 0.7; // share of a slot
const mostTicks = 12;
const keyColours = 12;

// colourOf returns the colour number of a key. The key other is grey.
const colourOf = (series, key, i) => (key === 'other' ? 'other' : i % keyColours);

// stacksOf returns for each bucket its pieces from the bottom up: {key, from, to, guessed}.
function stacksOf(series, unit) {
  return series.buckets.map((bucket) => {
    let at = 0;
    const pieces = [];
    const add = (key, colour, value, guessed) => {
      if (!value) return;
      pieces.push({ key, colour, from: at, to: at + value, guessed });
      at += value;
    };
    series.keys.forEach(({ key }, i) => {
      const cell = bucket.keys[key];
      if (!cell) return;
      const f = figuresOf([cell]);
      const colour = colourOf(series, key, i);
      if (unit === 'usd') {
        add(key, colour, f.reported + f.rate, false);
        add(key, colour, f.estimated, true);
      } else {
        add(key, colour, f.tokens, false);
        add(key, colour, f.guessed, true);
      }
    });
    return { day: String(bucket.at).slice(0, 10), pieces, top: at, unpriced: figuresOf(Object.values(bucket.keys)).unpriced > 0, bucket };
  });
}

function costChart(series, asked) {
  const stacks = stacksOf(series, asked.unit);
  const budgets = (series.budgets || []).filter((b) => b.period === 'day' && (asked.unit === 'usd' ? /cost/.test(b.metric) : /token/.test(b.metric)));
  const name = nameOfKey(series, asked);
  const n = stacks.length;
  const step = Math.ceil(n / mostTicks);
  const shown = stacks.find((s) => s.day === state.costDay);
  const show = (day) => () => {
    if (state.costDay === day) return;
    state.costDay = day;
    changed();
  };
  return h('figure', { class: 'cost-chart' },
    h('div', { class: 'cost-scroll', role: 'group', tabindex: '0', 'aria-label': asked.unit === 'usd' ? 'Cost by day' : 'Tokens by day', mounted: (el) => { el.scrollLeft = el.scrollWidth; } },
      h('div', { class: 'cost-plot', style: { 'min-width': n * slotLeast + chartAxis + 'px' } },
        h('div', { class: 'cost-canvas', 'aria-hidden': 'true', draws: drawCost, of: chartOf(stacks, asked.unit, budgets) }),
        h('div', { class: 'cost-slots', onmouseleave: show('') }, stacks.map((s, i) => h('div', {
          key: s.day, class: 'cost-bucket', 'data-bucket': s.day, tabindex: '0', role: 'img', 'aria-label': bucketWords(s, series, asked, name),
          style: { left: ((i + (1 - barShare) / 2) / n) * 100 + '%', width: (barShare / n) * 100 + '%' }, onmouseenter: show(s.day), onfocus: show(s.day),
        }, s.unpriced && asked.unit === 'usd' && h('span', { class: 'cost-unpriced', title: 'Some tokens of this day have no price' }, '+')))),
        h('div', { class: 'cost-ticks', 'aria-hidden': 'true' }, stacks.map((s, i) => (n - 1 - i) % step === 0 && h('span', { key: s.day, class: 'cost-tick', 'data-tick': s.day, style: { left: ((i + 0.5) / n) * 100 + '%' } }, dayName(s.day)))))),
    h('figcaption', {}, costLegend(series, name), h('p', { class: 'hint' }, shown ? bucketWords(shown, series, asked, name) : 'Hatched: estimated.' + (asked.unit === 'usd' ? ' +: some tokens have no price, which is not zero.' : '') + (budgets.length ? ' Dashed: ' + budgets.map((b) => 'budget of ' + oneLine(b.name || b.id, 40) + ', ' + (asked.unit === 'usd' ? money(b.limit) : compact(b.limit) + ' tokens') + ' a day').join('; ') + '.' : ''))));
}

const costLegend = (series, name) =>
  h('ul', { class: 'legend' }, series.keys.map(({ key }, i) => h('li', { key }, h('span', { class: 'swatch key-' + colourOf(series, key, i), 'aria-hidden': 'true' }), ' ', name(key))));

// bucketWords describes a day's bar, by key and kind.
function bucketWords(stack, series, asked, name) {
  const parts = series.keys.map(({ key }) => {
    const cell = stack.bucket.keys[key];
    if (!cell) return '';
    const f = figuresOf([cell]);
    const figures = asked.unit === 'usd'
      ? [f.reported && money(f.reported) + ' reported', f.rate && money(f.rate) + ' by rate', f.estimated && '~' + money(f.estimated) + ' estimated', f.unpriced && compact(f.unpriced) + ' tokens unpriced']
      : [f.tokens && compact(f.tokens) + ' tokens', f.guessed && '~' + compact(f.guessed) + ' estimated'];
    return name(key) + ' ' + (figures.filter(Boolean).join(', ') || 'nothing reported') + ', ' + plural(f.runs, 'run');
  }).filter(Boolean);
  return dayName(stack.day) + ': ' + (parts.join('; ') || 'nothing');
}

// chartOf returns the chart's data, as the same object while nothing changed.
let lastChart = null;

function chartOf(stacks, unit, budgets) {
  const name = JSON.stringify([stacks.map((s) => s.pieces), unit, budgets, document.documentElement.dataset.theme, matchMedia('(prefers-color-scheme: dark)').matches]);
  if (!lastChart || lastChart.name !== name) lastChart = { name, stacks, unit, budgets };
  return lastChart;
}

// drawCost redraws the chart in its element, and resizes it with the element.
async function drawCost(el, of) {
  el.acChart = of;
  if (!(await vendored('uplot')) || el.acChart !== of || !el.isConnected) return;
  if (el.acPlot) el.acPlot.destroy();
  const { stacks, unit, budgets } = of;
  const most = Math.max(...stacks.map((s) => s.top), ...budgets.map((b) => b.limit), unit === 'usd' ? 0.01 : 1);
  const n = stacks.length;
  const style = getComputedStyle(document.documentElement);
  const ink = style.getPropertyValue('--ink-3'), grid = style.getPropertyValue('--line');
  const value = unit === 'usd' ? (v) => '$' + +v.toPrecision(3) : compact;
  el.acPlot = new uPlot({
    width: el.clientWidth, height: chartHeight, padding: [12, 0, chartFoot, 0], legend: { show: false }, cursor: { show: false },
    scales: { x: { time: false, range: [-0.5, n - 0.5] }, y: { range: [0, most * 1.08] } },
    axes: [{ show: false }, { size: chartAxis, stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { show: false }, values: (_, list) => list.map(value) }],
    series: [{}, { paths: () => null, points: { show: false } }],
    hooks: { draw: [(u) => paintStacks(u, of)] },
  }, [stacks.map((_, i) => i), stacks.map((s) => s.top)], el);
  if (!el.acSize) {
    el.acSize = new ResizeObserver(() => el.acPlot && el.clientWidth && el.acPlot.width !== el.clientWidth && el.acPlot.setSize({ width: el.clientWidth, height: chartHeight }));
    el.acSize.observe(el);
  }
}

function paintStacks(u, { stacks, budgets }) {
  const { ctx, bbox } = u;
  const style = getComputedStyle(document.documentElement);
  const slot = bbox.width / stacks.length;
  ctx.save();
  stacks.forEach(({ pieces }, i) => {
    const x = bbox.left + (i + (1 - barShare) / 2) * slot;
    for (const piece of pieces) {
      const top = u.valToPos(piece.to, 'y', true), bottom = u.valToPos(piece.from, 'y', true);
      ctx.fillStyle = style.getPropertyValue('--key-' + piece.colour);
      if (piece.guessed) hatch(ctx, x, top, slot * barShare, bottom - top);
      else ctx.fillRect(x, top, slot * barShare, Math.max(1, bottom - top));
    }
  });
  ctx.strokeStyle = style.getPropertyValue('--bad');
  ctx.setLineDash([6, 5]);
  for (const { limit } of budgets) {
    const y = u.valToPos(limit, 'y', true);
    ctx.beginPath();
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
    ctx.stroke();
  }
  ctx.restore();
}

// hatch fills with stripes, so that estimates are recognizable without colour.
function hatch(ctx, x, y, width, height) {
  ctx.save();
  ctx.beginPath();
  ctx.rect(x, y, width, height);
  ctx.clip();
  ctx.strokeStyle = ctx.fillStyle;
  ctx.lineWidth = 3;
  for (let at = -height; at < width; at += 7) {
    ctx.beginPath();
    ctx.moveTo(x + at, y + height);
    ctx.lineTo(x + at + height, y);
    ctx.stroke();
  }
  ctx.restore();
}
