package workspace

// Markdown records in a unit: a typed head, and a body that is kept.

import (
	"bytes"

	"ac/internal/fault"
	"ac/internal/frontmatter"
	"ac/internal/yamldoc"
)

// HeadIn reads the front matter of a markdown record as the unit will leave it,
// and the body behind it. Missing: fault.NotFound. Unreadable or not fitting:
// fault.InvalidFile.
func HeadIn[T any](u *Unit, codec yamldoc.Codec[T], name string) (document T, body []byte, err error) {
	text, err := u.Read(name)
	if err != nil {
		return document, nil, err
	}
	return DecodeHead(codec, name, text)
}

// DecodeHead reads a markdown record from text that is at hand; name is for
// errors.
func DecodeHead[T any](codec yamldoc.Codec[T], name string, text []byte) (document T, body []byte, err error) {
	head, body, err := frontmatter.Split(text)
	if err != nil {
		return document, nil, fault.New(fault.InvalidFile, "%s: %w", name, err)
	}
	document, err = Decode(codec, name, head)
	return document, body, err
}

// PutHead asks for a new front matter of a record that is there, over the same
// body, byte for byte. A head that says the same as before is left as it is:
// nothing is written then.
func PutHead[T any](u *Unit, codec yamldoc.Codec[T], name string, document T) error {
	old, body, err := HeadIn(u, codec, name)
	if err != nil {
		return err
	}
	was, err := codec.Encode(old)
	if err != nil {
		return err
	}
	is, err := codec.Encode(document)
	if err != nil || bytes.Equal(was, is) {
		return err
	}
	return u.Write(name, frontmatter.Join(is, body), 0o644)
}
