package shape

// Words are those of an enumeration that many fields have, by the rule that names it:
// visibility, who a document can be meant for, the fewest first; role, what somebody
// who acts can be. Of any other name there are none.
func Words(name string) []string {
	switch name {
	case "visibility":
		return []string{"private_agent", "team", "managers", "org"}
	case "role":
		return []string{"human", "ceo", "director", "manager", "worker"}
	}
	return nil
}
