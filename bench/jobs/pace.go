package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"quern/bench/internal/must"
)

// pace measures lines a second of a batch that has a server to itself, and what chats wait for
// beside a batch and without one, in turns. Chats come one after the other at random
// times, so that they find whatever the batch is doing.
func pace(ctx context.Context, o *options) (err error) {
	defer must.Catch(&err)
	q := must.Get(newQuern(o, "quern"))
	defer q.kill()
	must.Do(q.start(ctx))
	bases := []string{q.base}
	began := time.Now()
	b := must.Get(begin(ctx, patient(bases), o.lines, o.tokens))
	must.Do(finish(ctx, bases, b.ID, o.lines))
	fmt.Printf("%.0f lines a second, %d tokens each\n", float64(o.lines)/time.Since(began).Seconds(), o.tokens)

	const turns = 4
	var first, whole [2][]time.Duration // without and with a batch
	var lines int
	var during time.Duration
	for turn := range 2 * turns {
		with := turn % 2
		if with == 1 {
			b = must.Get(begin(ctx, patient(bases), 50_000, o.tokens))
			must.Do(running(ctx, bases, b.ID))
		}
		began, before := time.Now(), 0
		if with == 1 {
			b = must.Get(look(ctx, bases, b.ID))
			before = b.Counts.Completed
		}
		r := rand.New(rand.NewPCG(o.seed, uint64(turn/2))) // the same times with and without
		for i := range o.chats / turns {
			must.Do(wait(ctx, time.Duration(r.ExpFloat64()*float64(o.pause))))
			times := must.Get(ask(ctx, q.base, fmt.Sprintf("Tell me about %d in the turn %d.", i, turn), 8))
			first[with] = append(first[with], times[0])
			whole[with] = append(whole[with], times[len(times)-1])
		}
		if with == 1 {
			now, err := look(ctx, bases, b.ID)
			if err != nil || now.Status != "in_progress" {
				return fmt.Errorf("the batch was %s when the chats were over (%v); ask fewer chats", now.Status, err)
			}
			lines += now.Counts.Completed - before
			during += time.Since(began)
			must.Get(call(ctx, bases, "POST", "/v1/batches/"+b.ID+"/cancel", "", nil))
			must.Do(ended(ctx, bases, b.ID))
		}
	}
	fmt.Printf("%.1f lines a second beside chats\n", float64(lines)/during.Seconds())
	compare("first token", first)
	compare("whole answer", whole)
	return steady(ctx, o, q.base)
}

// compare prints how long something took without a batch and with one.
func compare(what string, took [2][]time.Duration) {
	for _, p := range []int{50, 95, 99} {
		var at [2]time.Duration
		for i, l := range took {
			slices.Sort(l)
			at[i] = l[min(len(l)*p/100, len(l)-1)]
		}
		fmt.Printf("%s, %d of 100: %v without a batch, %v with: %.2f times\n", what, p, at[0].Round(time.Microsecond), at[1].Round(time.Microsecond), at[1].Seconds()/at[0].Seconds())
	}
}

// steady measures what a batch does beside a reply that goes on all the time, and the gaps
// between the tokens of that.
func steady(ctx context.Context, o *options, base string) (err error) {
	defer must.Catch(&err)
	const replies = 4
	var gaps [2][]time.Duration
	var lines int
	var during time.Duration
	for with := range 2 {
		var b status
		if with == 1 {
			b = must.Get(begin(ctx, patient([]string{base}), 50_000, o.tokens))
			must.Do(running(ctx, []string{base}, b.ID))
			b = must.Get(look(ctx, []string{base}, b.ID))
		}
		began := time.Now()
		for i := range replies {
			times := must.Get(ask(ctx, base, fmt.Sprintf("Tell all about %d.", i), o.steady))
			for i := range times[1:] {
				gaps[with] = append(gaps[with], times[i+1]-times[i])
			}
		}
		if with == 1 {
			during = time.Since(began)
			now, err := look(ctx, []string{base}, b.ID)
			if err != nil || now.Status != "in_progress" {
				return fmt.Errorf("the batch was %s when the replies were over (%v); ask for less", now.Status, err)
			}
			lines = now.Counts.Completed - b.Counts.Completed
		}
	}
	fmt.Printf("%.1f lines a second beside a reply that goes on\n", float64(lines)/during.Seconds())
	compare("between tokens", gaps)
	return nil
}

// running waits until lines of a batch run.
func running(ctx context.Context, bases []string, id string) error {
	for {
		b, err := look(ctx, bases, id)
		if err != nil || b.Counts.Completed > 0 {
			return err
		}
		if err := wait(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}

func ended(ctx context.Context, bases []string, id string) error {
	for {
		b, err := look(ctx, bases, id)
		if err != nil || b.Status == "cancelled" {
			return err
		}
		if err := wait(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}

// ask has a chat of so many tokens answered, and returns when each event with some came, from the
// request on, and when all was over.
func ask(ctx context.Context, base, text string, tokens int) (times []time.Duration, err error) {
	body := fmt.Sprintf(`{"messages":[{"role":"user","content":%q}],"max_tokens":%d,"ignore_eos":true,"stream":true}`, text, tokens)
	r, err := http.NewRequestWithContext(ctx, "POST", base+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	began := time.Now()
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != 200 {
		return nil, fmt.Errorf("a chat was answered %s", resp.Status)
	}
	s := bufio.NewScanner(resp.Body)
	for s.Scan() {
		if strings.Contains(s.Text(), `"content":"`) && !strings.Contains(s.Text(), `"content":""`) {
			times = append(times, time.Since(began))
		}
	}
	if err := s.Err(); err != nil {
		return nil, err
	}
	if len(times) == 0 {
		return nil, errors.New("a chat said nothing")
	}
	return append(times, time.Since(began)), nil
}
