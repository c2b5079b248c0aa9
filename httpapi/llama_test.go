package httpapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"quern/engine"
	"quern/engine/token"
	"quern/httpapi"
)

// Infill writes what it is asked between marks; models without templates have none.
func (f *fake) Infill(ctx context.Context, r engine.InfillRequest) (engine.TokenizeResult, error) {
	f.filled.Store(&r)
	if *f.asked.Load() == baseModel {
		code, param := engine.CodeModelNotSupported, "model"
		if r.Param != "" {
			code, param = engine.CodeUnsupportedParam, r.Param
		}
		return engine.TokenizeResult{}, engine.Errorf(code, param, "model %q has no tokens to fill in the middle with", baseModel)
	}
	text := ""
	for _, file := range r.Files {
		text += "<SEP> " + file.Name + " " + file.Text + " "
	}
	text += "<PRE> " + r.Prefix + r.Prompt + " <SUF> " + r.Suffix + " <MID>"
	return f.Tokenize(ctx, engine.TokenizeRequest{Prompt: engine.Prompt{Text: text}})
}

// told reads what a request without a body is answered with.
func told(t *testing.T, a http.Handler, path string, out any) int {
	t.Helper()
	s := newServerOf(t, a.(*httpapi.API))
	r, err := s.Client().Get(s.URL + path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if err := json.NewDecoder(r.Body).Decode(out); err != nil {
		t.Fatal(err)
	}
	return r.StatusCode
}

func TestLlamaProps(t *testing.T) {
	a := newAPI(t, httpapi.Options{Version: "1.2"})
	var got struct {
		Defaults struct {
			Context int            `json:"n_ctx"`
			Params  map[string]any `json:"params"`
		} `json:"default_generation_settings"`
		Slots      int    `json:"total_slots"`
		Alias      string `json:"model_alias"`
		Path       string `json:"model_path"`
		Template   string `json:"chat_template"`
		BOS        string `json:"bos_token"`
		EOS        string `json:"eos_token"`
		Modalities map[string]bool
		Build      string `json:"build_info"`
		Sleeping   bool   `json:"is_sleeping"`
	}
	if status := told(t, a, "/props", &got); status != 200 || got.Defaults.Context != fakeContext || got.Slots != 4 || got.Alias != chatModel || got.Path != chatModel ||
		got.Template != "{{ messages }}" || got.BOS != "<s>" || got.EOS != "</s>" || len(got.Modalities) != 2 || got.Build != "quern 1.2" || got.Sleeping {
		t.Errorf("status %d, %+v", status, got)
	}
	if p := got.Defaults.Params; p["n_predict"] != -1.0 || p["seed"] != float64(math.MaxUint32) || p["top_k"] == nil || p["temperature"] == nil {
		t.Errorf("settings %v", p)
	}
	if told(t, a, "/props?model="+baseModel, &got); got.Alias != baseModel || got.Template != "" || !got.Sleeping {
		t.Errorf("%+v", got)
	}
	for _, tt := range []struct{ method, path, code string }{
		{"GET", "/props?model=absent", "model_not_found"}, {"GET", "/slots?model=" + embedModel, "model_not_supported"},
		{"POST", "/props", "not_implemented"}, {"POST", "/slots/0?action=erase", "not_implemented"},
		{"POST", "/lora-adapters", "not_implemented"}, {"GET", "/lora-adapters?model=absent", "model_not_found"},
	} {
		s := newServerOf(t, a)
		r, err := http.NewRequest(tt.method, s.URL+tt.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := s.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		var f failure
		if err := json.NewDecoder(resp.Body).Decode(&f); err != nil || f.Error.Code == nil || *f.Error.Code != tt.code {
			t.Errorf("%s %s: %d %+v, %v", tt.method, tt.path, resp.StatusCode, f, err)
		}
		resp.Body.Close()
	}
}

// TestLlamaSlots: as many slots are busy as sequences are in work.
func TestLlamaSlots(t *testing.T) {
	for busy, want := range map[int64]int{0: 200, 3: 200, 4: 503} {
		f := &fake{}
		f.running.Store(busy)
		a := newAPI(t, httpapi.Options{Engine: f})
		var slots []struct {
			ID         int
			Context    int  `json:"n_ctx"`
			Processing bool `json:"is_processing"`
		}
		if status := told(t, a, "/slots", &slots); status != 200 || len(slots) != 4 {
			t.Fatalf("status %d, %v", status, slots)
		}
		for i, s := range slots {
			if s.ID != i || s.Context != fakeContext || s.Processing != (int64(i) < busy) {
				t.Errorf("%d busy: %+v", busy, slots)
			}
		}
		var any json.RawMessage
		if status := told(t, a, "/slots?fail_on_no_slot=1", &any); status != want {
			t.Errorf("%d busy: status %d, want %d", busy, status, want)
		}
	}
}

// A completed is an answer of /completion or /infill, or a chunk of one.
type completed struct {
	Index     int
	Content   string
	Tokens    []token.ID
	Stop      bool
	Slot      int `json:"id_slot"`
	Predicted int `json:"tokens_predicted"`
	Evaluated int `json:"tokens_evaluated"`
	Probs     []struct {
		ID      token.ID
		Token   string
		Logprob float32
		Top     []struct {
			ID    token.ID
			Token string
		} `json:"top_logprobs"`
	} `json:"completion_probabilities"`
	Model    string
	Settings map[string]any `json:"generation_settings"`
	Prompt   string
	NewLine  *bool  `json:"has_new_line"`
	StopType string `json:"stop_type"`
	StopWord string `json:"stopping_word"`
	Cached   int    `json:"tokens_cached"`
	Timings  map[string]float64
}

// chunks are the events of a stream, which ends without a mark.
func chunks(t *testing.T, r io.Reader) (out []completed) {
	t.Helper()
	for lines := bufio.NewScanner(r); lines.Scan(); {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var c completed
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		out = append(out, c)
	}
	return out
}

// TestLlamaCompletion: what a stream says is together what the whole answer says.
func TestLlamaCompletion(t *testing.T) {
	const body = `"model":"stub-chat","prompt":"Once upon","n_predict":5,"temperature":0.5,"seed":7,"n_probs":3,"return_tokens":true,"stop":["zebra"],"logit_bias":[[5,false],[6,1.5]]}`
	f := &fake{}
	s := newServer(t, httpapi.Options{Engine: f})
	var whole completed
	if err := json.NewDecoder(post(t, s, "/completion", `{`+body).Body).Decode(&whole); err != nil {
		t.Fatal(err)
	}
	if bias := f.last.Load().Sample.Bias; bias[5] != -100 || bias[6] != 1.5 || len(bias) != 2 {
		t.Errorf("bias %v", bias)
	}
	all := chunks(t, post(t, s, "/completion", `{"stream":true,`+body).Body)
	last := all[len(all)-1]
	text, ids := "", []token.ID{}
	for i, c := range all {
		if c.Stop != (i == len(all)-1) || c.Evaluated != 2 || c.Slot != -1 || c.Predicted != min(i+1, 5) {
			t.Errorf("chunk %d: %+v", i, c)
		}
		text += c.Content
		ids = append(ids, c.Tokens...)
	}
	if whole.Content != "The fox is asleep, na\u00efve " || text != whole.Content || len(ids) != 5 || !slices.Equal(ids, whole.Tokens) {
		t.Errorf("whole %q %v, stream %q %v", whole.Content, whole.Tokens, text, ids)
	}
	for name, c := range map[string]completed{"whole": whole, "last": last} {
		if !c.Stop || c.Predicted != 5 || c.Evaluated != 2 || c.Cached != 1 || c.Model != chatModel || c.Prompt != "Once upon" || c.StopType != "limit" || c.NewLine == nil || *c.NewLine {
			t.Errorf("%s: %+v", name, c)
		}
		if s := c.Settings; s["n_predict"] != 5.0 || s["temperature"] != 0.5 || s["seed"] != 7.0 || s["n_probs"] != 3.0 || !reflect.DeepEqual(s["stop"], []any{"zebra"}) {
			t.Errorf("%s: settings %v", name, s)
		}
		if m := c.Timings; m["prompt_n"] != 1 || m["cache_n"] != 1 || m["predicted_n"] != 5 || m["prompt_ms"] != 18 || m["predicted_per_token_ms"] != 14.2 {
			t.Errorf("%s: timings %v", name, m)
		}
	}
	if p := whole.Probs; len(p) != 5 || p[0].Token != "The " || p[0].ID != whole.Tokens[0] || len(p[0].Top) != 3 || p[0].Top[0].ID != p[0].ID || p[0].Top[1].Token != "alt1" {
		t.Errorf("probabilities %+v", p)
	}
	if !reflect.DeepEqual(all[2].Probs, whole.Probs[2:3]) {
		t.Errorf("probabilities %+v in a chunk", all[2].Probs)
	}
}

// TestLlamaFields: what else is asked for reaches the model, or is refused by name.
func TestLlamaFields(t *testing.T) {
	for _, tt := range []struct {
		name, body string
		status     int
		param      string
		ok         func(r *engine.GenerateRequest, answer string) bool
	}{
		{"no limit", `"prompt":"a"`, 200, "", func(r *engine.GenerateRequest, _ string) bool {
			return r.MaxTokens == 0 && !r.NoTokens && !r.Sample.Logprobs
		}},
		{"the prompt only", `"prompt":"a","n_predict":0`, 200, "", func(r *engine.GenerateRequest, s string) bool {
			return r.NoTokens && strings.Contains(s, `"content":""`)
		}},
		{"tokens", `"prompt":[1,2,3],"n_predict":1`, 200, "", func(r *engine.GenerateRequest, s string) bool {
			return len(r.Prompt.Tokens) == 0 || strings.Contains(s, `"prompt":"<1><2><3>"`)
		}},
		{"several", `"prompt":["a","b"],"n":2,"n_predict":1`, 200, "", func(_ *engine.GenerateRequest, s string) bool {
			var list []completed
			return json.Unmarshal([]byte(s), &list) == nil && len(list) == 4 && list[3].Index == 3 && list[3].Prompt == "b" && list[1].Content == "fox "
		}},
		{"a stop", `"prompt":"a","stop":["asleep"]`, 200, "", func(_ *engine.GenerateRequest, s string) bool {
			return strings.Contains(s, `"stop_type":"word","stopping_word":"asleep"`) && strings.Contains(s, `"content":"The fox is "`)
		}},
		{"the end", `"prompt":"a"`, 200, "", func(_ *engine.GenerateRequest, s string) bool {
			return strings.Contains(s, `"stop_type":"eos","stopping_word":""`)
		}},
		{"samplers", `"prompt":"a","samplers":["top_k","infill"],"top_k":9,"top_p":0.5,"min_p":0.1,"temperature":0,"repeat_penalty":2`, 200, "", func(r *engine.GenerateRequest, _ string) bool {
			p := r.Sample
			return p.TopK == 9 && p.TopP == 1 && p.MinP == 0 && p.Temperature == 1 && p.RepeatPenalty == 1
		}},
		{"all samplers", `"prompt":"a","samplers":["penalties","dry","top_k","typ_p","top_p","min_p","xtc","temperature"],"top_p":0.5,"min_p":0.1,"temperature":0`, 200, "", func(r *engine.GenerateRequest, _ string) bool {
			return r.Sample.TopP == 0.5 && r.Sample.MinP == 0.1 && r.Sample.Temperature == 0
		}},
		{"fields of the answer", `"prompt":"a","n_predict":1,"response_fields":["content","timings/predicted_n","absent","absent/x","generation_settings/n_predict"]`, 200, "", func(_ *engine.GenerateRequest, s string) bool {
			return strings.TrimSpace(s) == `{"content":"The ","generation_settings/n_predict":1,"timings/predicted_n":1}`
		}},
		{"no fields", `"prompt":"a","n_predict":0,"response_fields":[""]`, 200, "", func(_ *engine.GenerateRequest, s string) bool { return strings.TrimSpace(s) == `{}` }},
		{"off", `"prompt":"a","mirostat":0,"dry_multiplier":0.0,"xtc_probability":0,"lora":[],"id_slot":-1,"cache_prompt":true,"grammar":"","post_sampling_probs":false`, 200, "", nil},
		{"no prompt", `"n_predict":1`, 400, "prompt", nil},
		{"mirostat", `"prompt":"a","mirostat":2`, 400, "mirostat", nil},
		{"DRY", `"prompt":"a","dry_multiplier":0.8`, 400, "dry_multiplier", nil},
		{"adapters", `"prompt":"a","lora":[{"id":0,"scale":1}]`, 400, "lora", nil},
		{"other probabilities", `"prompt":"a","post_sampling_probs":true`, 400, "post_sampling_probs", nil},
		{"many probabilities", `"prompt":"a","n_probs":21`, 400, "n_probs", nil},
		{"two forms", `"prompt":"a","grammar":"root ::= \"a\"","json_schema":{}`, 400, "grammar", nil},
		{"a bias of text", `"prompt":"a","logit_bias":[["a",1]]`, 400, "logit_bias[0]", nil},
		{"a bias of three", `"prompt":"a","logit_bias":[[1,1,1]]`, 400, "logit_bias[0]", nil},
		{"images", `"prompt":{"prompt_string":"a","multimodal_data":["eA=="]}`, 400, "prompt", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := &fake{}
			r := post(t, newServer(t, httpapi.Options{Engine: f}), "/completion", `{`+tt.body+`}`)
			if tt.status != 200 {
				code := "invalid_value"
				b, _ := io.ReadAll(r.Body)
				var fail failure
				if err := json.Unmarshal(b, &fail); err != nil || r.StatusCode != tt.status || fail.Error.Param == nil || *fail.Error.Param != tt.param {
					t.Errorf("%d %s, want %d for %s (%s)", r.StatusCode, b, tt.status, tt.param, code)
				}
				return
			}
			b, err := io.ReadAll(r.Body)
			if err != nil || r.StatusCode != 200 || tt.ok != nil && !tt.ok(f.last.Load(), string(b)) {
				t.Errorf("%d %s, %v; asked %+v", r.StatusCode, b, err, f.last.Load())
			}
		})
	}
}

// TestLlamaEmbedding: texts become vectors, one list of them a text.
func TestLlamaEmbedding(t *testing.T) {
	for _, tt := range []struct {
		fields string
		n      int
		raw    bool
		field  string // of the texts
		want   string // of a refusal
	}{
		{`"content":"a b"`, 1, false, "content", ""},
		{`"content":["a","b"],"embd_normalize":-1`, 2, true, "content", ""},
		{`"input":[1,2]`, 1, false, "input", ""},
		{``, 0, false, "", "content is required"},
		{`"content":"a","embd_normalize":1`, 0, false, "", "embd_normalize: 1 is not supported"},
	} {
		f := &fake{}
		r := post(t, newServer(t, httpapi.Options{Engine: f}), "/embedding", strings.Replace(`{"model":"`+embedModel+`",`+tt.fields+`}`, ",}", "}", 1))
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		if tt.want != "" {
			if r.StatusCode != 400 || !strings.Contains(string(b), tt.want) {
				t.Errorf("%s: %d %s", tt.fields, r.StatusCode, b)
			}
			continue
		}
		var out []struct {
			Index     int
			Embedding [][]float32
		}
		if err := json.Unmarshal(b, &out); err != nil || len(out) != tt.n || out[tt.n-1].Index != tt.n-1 || len(out[0].Embedding) != 1 || len(out[0].Embedding[0]) != 96 || f.seen.Load().Raw != tt.raw || f.seen.Load().Param != tt.field {
			t.Errorf("%s: %v, %s", tt.fields, err, b)
		}
	}
}

// TestLlamaInfill: an editor's request, as llama.vim sends it, is laid out by the engine and
// answered like a completion. A model without the tokens for it is refused by name.
func TestLlamaInfill(t *testing.T) {
	const body = `"model":"stub-chat","input_prefix":"func f() {\n","input_suffix":"}\n","input_extra":[{"filename":"a.go","text":"package a"},{"text":"b"}],"prompt":"\treturn","n_predict":3,
		"top_k":40,"top_p":0.9,"samplers":["top_k","top_p","infill"],"cache_prompt":true,"t_max_prompt_ms":500,"t_max_predict_ms":1000,"n_indent":0}`
	f := &fake{}
	s := newServer(t, httpapi.Options{Engine: f})
	var got completed
	if err := json.NewDecoder(post(t, s, "/infill", `{"stream":false,`+body).Body).Decode(&got); err != nil {
		t.Fatal(err)
	}
	want := engine.InfillRequest{Prefix: "func f() {\n", Suffix: "}\n", Prompt: "\treturn", Files: []engine.File{{Name: "a.go", Text: "package a"}, {Text: "b"}}, Cut: true, Reply: 3}
	if r := f.filled.Load(); !reflect.DeepEqual(*r, want) {
		t.Errorf("asked %+v, want %+v", *r, want)
	}
	if got.Content != "The fox is " || got.Prompt != "<SEP> a.go package a <SEP>  b <PRE> func f() {\n\treturn <SUF> }\n <MID>" || got.StopType != "limit" {
		t.Errorf("%+v", got)
	}
	if all := chunks(t, post(t, s, "/infill", `{"stream":true,`+body).Body); len(all) != 4 || all[3].Prompt != got.Prompt {
		t.Errorf("%+v", all)
	}
	for _, tt := range []struct{ path, body, code, param string }{
		{"/infill", `{"model":"` + baseModel + `","input_prefix":"a","input_suffix":"b"}`, "model_not_supported", "model"},
		{"/infill", `{"input_suffix":"b"}`, "missing_required_parameter", "input_prefix"},
		{"/infill", `{"input_prefix":"b"}`, "missing_required_parameter", "input_suffix"},
		{"/infill", `{"input_prefix":"a","input_suffix":"b","input_extra":[{"filename":"x"}]}`, "missing_required_parameter", "input_extra[0].text"},
		{"/infill", `{"input_prefix":"a","input_suffix":"b","input_extra":"x"}`, "invalid_type", "input_extra"},
		{"/infill", `{"input_prefix":"a","input_suffix":"b","prompt":["x"]}`, "invalid_type", "prompt"},
	} {
		wantFailure(t, post(t, s, tt.path, tt.body), 400, tt.code, tt.param)
	}
}

// TestSuffix: the other dialects fill in as well, and cut nothing.
func TestSuffix(t *testing.T) {
	f := &fake{}
	s := newServer(t, httpapi.Options{Engine: f})
	for path, body := range map[string]string{
		"/v1/completions": `{"model":"stub-chat","prompt":"before","suffix":"behind","max_tokens":2}`,
		"/api/generate":   `{"model":"stub-chat","prompt":"before","suffix":"behind","stream":false,"options":{"num_predict":2}}`,
	} {
		r := post(t, s, path, body)
		b, err := io.ReadAll(r.Body)
		if err != nil || r.StatusCode != 200 || !strings.Contains(string(b), `"The fox `) {
			t.Errorf("%s: %d %s, %v", path, r.StatusCode, b, err)
		}
		if got, want := *f.filled.Load(), (engine.InfillRequest{Prefix: "before", Suffix: "behind", Param: "suffix"}); !reflect.DeepEqual(got, want) {
			t.Errorf("%s asks for %+v, want %+v", path, got, want)
		}
	}
	r := post(t, s, "/api/generate", `{"model":"`+baseModel+`","prompt":"before","suffix":"behind"}`)
	if b, _ := io.ReadAll(r.Body); r.StatusCode != 400 || !strings.Contains(string(b), "fill in the middle") {
		t.Errorf("%d %s", r.StatusCode, b)
	}
}

// TestLlamaTemplate: /apply-template is the prompt of a chat; /tokenize pairs tokens with
// their texts.
func TestLlamaTemplate(t *testing.T) {
	s := newServer(t, httpapi.Options{})
	for _, tt := range []struct{ path, body, want string }{
		{"/apply-template", `{"messages":[{"role":"user","content":"hi"}]}`, `{"prompt":"<|user|> hi\n"}`},
		{"/tokenize", `{"content":"Hello wide","add_special":false,"with_pieces":true}`, `{"tokens":[{"id":1003,"piece":"Hello"},{"id":1004,"piece":" wide"}],"count":2,"max_model_len":8192}`},
	} {
		b, err := io.ReadAll(post(t, s, tt.path, tt.body).Body)
		if got := strings.TrimSpace(string(b)); err != nil || got != tt.want {
			t.Errorf("%s: %s, %v; want %s", tt.path, got, err, tt.want)
		}
	}
	wantFailure(t, post(t, s, "/apply-template", `{}`), 400, "missing_required_parameter", "messages")
	wantFailure(t, post(t, s, "/apply-template", `{"model":"`+baseModel+`","messages":[{"role":"user","content":"hi"}]}`), 400, "model_not_supported", "model")
}
