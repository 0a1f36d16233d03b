package workspace

// Markdown records in a unit: typed front matter, and a body that is preserved.

import (
	"bytes"

	"ac/internal/fault"
	"ac/internal/frontmatter"
	"ac/internal/yamldoc"
)

// HeadIn reads the front matter and the body of a markdown record as the unit will leave it.
// It returns fault.NotFound if the record is missing, and fault.InvalidFile if it is
// unreadable or invalid.
func HeadIn[T any](u *Unit, codec yamldoc.Codec[T], name string) (document T, body []byte, err error) {
	text, err := u.Read(name)
	if err != nil {
		return document, nil, err
	}
	return DecodeHead(codec, name, text)
}

// DecodeHead decodes a markdown record. name is used in errors.
func DecodeHead[T any](codec yamldoc.Codec[T], name string, text []byte) (document T, body []byte, err error) {
	head, body, err := frontmatter.Split(text)
	if err != nil {
		return document, nil, fault.New(fault.InvalidFile, "%s: %w", name, err)
	}
	document, err = Decode(codec, name, head)
	return document, body, err
}

// PutHead replaces the front matter of an existing record and preserves the body byte for
// byte. It is a no-op if the front matter has the same content.
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
