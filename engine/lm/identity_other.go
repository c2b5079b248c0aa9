//go:build !linux

package lm

import "io/fs"

func changes(fs.FileInfo) string { return "" }
