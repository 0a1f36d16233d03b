package worker

// Transfer of objects, which are too large for messages, and secrets, which messages never
// contain.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"strings"
	"time"

	"ac/fleet"
	"ac/fleet/parcel"
	"ac/internal/durable"
	"ac/internal/fault"
)

// receive downloads an object to a file of the folder. It checks the digest, and the size if that
// is known. It replaces an existing file. It retries while the carrier is unavailable, for up to
// sourcesWithin.
func (a *attempt) receive(ctx context.Context, name, object string, want parcel.Digest) (err error) {
	carrier, fsys := a.w.connection(), a.w.folder.fs
	if carrier == nil {
		return errUnconnected
	}
	if err := durable.MkdirAll(fsys, path.Dir(name), 0o700); err != nil {
		return err
	}
	if err := fsys.Remove(name); err != nil && !durable.IsAbsent(err) {
		return err
	}
	file, err := fsys.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, file.Close()); err != nil {
			err = errors.Join(err, fsys.Remove(name))
		}
	}()
	limit := a.w.currentSettings().ResultsMaxBytes
	if want.Size >= 0 {
		limit = want.Size
	}
	ctx, cancel := context.WithTimeoutCause(ctx, sourcesWithin, fmt.Errorf("gave up after %s", sourcesWithin))
	defer cancel()
	for {
		err := carrier.Get(ctx, object, &bounded{to: file, left: limit})
		_, seekErr := file.Seek(0, io.SeekStart)
		if err == nil && seekErr == nil {
			break
		}
		if seekErr != nil || !fault.Is(err, fleet.CarrierUnavailable) {
			return errors.Join(err, seekErr)
		}
		// The hub may have died during the transfer.
		if truncateErr := file.Truncate(0); truncateErr != nil || !sleep(ctx, firstPause) {
			return errors.Join(err, truncateErr)
		}
	}
	got, err := parcel.Measure(file)
	if err == nil && (got.SHA256 != want.SHA256 || (want.Size >= 0 && got.Size != want.Size)) {
		err = parcel.ErrDamaged
	}
	return errors.Join(err, file.SyncData())
}

// withTexts returns the order with the texts that were sent as objects.
func (a *attempt) withTexts(ctx context.Context) (fleet.Order, error) {
	order := a.ordered
	order.CopyTexts()
	texts := order.TextsByName()
	for _, file := range order.Texts {
		text, known := texts[file.Path]
		if err := checkFile(file); err != nil || !known {
			return order, errors.Join(err, fmt.Errorf("the order has a text %.200q", file.Path))
		}
		name := path.Join(workDir, a.id, "texts", file.Path)
		if err := a.receive(ctx, name, file.Object, parcel.Digest{SHA256: file.SHA256, Size: file.Size}); err != nil {
			return order, describe("receive the "+file.Path, err)
		}
		content, err := durable.ReadFile(a.w.folder.fs, name, file.Size+1)
		if err = errors.Join(err, a.w.folder.fs.Remove(name)); err != nil {
			return order, err
		}
		*text = string(content)
	}
	return order, nil
}

// bounded is a writer that fails after a number of bytes.
type bounded struct {
	to   io.Writer
	left int64
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.left -= int64(len(p)); b.left < 0 {
		return 0, parcel.ErrDamaged
	}
	return b.to.Write(p)
}

// publish publishes a batch or the end of the attempt.
func (a *attempt) publish(ctx context.Context, id string, body []byte) (stored func(context.Context) error, err error) {
	carrier := a.w.connection()
	if carrier == nil {
		return nil, errUnconnected
	}
	return carrier.Publish(ctx, a.id, id, body)
}

// putPayload stores the payload of a draft that is too long for a batch.
func (a *attempt) putPayload(ctx context.Context, payload []byte) (string, error) {
	digest, err := parcel.Measure(bytes.NewReader(payload))
	if err != nil {
		return "", err
	}
	name := fleet.ObjectName(fleet.ObjectDraft, digest.SHA256)
	carrier := a.w.connection()
	if carrier == nil {
		return "", errUnconnected
	}
	return name, carrier.Put(ctx, name, bytes.NewReader(payload))
}

// Limits of a secret: the bytes read from its file, and the run time of its command.
const (
	maxSecret    = 64 << 10
	secretWithin = 30 * time.Second
)

// secret reads a secret from its source in worker.yaml. A final LF or CRLF is not part of the
// value.
func (f *Folder) secret(ctx context.Context, name string, environ []string) (string, error) {
	source, ok := f.Config.Secrets[name]
	if !ok {
		return "", fault.New(fault.NotFound, "the worker has no secret %s", name)
	}
	var text []byte
	switch {
	case source.Env != "":
		for _, entry := range environ {
			if value, ok := strings.CutPrefix(entry, source.Env+"="); ok {
				text = []byte(value)
			}
		}
	case source.File != "":
		file, err := os.Open(source.File)
		if err != nil {
			return "", err
		}
		defer file.Close()
		if text, err = io.ReadAll(io.LimitReader(file, maxSecret+1)); err != nil {
			return "", err
		}
	default:
		within, cancel := context.WithTimeout(ctx, secretWithin)
		defer cancel()
		cmd := exec.CommandContext(within, source.Command[0], source.Command[1:]...) //nolint:gosec // what the worker's owner configured
		cmd.Env, cmd.Dir = environ, f.dir
		var err error
		if text, err = cmd.Output(); err != nil {
			return "", fmt.Errorf("the command of secret %s failed: %w", name, err)
		}
	}
	if len(text) > maxSecret {
		return "", fault.New(fault.TooLarge, "secret %s has more than %d bytes", name, maxSecret)
	}
	value := strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")
	if value == "" {
		return "", fault.New(fault.NotFound, "secret %s is empty", name)
	}
	return value, nil
}
