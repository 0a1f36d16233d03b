package transcript

import (
	"maps"
	"slices"
	"strconv"

	"ac/internal/clip"
)

// recentIDs holds the newest ids of opened items, and how often each was used. Its zero value is
// empty.
type recentIDs struct {
	ring []string
	at   int
	used map[string]int
}

// Bounds of the number of ids and of their length in bytes.
const (
	maxRecent      = 1024
	maxRecentBytes = 200
)

// add records an id and returns the id for the item. If the agent has used the id before, add
// appends a number.
func (r *recentIDs) add(id string) string {
	if id == "" {
		return ""
	}
	if len(id) > maxRecentBytes {
		id = clip.Head(id, maxRecentBytes)
	}
	if n := r.used[id]; n > 0 {
		r.used[id]++
		return id + "." + strconv.Itoa(n+1)
	}
	if r.used == nil {
		r.used = map[string]int{}
	}
	if len(r.ring) < maxRecent {
		r.ring = append(r.ring, id)
	} else {
		delete(r.used, r.ring[r.at])
		r.ring[r.at] = id
		r.at = (r.at + 1) % maxRecent
	}
	r.used[id] = 1
	return id
}

func (r *recentIDs) has(id string) bool { return r.used[id] > 0 }

func (r *recentIDs) clone() recentIDs {
	return recentIDs{slices.Clone(r.ring), r.at, maps.Clone(r.used)}
}
