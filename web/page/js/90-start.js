// Startup: the initial place, event listeners, and messages of the embedding shell.

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
  // A row of a list keeps the focus while its item is shown beside it.
  const kept = document.activeElement?.closest?.('[data-need]');
  if (before.view !== state.route.view || (before.id !== state.route.id && !writing(document.activeElement) && !(kept && wide()))) focusTitle();
}

// hideToken removes the token from the address. From now on the page's cookie is enough.
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
// The embedding shell may choose the view, and nothing else.
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
