package doc_test

import (
	"bytes"
	"testing"

	"ac/internal/yamldoc"
	"ac/workspace/doc"
)

// settled holds a kind to its round trips: what is read can be written, and what
// was written, or rewritten in place, reads as the same document.
func settled[T any](t *testing.T, codec yamldoc.Codec[T], text []byte) {
	t.Helper()
	document, err := codec.Decode(text)
	if err != nil {
		return
	}
	written, err := codec.Encode(document)
	if err != nil {
		return // text that no YAML can carry
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

// FuzzKinds reads any text as a document of each kind.
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
		settled(t, doc.CompanyCodec, text)
		settled(t, doc.PolicyCodec, text)
		settled(t, doc.MachineCodec, text)
		settled(t, doc.TeamCodec, text)
		settled(t, doc.AgentCodec, text)
		settled(t, doc.ProjectCodec, text)
		settled(t, doc.RepoLinksCodec, text)
		settled(t, doc.ConversationCodec, text)
		settled(t, doc.CommentCodec, text)
		settled(t, doc.TaskCodec, text)
		settled(t, doc.ArtifactCodec, text)
		settled(t, doc.MemoryDeltaCodec, text)
		settled(t, doc.MilestoneReportCodec, text)
		settled(t, doc.HelpRequestCodec, text)
		settled(t, doc.ReviewCodec, text)
		settled(t, doc.SharePackCodec, text)
		settled(t, doc.RunCodec, text)
		settled(t, doc.ContextPackCodec, text)
		settled(t, doc.PolicySnapshotCodec, text)
		settled(t, doc.SessionCodec, text)
		settled(t, doc.JobCodec, text)
		settled(t, doc.JobResultCodec, text)
		settled(t, doc.HeartbeatConfigCodec, text)
		settled(t, doc.HeartbeatStateCodec, text)
		settled(t, doc.HeartbeatProposalCodec, text)
		settled(t, doc.MistakeLogCodec, text)
		settled(t, doc.MigrationsCodec, text)
		settled(t, doc.MessageCodec, text)
	})
}
