// The beginning: where to be, what to follow, and what the embedding shell says.

const panes = { pending: 'pending', runs: 'now', decisions: 'decisions', colleague: 'people' };

function routeOf(hash) {
  const [, view, ...rest] = hash.split('/');
  let id = '';
  try {
    id = decodeURIComponent(rest.join('/'));
  } catch {
    id = '';
  }
  if (view === 'runs') return { view: id ? 'runs' : 'now', id };
  return views.some(([name]) => name === view) ? { view, id } : { view: 'now', id: '' };
}

function select(pane, colleague) {
  const view = panes[pane] || (views.some(([name]) => name === pane) ? pane : '');
  if (!view) return;
  location.hash = '#/' + view + (view === 'people' && colleague ? '/' + encodeURIComponent(colleague) : '');
}

function onRoute() {
  const before = state.route;
  state.route = routeOf(location.hash);
  state.deciding = null;
  const [, name] = views.find(([id]) => id === (state.route.view === 'runs' ? 'now' : state.route.view)) || views[0];
  document.title = name + ' · AgentCompany Manager Web';
  changed();
  if (before.view !== state.route.view || (before.id !== state.route.id && !writing(document.activeElement))) focusTitle();
}

const show = mount(document.getElementById('app'));
function draw() {
  show(shell());
}

addEventListener('hashchange', onRoute);
addEventListener('keydown', onKey);
// The shell that embeds this page may choose what it shows, and nothing else.
addEventListener('message', (event) => {
  const said = event.data;
  if (said && typeof said === 'object' && said.type === 'agentcompany.select') select(said.pane, said.colleague_id);
});
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', changed);
matchMedia('(min-width: 900px)').addEventListener('change', changed);
// What counts the seconds is drawn anew each second, while somebody looks.
setInterval(() => {
  if (!document.hidden) changed();
}, 1000);

showTheme();
{
  const asked = new URLSearchParams(location.search);
  const pane = boot.pane || asked.get('pane');
  if (pane && !location.hash) select(pane, boot.colleague_id || asked.get('colleague_id'));
  state.route = routeOf(location.hash);
}
drawNow();
openStreams();
watchLink();
watchVisibility();
