package durable

import "io/fs"

const relativeCalls = false

func (d *Dir) lstatAt(string) (Version, fs.FileMode, error)          { return Version{}, 0, fs.ErrInvalid }
func (d *Dir) lstatEachAt([]string, func(int, Version, fs.FileMode)) {}
func (d *Dir) subAt(string) (*Dir, error)                            { return nil, fs.ErrInvalid }
func (d *Dir) openAt(string) (File, error)                           { return nil, fs.ErrInvalid }
