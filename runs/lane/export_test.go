package lane

// Exports of internal test helpers for package lane_test.

// AsProcess is the environment variable that makes the test binary one process of a lane.
// Launches is what that process runs.
const AsProcess = asProcess

// Launches runs an errand.
var Launches = launches
