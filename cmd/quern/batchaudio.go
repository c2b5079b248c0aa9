package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"quern/cmd/quern/internal/remote"
	"quern/engine"
	"quern/httpapi/batch"
)

// transcriptSuffixes are the suffixes of transcripts' names, by format.
var transcriptSuffixes = map[string]string{"text": ".txt", "srt": ".srt", "vtt": ".vtt", "json": ".json"}

// notAudio are endings of files that lie beside recordings and are none.
var notAudio = []string{".txt", ".srt", ".vtt", ".json", ".jsonl", ".md", ".part"}

// batchAudio transcribes the files of a folder, and of those in it, as one batch.
func (a *app) batchAudio(ctx context.Context, c *remote.Client, o batchOptions) error {
	to := cmp.Or(o.output, o.audio)
	names, done, err := recordings(o.audio, to, transcriptSuffixes[o.format])
	if err != nil {
		return err
	}
	if len(names) == 0 && done == 0 {
		return fmt.Errorf("%s has no files to transcribe", o.audio)
	}
	if len(names) == 0 {
		fmt.Fprintln(a.err, "nothing to do: every file has a transcript")
		return nil
	}
	if len(names) > batch.MaxLines {
		return fmt.Errorf("%s has %d files, a batch at most %d; name a folder below it", o.audio, len(names), batch.MaxLines)
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	if err := writable(to); err != nil {
		return err
	}
	if o.ear == "" {
		ears, err := c.Models(ctx, string(engine.KindTranscription))
		if err != nil {
			return err
		}
		switch len(ears) {
		case 0:
			return errors.New("there is no model that transcribes, and none is built in; name one, as in --model hub:ggerganov/whisper.cpp/ggml-base.bin")
		case 1:
			o.ear = ears[0]
		default:
			return usageError{fmt.Errorf("several models transcribe; name one of them with --recogniser: %s", strings.Join(ears, ", "))}
		}
	}
	var lines bytes.Buffer
	bar := a.progress("sending")
	for i, name := range names {
		bar.Update(name, float64(i)/float64(len(names)))
		line, id, err := recordingLine(ctx, c, name, o)
		if id != "" {
			defer c.Delete(context.WithoutCancel(ctx), id)
		}
		if err != nil {
			bar.Wait()
			return fmt.Errorf("%s: %w", name, err)
		}
		lines.Write(append(line, '\n'))
	}
	bar.Wait()
	in, err := c.Upload(ctx, "audio.jsonl", batch.ForBatch, &lines)
	if err != nil {
		return err
	}
	b, err := c.Start(ctx, in.ID, "/v1/audio/transcriptions", o.window)
	if err != nil {
		return err
	}
	if b, err = a.wait(ctx, c, b.ID, o); err != nil {
		return err
	}
	ctx = o.kept(ctx)
	for _, id := range []*string{b.OutputFileID, b.ErrorFileID} {
		if id == nil {
			continue
		}
		var out bytes.Buffer
		if err := c.Content(ctx, *id, &out); err != nil {
			return err
		}
		for line := range bytes.Lines(out.Bytes()) {
			if err := a.transcript(line, to, transcriptSuffixes[o.format]); err != nil {
				return err
			}
		}
	}
	return a.outcome(b)
}

// recordings are the files below dir that have no transcript in to; done is how many have one.
// Links to files count, those to folders below dir do not.
func recordings(dir, to, suffix string) (names []string, done int, err error) {
	root, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, 0, err
	}
	if st, err := os.Stat(root); err == nil && !st.IsDir() {
		return nil, 0, usageError{fmt.Errorf("--audio: %s is a file; write: quern transcribe %s", dir, shellWord(dir))}
	}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), ".") {
			return err
		}
		if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() {
			return nil // a dangling link, or no regular file
		}
		for _, end := range notAudio {
			if strings.HasSuffix(strings.ToLower(d.Name()), end) {
				return nil
			}
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if _, err := os.Stat(filepath.Join(to, name+suffix)); errors.Is(err, fs.ErrNotExist) {
			names = append(names, filepath.ToSlash(name))
		} else {
			done++
		}
		return nil
	})
	return names, done, err
}

// recordingLine sends a recording to the server, and is the line that has it transcribed.
func recordingLine(ctx context.Context, c *remote.Client, name string, o batchOptions) (line []byte, id string, err error) {
	f, err := os.Open(filepath.Join(o.audio, filepath.FromSlash(name)))
	if err != nil {
		return nil, "", err
	}
	defer f.Close()
	sent, err := c.Upload(ctx, filepath.Base(name), "user_data", f)
	if err != nil {
		return nil, "", err
	}
	body := map[string]any{"file": sent.ID, "model": o.ear, "response_format": o.format}
	if o.format == "json" {
		body["response_format"] = "verbose_json"
	}
	if o.language != "" {
		body["language"] = o.language
	}
	line, err = json.Marshal(map[string]any{"custom_id": name, "method": "POST", "url": "/v1/audio/transcriptions", "body": body})
	return line, sent.ID, err
}

// transcript writes a line of the output into a file of its own. It says what failed, and what
// is wrong with the sound.
func (a *app) transcript(line []byte, to, suffix string) error {
	var r struct {
		Name     string `json:"custom_id"`
		Response *struct {
			Status   int             `json:"status_code"`
			Body     json.RawMessage `json:"body"`
			Warnings []string        `json:"warnings"`
		} `json:"response"`
		Error *struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if err := json.Unmarshal(line, &r); err != nil {
		return err
	}
	switch {
	case r.Error != nil:
		fmt.Fprintf(a.err, "%s: %s\n", r.Name, r.Error.Message)
		return nil
	case r.Response.Status != 200:
		var said struct {
			Error struct{ Message string } `json:"error"`
		}
		if err := json.Unmarshal(r.Response.Body, &said); err != nil {
			return err
		}
		fmt.Fprintf(a.err, "%s: %s\n", r.Name, said.Error.Message)
		return nil
	}
	for _, w := range r.Response.Warnings {
		fmt.Fprintf(a.err, "%s: %s\n", r.Name, w)
	}
	var text string
	if json.Unmarshal(r.Response.Body, &text) != nil {
		text = string(r.Response.Body) + "\n" // an object
	}
	// The server does not choose where files go.
	if !filepath.IsLocal(filepath.FromSlash(r.Name)) {
		return fmt.Errorf("the server names a file %q, which was not sent", r.Name)
	}
	name := filepath.Join(to, filepath.FromSlash(r.Name)+suffix)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(text), 0o644)
}
