package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io/fs"
	"strings"
	"time"
)

// A file of an archive. The name of a folder ends in a slash.
type file struct {
	name string
	mode int64
	user int // and group
	data []byte
}

// tarred makes a tar file whose bytes follow from its arguments alone.
func tarred(files []file, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		h := &tar.Header{Name: f.name, Mode: f.mode, Uid: f.user, Gid: f.user, ModTime: at, Size: int64(len(f.data)), Typeflag: tar.TypeReg}
		if strings.HasSuffix(f.name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

func gzipped(text []byte) ([]byte, error) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b) // without a name and a time
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	err := w.Close()
	return b.Bytes(), err
}

func tarGz(files []file, at time.Time) ([]byte, error) {
	text, err := tarred(files, at)
	if err != nil {
		return nil, err
	}
	return gzipped(text)
}

func zipped(files []file, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range files {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: at}
		h.SetMode(fs.FileMode(f.mode))
		to, err := w.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := to.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}
