// Events in words and colours.

// tell describes an event in words.
function tell(event) {
  const p = event.payload || {};
  switch (event.type) {
    case 'run.started': return 'Run made for ' + personName(p.agent_id) + ' with ' + p.provider;
    case 'run.executing': return 'Executing ' + (Array.isArray(p.argv) ? p.argv.join(' ') : sentence(p.mode));
    case 'run.ended': return 'Ended' + (known(p.exit_code) ? ' with exit code ' + p.exit_code : '') + (p.budget_exceeded ? ', over its budget' : '');
    case 'run.stopped': return 'Stopped' + (p.signal ? ' by ' + p.signal : '') + (p.budget_exceeded ? ', over its budget' : '');
    case 'run.failed': return 'Failed' + (p.error_kind && p.error_kind !== 'unknown' ? ' (' + words(p.error_kind) + ')' : '') + (p.error ? ': ' + p.error : p.reason ? ': ' + words(p.reason) : known(p.exit_code) ? ' with exit code ' + p.exit_code : p.orphaned ? ': its process was gone' : '');
    case 'policy.decision': return (p.allowed ? 'Allowed' : 'Refused') + ' to ' + p.action + ' ' + words(p.resource_kind) + ', by rule ' + p.rule_id + ': ' + words(p.reason);
    case 'policy.denied': return 'Refused to ' + p.action + (p.policy ? ', by rule ' + p.policy.rule_id + ': ' + words(p.policy.reason) : '');
    case 'budget.decision': return 'Budget of the ' + p.scope + ', ' + p.metric + ': ' + count(p.actual) + ' of ' + count(p.threshold) + ' (' + p.severity + '), ' + words(p.result);
    case 'budget.alert': return 'Budget alert: ' + p.metric + ' of the ' + p.scope + ' at ' + count(p.actual) + ' of ' + count(p.threshold);
    case 'budget.exceeded': return 'Budget exceeded: ' + p.metric + ' of the ' + p.scope + ' at ' + count(p.actual) + ' of ' + count(p.threshold);
    case 'usage.reported': return count(p.total_tokens) + ' tokens so far, as the provider reports';
    case 'usage.estimated': return 'About ' + count(p.total_tokens) + ' tokens, estimated from the length of the text';
    case 'usage.cost_computed': return 'Costs ' + money(p.cost_usd) + ' by the rate card';
    case 'context.cycle.detected': return 'Context compacted, ' + plural(p.count, 'time');
    case 'artifact.produced': return 'Produced ' + words(p.artifact_type || p.kind) + ' ' + p.artifact_id;
    case 'worktree.prepared': return 'Worktree of ' + p.repo_id + ' on ' + p.branch;
    case 'approval.decided': return sentence(p.decision) + ': ' + words(p.subject_kind) + (p.policy ? ', by rule ' + p.policy.rule_id : '');
    case 'run.landed': return 'Landed on ' + p.branch + ' as ' + String(p.commit || '').slice(0, 7);
    case 'run.reviewed': return 'Reviewed: ' + plural((p.comments || []).length, 'comment') + ' on changes';
    case 'comment.added': return 'Note: ' + p.body;
    case 'interaction.requested': return 'Asks: ' + p.title;
    case 'interaction.resolved': return outcomeOf(p);
    case 'permission.judged': return sentence(p.effect) + ' ' + words(p.operation) + ' ' + (p.resource || '') + ', by ' + words(p.by);
    case 'run.policy_changed': return 'Policy: mode ' + words((p.after || {}).mode) + ', level ' + (p.after || {}).permission_level;
    case 'run.turn_started': return 'Turn ' + p.turn + ' begins';
    case 'run.turn_ended': return 'Turn ' + p.turn + ' ' + words(p.status) + (p.error ? ': ' + p.error : '');
    case 'run.steer_queued': return 'Said: ' + (p.display_text || p.text);
    case 'provider.raw': return String(p.chunk || '').trim();
    default: return sentence(event.type) + (p.message ? ': ' + p.message : '');
  }
}

// toneOf returns good, bad, warn or '' for an event.
function toneOf(event) {
  const p = event.payload || {};
  if (event.type === 'policy.denied' || event.type === 'budget.exceeded' || event.type === 'run.failed') return 'bad';
  if (event.type === 'budget.alert' || event.type === 'run.stopped') return 'warn';
  if (event.type === 'policy.decision') return p.allowed ? 'good' : 'bad';
  if (event.type === 'budget.decision') return p.result === 'ok' ? 'good' : p.severity === 'hard' ? 'bad' : 'warn';
  if (event.type === 'run.ended') return 'good';
  if (event.type === 'approval.decided') return p.decision === 'approved' ? 'good' : 'bad';
  return '';
}
