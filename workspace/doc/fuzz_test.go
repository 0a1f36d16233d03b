package doc_test

import (
	"bytes"
	"testing"

	"ac/internal/yamldoc"
	"ac/workspace/doc"
)

// roundTrips checks a kind's round trips: what can be decoded can be encoded, and the encoded or
// rewritten text decodes to the same document.
func roundTrips[T any](t *testing.T, codec yamldoc.Codec[T], text []byte) {
	t.Helper()
	document, err := codec.Decode(text)
	if err != nil {
		return
	}
	written, err := codec.Encode(document)
	if err != nil {
		return // no YAML can represent this text
	}
	again, err := codec.Decode(written)
	if err != nil {
		t.Fatalf("%T: %q was written as %q: %v", document, text, written, err)
	}
	twice, err := codec.Encode(again)
	if err != nil || !bytes.Equal(written, twice) {
		t.Fatalf("%T: %q was written as %q, then as %q (%v)", document, text, written, twice, err)
	}
	rewritten, err := codec.Rewrite(text, document)
	if err != nil {
		t.Fatalf("%T: %q cannot be rewritten: %v", document, text, err)
	}
	if again, err = codec.Decode(rewritten); err != nil {
		t.Fatalf("%T: %q was rewritten as %q: %v", document, text, rewritten, err)
	}
	if twice, err = codec.Encode(again); err != nil || !bytes.Equal(written, twice) {
		t.Fatalf("%T: %q was rewritten as %q (%v)", document, text, rewritten, err)
	}
}

// FuzzKinds decodes any text as a document of each kind.
func FuzzKinds(f *testing.F) {
	const at = "created_at: 2026-11-20T14:59:44.066Z\n"
	for _, seed := range []string{
		"schema_version: 1\ntype: company\nid: c\nname: A\n" + at,
		"schema_version: 1\ntype: team\nid: t\nname: T\n" + at,
		"schema_version: 1\ntype: agent\nid: a\nname: A\nrole: worker\nprovider: codex\nteam_id: t\n" + at,
		"schema_version: 1\ntype: project\nid: p\nname: P\nstatus: active\n" + at,
		"schema_version: 1\ntype: run\nid: r\nproject_id: p\nagent_id: a\nprovider: cmd\nstatus: running\ncontext_pack_id: c\nevents_relpath: runs/r/events.jsonl\n" + at,
		"schema_version: 1\ntype: task\nid: t\nproject_id: p\ntitle: T\nstatus: draft\nvisibility: org\nmilestones:\n  - {id: m, title: T, kind: planning, status: ready, acceptance_criteria: []}\n" + at,
		"schema_version: 1\ntype: milestone_report\nid: a\ntitle: R\nvisibility: org\nproduced_by: h\nrun_id: r\ncontext_pack_id: c\nproject_id: p\ntask_id: t\nmilestone_id: m\nevidence_artifacts: []\n" + at,
		"schema_version: 1\ntype: share_pack\nid: s\nproject_id: p\ncreated_by: h\nvisibility: managers\nincluded_artifacts: []\n" + at,
		"schema_version: 1\ntype: review\nid: r\ndecision: approved\nactor_id: h\nactor_role: human\nsubject: {kind: milestone, artifact_id: a, project_id: p}\n" + at,
		"schema_version: 1\ntype: policy\nvisibility_defaults: {artifact: org}\nbudgets: &b {x: 1}\nmore: *b\n",
		"schema_version: 1\ntype: machine\nrepo_roots: {r: /srv}\nprovider_bins: {codex: /bin/codex}\n",
		"schema_version: 1\ntype: comment\nid: c\nauthor_id: h\nauthor_role: human\nvisibility: org\ntarget: {project_id: p, run_id: r}\nbody: |\n  b\n" + at,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		roundTrips(t, doc.CompanyCodec, text)
		roundTrips(t, doc.PolicyCodec, text)
		roundTrips(t, doc.MachineCodec, text)
		roundTrips(t, doc.TeamCodec, text)
		roundTrips(t, doc.AgentCodec, text)
		roundTrips(t, doc.ProjectCodec, text)
		roundTrips(t, doc.RepoLinksCodec, text)
		roundTrips(t, doc.ConversationCodec, text)
		roundTrips(t, doc.CommentCodec, text)
		roundTrips(t, doc.TaskCodec, text)
		roundTrips(t, doc.ArtifactCodec, text)
		roundTrips(t, doc.MemoryDeltaCodec, text)
		roundTrips(t, doc.MilestoneReportCodec, text)
		roundTrips(t, doc.HelpRequestCodec, text)
		roundTrips(t, doc.ReviewCodec, text)
		roundTrips(t, doc.SharePackCodec, text)
		roundTrips(t, doc.RunCodec, text)
		roundTrips(t, doc.ContextPackCodec, text)
		roundTrips(t, doc.PolicySnapshotCodec, text)
		roundTrips(t, doc.SessionCodec, text)
		roundTrips(t, doc.JobCodec, text)
		roundTrips(t, doc.JobResultCodec, text)
		roundTrips(t, doc.HeartbeatConfigCodec, text)
		roundTrips(t, doc.HeartbeatStateCodec, text)
		roundTrips(t, doc.HeartbeatProposalCodec, text)
		roundTrips(t, doc.MistakeLogCodec, text)
		roundTrips(t, doc.MigrationsCodec, text)
		roundTrips(t, doc.MessageCodec, text)
	})
}
