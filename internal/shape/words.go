package shape

// Words returns the words of a named enumeration: "visibility", from the fewest
// readers to the most, or "role". It returns nil for other names.
func Words(name string) []string {
	switch name {
	case "visibility":
		return []string{"private_agent", "team", "managers", "org"}
	case "role":
		return []string{"human", "ceo", "director", "manager", "worker"}
	}
	return nil
}
