package transcript

import (
	"maps"
	"slices"
	"strconv"

	"ac/internal/clip"
)

// recentIDs are the newest of the ids that items were opened with, and how often. Its
// zero value is empty.
type recentIDs struct {
	ring []string
	at   int
	used map[string]int
}

// maxRecent bounds how many are kept, and how long they are.
const (
	maxRecent      = 1024
	maxRecentBytes = 200
)

// add notes an id and returns the one that the item gets: where the agent used it
// before, with a number behind it.
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
