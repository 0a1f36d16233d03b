package frames

// Size returns the approximate length of an event in bytes.
func (f Frame) Size() int {
	switch p := f.Payload.(type) {
	case TextPayload:
		return 300 + 2*len(p.Text)
	case MessagePayload:
		return 400 + 2*sizeOf(&p.Message)
	case toolStartPayload:
		return 500 + len(p.Args)
	case ToolUpdatePayload:
		return 500 + len(p.Chunk)
	case toolEndPayload:
		n := 700 + len(p.Output) + len(p.OutputTail)
		for _, h := range p.Hunks {
			for _, l := range h.Lines {
				n += 60 + len(l.Text)
			}
		}
		return n
	case permissionPayload:
		return 500 + len(p.Args) + len(p.Diff)
	case replacePayload:
		n := 300
		for i := range p.Messages {
			n += sizeOf(&p.Messages[i])
		}
		return n
	}
	return 400
}
