// The beginning: where to be, what to follow, and what the embedding shell says.

const panes = { pending: 'needs', runs: 'now', decisions: 'decided', colleague: 'people' };

function select(pane, colleague) {
  const view = panes[pane] || (views.some(([name]) => name === pane) ? pane : '');
  if (view) go(view, view === 'people' && colleague ? colleague : '');
}

function onRoute() {
  const before = state.route;
  state.route = addressOf(location.hash);
  takeProject();
  deciding.id = '';
  forgetSecrets();
  showTitle();
  changed();
  if (focusAfter) {
    focusDrawn(focusAfter);
    focusAfter = null;
    return;
  }
  // A row of a list keeps the focus while what it opens is shown beside it.
  const kept = document.activeElement?.closest?.('[data-need]');
  if (before.view !== state.route.view || (before.id !== state.route.id && !writing(document.activeElement) && !(kept && wide()))) focusTitle();
}

// The token leaves the address: the cookie that came with the page is enough from now on.
function hideToken() {
  const address = new URL(location.href);
  if (!address.searchParams.has('token')) return;
  address.searchParams.delete('token');
  history.replaceState(history.state, '', address);
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

showTheme();
showDensity();
{
  const asked = new URLSearchParams(location.search);
  const pane = boot.pane || asked.get('pane');
  if (pane && !location.hash) select(pane, boot.colleague_id || asked.get('colleague_id'));
  state.route = addressOf(location.hash);
  takeProject();
  takePlace();
}
hideToken();
beginRows();
drawNow();
showTitle();
