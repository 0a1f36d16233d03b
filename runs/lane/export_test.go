package lane

// What the tests of launches share with those of the lane.

// AsProcess makes the test binary one process of a lane; Launches is what that
// process does.
const AsProcess = asProcess

// Launches runs an errand.
var Launches = launches
