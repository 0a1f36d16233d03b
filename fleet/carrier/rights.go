package carrier

// Who may publish and subscribe to which subjects. The server enforces it; signatures cover the
// rest.

import (
	"github.com/nats-io/nats-server/v2/server"

	"ac/fleet"
)

// User is a worker or invitation that may connect.
type User struct {
	Worker    string
	PublicKey string
	Invited   bool // may only join
}

// Rights are the subjects that a user may publish to and subscribe to.
type Rights struct {
	Publish   []string `json:"publish"`
	Subscribe []string `json:"subscribe"`
	// Responses permits one reply to each request.
	Responses bool `json:"responses,omitempty"`
}

// RightsOf returns the permissions of a hub's user.
func RightsOf(hub string, u User) Rights {
	s := fleet.Subjects{Hub: hub}
	inbox := fleet.Inbox(u.Worker) + ".>"
	if u.Invited {
		return Rights{Publish: []string{s.Ask(u.Worker, fleet.AskJoin)}, Subscribe: []string{inbox}}
	}
	orders, bucket := s.OrdersStream()+"."+u.Worker, streamOf(s.Bucket(u.Worker))
	objects := objectsOf(s.Bucket(u.Worker))
	return Rights{
		Publish: []string{
			s.Of("draft", u.Worker), s.Of("ask", u.Worker),
			"$JS.API.CONSUMER.INFO." + orders, "$JS.API.CONSUMER.MSG.NEXT." + orders, "$JS.ACK." + orders + ".>",
			"$JS.API.STREAM.INFO." + bucket, "$JS.API.STREAM.MSG.GET." + bucket,
			"$JS.API.STREAM.PURGE." + bucket,
			"$JS.API.CONSUMER.CREATE." + bucket + ".>", "$JS.API.CONSUMER.DELETE." + bucket + ".>", "$JS.FC." + bucket + ".>",
			objects + ".C.>", objects + ".M.>",
		},
		Subscribe: []string{inbox, s.Of("tell", u.Worker)},
		Responses: true,
	}
}

// streamOf returns the stream of an object store.
func streamOf(bucket string) string { return "OBJ_" + bucket }

// objectsOf returns the subject prefix of an object store.
func objectsOf(bucket string) string { return "$O." + bucket }

// nkeyUser returns a user in the embedded server's format.
func nkeyUser(hub string, u User) *server.NkeyUser {
	r := RightsOf(hub, u)
	p := &server.Permissions{
		Publish: &server.SubjectPermission{Allow: r.Publish}, Subscribe: &server.SubjectPermission{Allow: r.Subscribe},
	}
	if r.Responses {
		p.Response = &server.ResponsePermission{MaxMsgs: 1, Expires: replyWithin}
	}
	return &server.NkeyUser{Nkey: u.PublicKey, Permissions: p}
}
