package workflow

import (
	"io"

	"ac/heartbeat/job"
)

// RunJob is the main function of a runner process, see job.RunMain. When a job that is a step of a
// workflow is over, it advances the workflow's run.
func RunJob(executable string, in io.Reader, out io.WriteCloser, interrupt <-chan struct{}) error {
	return job.RunMain(executable, in, out, interrupt, AfterJob)
}
