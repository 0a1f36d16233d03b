package carrier

// Suspect says that the store of a stream failed, as the server does.
func (s *Server) Suspect(stream string) {
	warnings{s.options.Log, &s.broken}.Errorf("JetStream stream '%s > %s' critical write error: %v", "$G", stream, "no space left on device")
}
