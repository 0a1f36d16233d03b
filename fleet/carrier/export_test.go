package carrier

// Suspect logs that the store of a stream failed, in the server's words.
func (s *Server) Suspect(stream string) {
	warnings{s.options.Log, &s.broken}.Errorf("JetStream stream '%s > %s' critical write error: %v", "$G", stream, "no space left on device")
}
