package audit

// The hashes of the records, in tiles. With them a seal reads only as many hashes as the tree is
// high. Every tile is verified against the newest checkpoint. A tile that was changed, or torn by
// a power failure, counts as missing.

import (
	"errors"
	"fmt"
	"os"
	"path"

	"golang.org/x/mod/sumdb/tlog"

	"ac/internal/durable"
	"ac/workspace"
)

// tileHeight is how many levels of the tree are in one tile.
const tileHeight = 8

// tileFile returns the file of a tile: company/audit/tile/8/<level>/<number>.
func tileFile(t tlog.Tile) string { return path.Join(Dir, t.Path()) }

// tiles implements tlog.TileReader with the tiles of a workspace.
type tiles struct{ w *workspace.Workspace }

// Height returns the height of all tiles.
func (t tiles) Height() int { return tileHeight }

// ReadTiles reads tiles from their files.
func (t tiles) ReadTiles(wanted []tlog.Tile) ([][]byte, error) {
	found := make([][]byte, len(wanted))
	for i, tile := range wanted {
		text, err := durable.ReadFile(t.w.FS, tileFile(tile), tlog.HashSize<<tileHeight)
		if err != nil {
			return nil, err
		}
		if len(text) != tile.W*tlog.HashSize {
			return nil, fmt.Errorf("%s has %d bytes", tileFile(tile), len(text))
		}
		found[i] = text
	}
	return found, nil
}

// SaveTiles is a no-op: the tiles are already here.
func (tiles) SaveTiles([]tlog.Tile, [][]byte) {}

// grown is a tree with added records. It reads the hashes of the sealed part on demand.
type grown struct {
	sealed int64 // number of sealed records
	before tlog.HashReader
	lines  [][]byte // new records, without their LF
	hashes []tlog.Hash
}

func (g *grown) size() int64 { return g.sealed + int64(len(g.lines)) }

func (g *grown) add(line []byte) error {
	hashes, err := tlog.StoredHashes(g.size(), line, g)
	if err != nil {
		return err
	}
	g.hashes, g.lines = append(g.hashes, hashes...), append(g.lines, line)
	return nil
}

// ReadHashes implements tlog.HashReader for both parts.
func (g *grown) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	from := tlog.StoredHashCount(g.sealed)
	out := make([]tlog.Hash, len(indexes))
	var older []int64
	for i, at := range indexes {
		switch {
		case at < from:
			older = append(older, at)
		case at-from >= int64(len(g.hashes)):
			return nil, errors.New("a hash outside the tree")
		default:
			out[i] = g.hashes[at-from]
		}
	}
	if len(older) == 0 {
		return out, nil
	}
	found, err := g.before.ReadHashes(older)
	if err != nil {
		return nil, err
	}
	for i, at := range indexes {
		if at < from {
			out[i], found = found[0], found[1:]
		}
	}
	return out, nil
}

// writeTiles writes the tiles that a tree gained since an older size. It does not sync them,
// since they can be derived from the records at any time.
func writeTiles(w *workspace.Workspace, hashes tlog.HashReader, from, to int64) error {
	for _, tile := range tlog.NewTiles(tileHeight, from, to) {
		text, err := tlog.ReadTileData(tile, hashes)
		if err != nil {
			return err
		}
		if err := writeUnsynced(w, tileFile(tile), text); err != nil {
			return err
		}
		if err := dropPartial(w, tile); err != nil {
			return err
		}
	}
	return nil
}

// dropPartial removes the partial versions of a tile.
func dropPartial(w *workspace.Workspace, tile tlog.Tile) error {
	whole := tile
	whole.W = 1 << tileHeight
	dir := tileFile(whole) + ".p"
	if tile.W == whole.W {
		return w.FS.RemoveAll(dir)
	}
	names, err := w.FS.ReadNames(dir)
	for _, name := range names {
		if name != path.Base(tileFile(tile)) && err == nil {
			err = w.FS.Remove(path.Join(dir, name))
		}
	}
	return err
}

// writeUnsynced replaces a file that can be derived again, without syncing it.
func writeUnsynced(w *workspace.Workspace, name string, text []byte) error {
	if err := durable.MkdirAll(w.FS, path.Dir(name), 0o755); err != nil {
		return err
	}
	temp := w.TempName(name)
	f, err := w.FS.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	if err = errors.Join(durable.WriteAll(f, text), f.Close()); err == nil {
		err = w.FS.Rename(temp, name)
	}
	if err != nil {
		_ = w.FS.Remove(temp) // report the first error
	}
	return err
}
