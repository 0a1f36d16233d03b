// Who should do what next, and the button that assigns it.

function allocations(tasks) {
  const titles = new Map(tasks.map((t) => [t.task_id, t.title]));
  const name = 'plan/allocations/' + state.project;
  const entry = fetched(name, () => call('pm.recommend_allocations', { project_id: state.project }), 60000);
  return section('Allocations', h('span', { class: 'note' }, 'who should do what next'),
    shownOr(entry, name, ({ recommendations: list }) => {
      if (!list.length) return empty('No open task', 'When there are tasks to do, those who are best placed for them are named here.');
      const off = state.fields.allocationsOff || {};
      const items = list.filter((r) => !off[r.task_id]);
      return [
        h('ul', { class: 'allocations' }, list.slice(0, 300).map((r) => h('li', { key: r.task_id },
          h('label', { class: 'allocation' }, h('input', { type: 'checkbox', checked: !off[r.task_id], onchange: (e) => { state.fields.allocationsOff = { ...off, [r.task_id]: !e.target.checked }; changed(); } }),
            h('span', { class: 'allocation-what' }, h('span', { class: 'allocation-title' }, oneLine(titles.get(r.task_id) || r.task_id)), h('span', { class: 'allocation-why' }, r.rationale)),
            h('span', { class: 'allocation-who' }, h('strong', {}, r.preferred_agent_id ? personName(r.preferred_agent_id) : 'nobody fits'), h('span', {}, r.preferred_provider + (r.preferred_model ? ' · ' + r.preferred_model : '')), h('span', { class: 'number' }, compact(r.token_budget_hint) + ' tokens')))))),
        h('div', { class: 'actions end' }, h('span', { class: 'hint' }, 'Applies to all chosen tasks or to none'), button('Apply to ' + plural(items.length, 'task'), () => applyAllocations(items), { kind: 'primary', disabled: !items.length || state.applying })),
      ];
    }));
}

async function applyAllocations(items) {
  state.applying = true;
  changed();
  try {
    const done = await call('pm.apply_allocations', { project_id: state.project, items });
    say('Applied to ' + plural(done.updated_task_ids.length, 'task') + '.');
    stale('plan/*');
  } catch (error) {
    say('Nothing was applied: ' + error.message, true);
  }
  state.applying = false;
  changed();
}
