package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"quern/cmd/quern/internal/remote"
	"quern/cmd/quern/internal/settings"
	"quern/cmd/quern/internal/terminal"
	"quern/engine/local"
	"quern/httpapi"
	"quern/httpapi/batch"
	"quern/httpapi/jobs"
)

type batchOptions struct {
	server, key, window, output, id string
	audio, format, ear, language    string
}

func (a *app) batchCmd() *cobra.Command {
	var o batchOptions
	cmd := &cobra.Command{
		Use:   "batch FILE.jsonl",
		Short: "Run many requests of a file, or transcribe a folder",
		Long: `Runs the requests of a file, one a line, as OpenAI's batches have them:

  {"custom_id":"1","method":"POST","url":"/v1/chat/completions","body":{"messages":[…]}}

and writes the answers to FILE.output.jsonl, those that failed to FILE.errors.jsonl. "-"
is standard input, whose answers go to standard output.
All lines are of one endpoint: chat completions, completions, embeddings, responses or
audio transcriptions.

Without --server the models of the settings run in this process, which listens on no
port. With it the server does the work, and goes on when this command is ended; --follow
comes back to it.

--audio transcribes the files of a folder instead: talk.mp3 becomes talk.mp3.txt. Files
that have a text already are left out.`,
		Example: `  quern batch requests.jsonl
  quern batch requests.jsonl --server http://gpu:8080 --key "$KEY"
  ./requests.sh | quern batch - > answers.jsonl
  quern batch --audio recordings --model whisper-base
  quern batch --server http://gpu:8080 --follow batch_0660eaf55909184310f6cdae08bff1`,
		Args: func(cmd *cobra.Command, args []string) error {
			given := len(args)
			for _, name := range []string{"audio", "follow"} {
				if cmd.Flags().Changed(name) {
					given++
				}
			}
			if given != 1 {
				return usageError{errors.New("name one file of requests, or a folder with --audio, or a batch with --follow")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.batch(cmd, args, o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.server, "server", "", "`address` of a server that does the work")
	f.StringVar(&o.key, "key", "", "API `key` of the server (default QUERN_API_KEY)")
	f.StringVar(&o.window, "window", "24h", "`time` after which what is not done is given up, in m, h or d")
	f.StringVarP(&o.output, "output", "o", "", "`file` for the answers, - is standard output; with --audio a folder")
	f.StringVar(&o.id, "follow", "", "`batch` of the server that was begun before")
	f.StringVar(&o.audio, "audio", "", "transcribe the files of this `folder`")
	f.StringVar(&o.format, "format", "text", "with --audio: `name` of a format: text, srt, vtt or json")
	f.StringVar(&o.language, "language", "", "with --audio: `code` of the language (default found out)")
	f.StringVar(&o.ear, "recogniser", "", "with --audio: `name` of the model (default the only one there is)")
	settings.AddFlags(cmd)
	return cmd
}

func (a *app) batch(cmd *cobra.Command, args []string, o batchOptions) (err error) {
	if o.audio == "" {
		if err := idle(cmd, "it is for --audio", "format", "language", "recogniser"); err != nil {
			return err
		}
	} else if transcriptSuffixes[o.format] == "" {
		return usageError{fmt.Errorf("--format must be one of text, srt, vtt and json, got %q", o.format)}
	}
	if _, err := batch.Within(o.window); err != nil { // before anything is sent
		return usageError{fmt.Errorf("--window %w", err)}
	}
	if o.id != "" {
		if o.server == "" {
			return usageError{errors.New("--follow needs --server: the batches of this command end with it")}
		}
		if err := idle(cmd, "the batch has begun with one", "window"); err != nil {
			return err
		}
	}
	if o.server != "" {
		if err := idle(cmd, "the server has settings of its own", settings.Given(cmd)...); err != nil {
			return err
		}
		if o.server, err = remote.Address(o.server); err != nil {
			return usageError{fmt.Errorf("--server: %w", err)}
		}
	} else if err := idle(cmd, "it is for --server", "key"); err != nil {
		return err
	}
	ctx, stop := signals(cmd.Context(), stopSignals()...)
	defer stop()
	c, done, err := a.batchServer(ctx, cmd, o)
	if err != nil {
		return err
	}
	defer done()
	if o.audio != "" {
		return a.batchAudio(ctx, c, o)
	}
	if o.id != "" {
		return a.follow(ctx, c, o.id, o, o.id) // which can be done again
	}
	name := args[0]
	f, err := a.openRequests(name)
	if err != nil {
		return err
	}
	if name == "-" {
		defer os.Remove(f.Name()) // where that was not possible while it was open
		name, o.output = "standard input", cmp.Or(o.output, "-")
	}
	defer f.Close()
	endpoint, err := endpointOf(f)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	base := strings.TrimSuffix(name, ".jsonl")
	if o.output != "-" {
		if err := writable(filepath.Dir(o.answers(base))); err != nil {
			return err
		}
	}
	in, err := c.Upload(ctx, filepath.Base(name), batch.ForBatch, f)
	if err != nil {
		return err
	}
	b, err := c.Start(ctx, in.ID, endpoint, o.window)
	if err != nil {
		return err
	}
	return a.follow(ctx, c, b.ID, o, base)
}

// openRequests opens a file of requests, "-" being standard input: it is copied to a file without
// a name, since its first line is read before the others are sent.
func (a *app) openRequests(name string) (f *os.File, err error) {
	if name != "-" {
		return os.Open(name)
	}
	if terminal.Is(a.in) {
		return nil, usageError{errors.New("standard input is a terminal; send requests there with < FILE, or name a file")}
	}
	if f, err = os.CreateTemp("", "quern-batch-*"); err != nil {
		return nil, err
	}
	os.Remove(f.Name()) // so that nothing is left however this ends; Windows removes no open file
	if _, err = io.Copy(f, a.in); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("standard input: %w", err)
	}
	return f, nil
}

// batchServer is where a batch runs: the server that is named, or one of this process,
// which ends with done.
func (a *app) batchServer(ctx context.Context, cmd *cobra.Command, o batchOptions) (c *remote.Client, done func(), err error) {
	if o.server != "" {
		key, _ := a.env("QUERN_API_KEY")
		return &remote.Client{Base: o.server, Key: strings.TrimSpace(cmp.Or(o.key, key)), HTTP: http.DefaultClient}, func() {}, nil
	}
	s, err := a.load(cmd)
	if err != nil {
		return nil, nil, err
	}
	log := a.logger(s)
	setProcs(s.Threads)
	if err := a.resolveHub(ctx, s, log); err != nil {
		return nil, nil, err
	}
	bars := a.progress("loading")
	eo := s.EngineOptions(log)
	eo.Progress = bars.Update
	e, err := local.New(eo)
	if err != nil {
		return nil, nil, err
	}
	dir, err := os.MkdirTemp("", "quern-batch")
	if err != nil {
		e.Close()
		return nil, nil, err
	}
	ending := []func(){func() { os.RemoveAll(dir) }, func() { e.Close() }, bars.Wait}
	done = func() {
		for i := range ending {
			ending[len(ending)-1-i]()
		}
	}
	jo, _ := s.JobsOptions(dir, log)
	jo.Servers, jo.Dir = nil, dir
	queue, err := jobs.New(jo)
	if err != nil {
		done()
		return nil, nil, err
	}
	ending = append(ending, queue.Close)
	ao := s.APIOptions(e, thisBuild().Version, log)
	ao.Jobs, ao.Keys, ao.Upload = queue, nil, localUpload
	api, err := httpapi.New(ao)
	if err != nil {
		done()
		return nil, nil, err
	}
	ln := remote.NewPipe()
	serving, stop := context.WithCancel(context.WithoutCancel(ctx)) // answers are read when ctx has ended
	served := make(chan error, 1)
	go func() { served <- api.Serve(serving, ln) }()
	ending = append(ending, work(serving, queue, api), func() { stop(); <-served })
	return &remote.Client{Base: "http://localhost", HTTP: ln.HTTP()}, done, nil
}

// localUpload is the size of a file that this process sends to itself.
const localUpload = 1 << 40

// endpointOf reads the endpoint of the first line, which is that of all, and seeks back.
func endpointOf(f io.ReadSeeker) (endpoint string, err error) {
	const longest = 64 << 20
	first := errors.New("found")
	err = batch.EachLine(f, longest, func(n int, raw []byte) error {
		l, bad := batch.ParseLine(n, raw)
		if bad != nil {
			return fmt.Errorf("line %d: %s", n, bad.Message)
		}
		endpoint = l.Endpoint
		return first
	})
	switch err {
	case first:
		_, err = f.Seek(0, io.SeekStart)
	case nil:
		err = errors.New("it has no lines")
	}
	return endpoint, err
}

// answers is the file for the answers of a batch whose files begin with base.
func (o *batchOptions) answers(base string) string { return cmp.Or(o.output, base+".output.jsonl") }

// writable returns an error if no files can be made in dir, before there is work that would be lost.
func writable(dir string) error {
	f, err := os.CreateTemp(dir, ".quern-batch-*")
	if err != nil {
		return fmt.Errorf("answers cannot be written: %w; name another place with --output", err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// follow shows how far a batch is, and writes its results to files that begin with
// base.
func (a *app) follow(ctx context.Context, c *remote.Client, id string, o batchOptions, base string) error {
	b, err := a.wait(ctx, c, id, o)
	if err != nil {
		return err
	}
	ctx = o.kept(ctx)
	out := o.answers(base)
	for _, x := range []struct {
		file *string
		name string
	}{{b.OutputFileID, out}, {b.ErrorFileID, strings.TrimSuffix(strings.TrimSuffix(out, ".jsonl"), ".output") + ".errors.jsonl"}} {
		if x.file == nil {
			continue
		}
		if x.name == "-" || x.name == "-.errors.jsonl" {
			if err := c.Content(ctx, *x.file, a.out); err != nil {
				return err
			}
			continue
		}
		if err := fetch(ctx, c, *x.file, x.name); err != nil {
			return err
		}
		fmt.Fprintln(a.err, x.name)
	}
	return a.outcome(b)
}

// kept is ctx for reading answers: those of this process are read although it was asked to end.
func (o *batchOptions) kept(ctx context.Context) context.Context {
	if o.server == "" {
		return context.WithoutCancel(ctx) // a second interrupt ends the process
	}
	return ctx
}

// wait follows a batch to its end. One of this process is cancelled when ctx ends, so that what was
// answered is not lost.
func (a *app) wait(ctx context.Context, c *remote.Client, id string, o batchOptions) (batch.Batch, error) {
	bar := a.progress("running")
	defer bar.Wait()
	b, err := c.Follow(ctx, id, func(b batch.Batch) {
		if n := b.Counts; n.Total > 0 {
			bar.Update(fmt.Sprintf("%d of %d lines", n.Completed+n.Failed, n.Total), float64(n.Completed+n.Failed)/float64(n.Total))
		}
	})
	switch {
	case ctx.Err() == nil:
		return b, err
	case o.server != "":
		return b, fmt.Errorf("%s goes on at the server; come back with --follow %s", id, id)
	}
	ctx = o.kept(ctx)
	if err := c.Cancel(ctx, id); err != nil {
		return b, err
	}
	return c.Follow(ctx, id, func(batch.Batch) {})
}

// outcome says how a batch ended.
func (a *app) outcome(b batch.Batch) error {
	if b.Errors != nil {
		for _, e := range b.Errors.Data {
			line := ""
			if e.Line != nil {
				line = fmt.Sprintf("line %d: ", *e.Line)
			}
			fmt.Fprintf(a.err, "%s%s\n", line, e.Message)
		}
	}
	n := b.Counts
	fmt.Fprintf(a.err, "%s: %d of %d lines answered, %d failed\n", b.Status, n.Completed, n.Total, n.Failed)
	if b.Status != batch.Completed || n.Failed > 0 {
		return exitError{exitFailure}
	}
	return nil
}

// fetch writes a file of the server to one here, whole or not at all.
func fetch(ctx context.Context, c *remote.Client, id, name string) error {
	w, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*.part")
	if err != nil {
		return err
	}
	defer os.Remove(w.Name()) // after a rename there is nothing to remove
	if err := errors.Join(c.Content(ctx, id, w), w.Chmod(0o644), w.Close()); err != nil {
		return err
	}
	return os.Rename(w.Name(), name)
}
