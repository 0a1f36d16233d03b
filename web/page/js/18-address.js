// Addresses: #/<view>[/<id>[/<tab>]][?k=v&…]. The address holds the place, filters and choices, so
// that Back returns to them.
//
//   hrefOf(view, id, tab, query)   returns an address; it keeps the project unless query has one
//   go(view, id, tab, query)       goes there
//   setQuery({k: v})               changes values at the same place; '' removes one.
//                                  While typing, the history keeps one entry ({replace: true})
//   state.route                    {view, id, tab, query}

const allProjects = 'all';

function decodePart(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return '';
  }
}

function addressOf(hash) {
  const [path, search = ''] = hash.replace(/^#/, '').split('?');
  const [, view = '', id = '', tab = '', ...rest] = path.split('/');
  const query = Object.fromEntries(new URLSearchParams(search));
  return upgraded({ view: view || 'now', id: decodePart(id), tab: decodePart([tab, ...rest].join('/').replace(/\/+$/, '')), query });
}

// Addresses of earlier versions lead to the current place of their content.
function upgraded(address) {
  const { view, id } = address;
  if (view === 'pending') return { ...address, view: 'needs', id: needOfArtifact(id) };
  if (view === 'decisions') return { ...address, view: 'decided' };
  if (view === 'runs' && !id) return { ...address, view: 'now' };
  return address;
}

const needOfArtifact = (id) => (id ? [...tableOf('needs').keys()].find((need) => need.endsWith(':' + id)) || id : '');

function hrefOf(view, id = '', tab = '', query = {}) {
  let path = '#/' + view;
  if (id) path += '/' + encodeURIComponent(id);
  if (id && tab) path += '/' + encodeURIComponent(tab);
  const kept = new URLSearchParams();
  const project = 'project' in query ? query.project : state.route.query.project;
  if (project && project !== (boot.project_id || allProjects)) kept.set('project', project);
  for (const name in query) if (name !== 'project' && query[name] !== '' && query[name] !== undefined && query[name] !== null) kept.set(name, query[name]);
  const search = kept.toString();
  return path + (search ? '?' + search : '');
}

function go(view, id, tab, query) {
  location.hash = hrefOf(view, id, tab, query);
}

// goThen goes to an address and focuses what find returns, instead of the title.
let focusAfter = null;

function goThen(find, view, id, tab, query) {
  const href = hrefOf(view, id, tab, query);
  if (location.hash === href) return focusDrawn(find);
  focusAfter = find;
  location.hash = href;
}

function setQuery(values, { replace = true } = {}) {
  const { view, id, tab, query } = state.route;
  const href = hrefOf(view, id, tab, { ...query, ...values });
  if (!replace) {
    location.hash = href;
    return;
  }
  history.replaceState(history.state, '', href);
  state.route = addressOf(location.hash);
  takeProject();
  acted();
}

// takeProject shows the project in the address.
function takeProject() {
  const asked = state.route.query.project;
  state.project = asked === undefined ? boot.project_id || '' : asked === allProjects ? '' : asked;
}

const inProject = (row) => !state.project || !row.p || row.p === state.project;
