// The preview of a start: the server's plan in words, and the dialog that starts by the plan's
// hash.

function planWords(plan) {
  const where = plan.isolation === 'worktree' ? 'in a new worktree of ' + oneLine(plan.repo || 'the repository') + (plan.branch ? ', branch ' + oneLine(plan.branch) : '') + (plan.base_commit ? ', from ' + plan.base_commit.slice(0, 7) : '') : 'in ' + oneLine(plan.cwd);
  return [
    ['Who', oneLine(plan.agent.name) + ' (' + oneLine(plan.provider) + ')'],
    ['Program', [oneLine(words(plan.driver || '')), oneLine(plan.program || '')].filter(Boolean).join(' · ')],
    plan.argv && plan.argv.length > 0 && ['Words', h('code', {}, oneLine(JSON.stringify(plan.argv), 400))],
    ['Where', where],
    ['Rights', oneLine(plan.allows || sentence(plan.mode || 'default'), 300)],
    plan.model && ['Model', oneLine(plan.model)],
    ['Budget', budgetOfPlan(plan.budget)],
    plan.usual && ['Usually', usualWords(plan.usual)],
  ].filter(Boolean);
}

function budgetOfPlan(budget) {
  if (!budget || budget.source === 'none') return 'none';
  const parts = [known(budget.hard_cost_usd) && money(budget.hard_cost_usd), known(budget.hard_tokens) && compact(budget.hard_tokens) + ' tokens', known(budget.soft_cost_usd) && 'alert at ' + money(budget.soft_cost_usd), known(budget.soft_tokens) && 'alert at ' + compact(budget.soft_tokens) + ' tokens'].filter(Boolean);
  return parts.join(', ') + ' (' + (budget.source === 'given' ? 'given' : 'of the ' + words(budget.source)) + ')';
}

const usualWords = (u) => [tookLong(u.median_ms), known(u.median_cost) && money(u.median_cost), known(u.median_tokens) && compact(u.median_tokens) + ' tokens'].filter(Boolean).join(', ') + ' (' + plural(u.runs, 'run') + ')';
const tookLong = (ms) => (ms < 60000 ? Math.max(1, Math.round(ms / 1000)) + ' s' : Math.round(ms / 60000) + ' min');

// differs returns the names of the lines that differ between two plans.
const differs = (before, plan) => {
  const old = new Map(planWords(before).map(([name, value]) => [name, JSON.stringify(value.text ?? value)]));
  return new Set(planWords(plan).filter(([name, value]) => old.get(name) !== JSON.stringify(value.text ?? value)).map(([name]) => name));
};

function startPlan(shown) {
  const { plan, error, before } = shown;
  if (error) return h('p', { class: 'fault', role: 'alert' }, error);
  if (!plan) return loading('Looking what would be done…');
  const changes = before ? differs(before, plan) : new Set();
  return [
    before && h('p', { class: 'fault', role: 'alert' }, 'Nothing was started: it would be different now. What differs is marked.'),
    h('dl', { class: 'facts plan-facts' }, planWords(plan).map(([name, value]) => h('div', { key: name, class: 'fact' + (changes.has(name) ? ' differs' : '') }, h('dt', {}, name), h('dd', {}, value)))),
    plan.warnings.map((warning) => h('p', { key: warning, class: 'plan-warning' }, h('span', { 'aria-hidden': 'true' }, '⚠ '), oneLine(warning, 300))),
  ];
}

// startRefusals explains refusals of a start, and suggests what helps.
const startRefusals = {
  launch_not_allowed: 'This control room was started without --allow-launch.',
  program_missing: 'The program of this agent is not installed on this machine.',
  no_agent_command: 'There is no command for agents of this provider: choose Command and write one.',
  place_unavailable: 'There is no place for it: the repository is missing on this machine.',
  budget_refused: 'The budget does not allow another run.',
  prompt_masked: 'The prompt has a masked secret, and the agent would be given the mask in its place. Write the prompt anew, without the mask.',
  never_ran: 'That run never ran.',
  run_busy: 'That run is still going.',
};

const startRefusal = (error) => startRefusals[error.reason] || error.message;

// reviewStart shows the plan for a method's params, and starts on confirmation. It calls begun with
// the new run.
function reviewStart(method, params, begun) {
  const shown = { plan: null, hash: '', error: '', before: null };
  const id = freshId();
  const run = async () => {
    try {
      begun(await call(method, { ...params, expect_plan: shown.hash, client_message_id: id }));
    } catch (error) {
      if (error.reason === 'plan_changed' && error.data && error.data.plan) {
        Object.assign(shown, { before: shown.plan, plan: error.data.plan, hash: error.data.plan_hash });
        return false;
      }
      error.message = startRefusal(error);
      throw error;
    }
    return true;
  };
  openDialog({ name: 'start', title: 'Start this?', confirm: 'Start', wide: true, body: () => startPlan(shown), run, ready: () => Boolean(shown.plan) });
  call(method, { ...params, dry_run: true }).then(
    ({ plan, plan_hash: hash }) => Object.assign(shown, { plan, hash }),
    (error) => { shown.error = startRefusal(error); },
  ).finally(changed);
}
