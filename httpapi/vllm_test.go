package httpapi_test

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"quern/engine"
	"quern/httpapi"
)

// Classify takes the length of a text for its mood.
func (f *fake) Classify(ctx context.Context, r engine.ClassifyRequest) (engine.ClassifyResult, error) {
	res := engine.ClassifyResult{Labels: []string{"long", "short"}}
	for _, in := range r.Inputs {
		p := min(1, float32(len(in.Text)+len(in.Tokens))/100)
		if r.Logits {
			p = 7
		}
		res.Probabilities = append(res.Probabilities, []float32{p, 1 - p})
		res.PromptTokens += max(len(in.Tokens), len(f.encode(in.Text)))
	}
	return res, ctx.Err()
}

// TestScore: one text is scored with each of several, or each with its own.
func TestScore(t *testing.T) {
	s := newServer(t, httpapi.Options{})
	for _, tt := range []struct {
		name, body string
		want       []float32
	}{
		{"one and one", `{"text_1":"red panda","text_2":"red"}`, []float32{1}},
		{"one and several", `{"text_1":"red panda","text_2":["a bicycle","red panda","a panda"]}`, []float32{0, 1, 0.5}},
		{"each with its own", `{"text_1":["red","blue"],"text_2":["red","red"],"truncate_prompt_tokens":-1}`, []float32{1, 0}},
		{"by other names", `{"queries":"red","documents":["red","blue"],"truncate_prompt_tokens":-1}`, []float32{1, 0}},
		{"by the names of others", `{"queries":["red"],"items":["red","blue"],"truncate_prompt_tokens":-1}`, []float32{1, 0}},
		{"by the oldest names", `{"data_1":"red","data_2":"red","use_activation":true,"truncate_prompt_tokens":-1}`, []float32{1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, path := range []string{"/score", "/v1/score"} {
				var got struct {
					ID, Object, Model string
					Created           int64
					Data              []struct {
						Index  int
						Object string
						Score  float32
					}
					Usage map[string]int
				}
				r := post(t, s, path, tt.body)
				if err := json.NewDecoder(r.Body).Decode(&got); err != nil || r.StatusCode != 200 {
					t.Fatalf("status %d, %v", r.StatusCode, err)
				}
				var scores []float32
				for i, d := range got.Data {
					if d.Index != i || d.Object != "score" {
						t.Errorf("%+v", d)
					}
					scores = append(scores, d.Score)
				}
				if !strings.Contains(tt.body, "truncate") { // what is not cut tells the test so
					tt.want[0] = 9
				}
				if !reflect.DeepEqual(scores, tt.want) || got.Object != "list" || got.Model != embedModel || got.Created == 0 || !strings.HasPrefix(got.ID, "score-") ||
					got.Usage["prompt_tokens"] == 0 || got.Usage["total_tokens"] != got.Usage["prompt_tokens"] {
					t.Errorf("scores %v, want %v; %+v", scores, tt.want, got)
				}
			}
		})
	}
	many := `["a"` + strings.Repeat(`,"a"`, 2048) + `]`
	for body, want := range map[string][2]string{
		`{}`:              {"missing_required_parameter", "text_1"},
		`{"queries":"a"}`: {"missing_required_parameter", "documents"},
		`{"text_1":["a","b"],"text_2":["a","b","c"]}`:              {"invalid_value", "text_2"},
		`{"text_1":"a","text_2":[]}`:                               {"invalid_value", "text_2"},
		`{"text_1":"a","text_2":[1]}`:                              {"invalid_type", "text_2[0]"},
		`{"text_1":{"content":[]},"text_2":"a"}`:                   {"invalid_type", "text_1"},
		`{"text_1":"a","text_2":` + many + `}`:                     {"invalid_value", "text_2"},
		`{"text_1":"a","text_2":"b","use_activation":false}`:       {"unsupported_parameter", "use_activation"},
		`{"text_1":"a","text_2":"b","truncate_prompt_tokens":7}`:   {"unsupported_parameter", "truncate_prompt_tokens"},
		`{"model":"` + classModel + `","text_1":"a","text_2":"b"}`: {"model_not_supported", "model"},
		`{"model":"absent","text_1":"a","text_2":"b"}`:             {"model_not_found", "model"},
	} {
		status := 400
		if want[0] == "model_not_found" {
			status = 404
		}
		wantFailure(t, post(t, s, "/v1/score", body), status, want[0], want[1])
	}
}

// TestClassify: the likeliest label, and the probabilities of all.
func TestClassify(t *testing.T) {
	s := newServer(t, httpapi.Options{})
	long, nine := strings.Repeat("x", 90), float32(0.9)
	for _, tt := range []struct {
		name, body string
		labels     []string
		probs      []float32 // of the first
	}{
		{"a text", `{"input":"0123456789"}`, []string{"short"}, []float32{0.1, 0.9}},
		{"texts", `{"model":"` + classModel + `","input":["` + long + `","a"]}`, []string{"long", "short"}, []float32{0.9, 1 - nine}},
		{"tokens", `{"input":[[1,2],[3]],"truncate_prompt_tokens":-1}`, []string{"short", "short"}, []float32{0.02, 0.98}},
		{"logits", `{"input":"a","use_activation":false}`, []string{"long"}, []float32{7, -6}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, path := range []string{"/classify", "/v1/classify"} {
				var got struct {
					ID, Object, Model string
					Data              []struct {
						Index int
						Label string
						Probs []float32
						N     int `json:"num_classes"`
					}
					Usage map[string]int
				}
				r := post(t, s, path, tt.body)
				if err := json.NewDecoder(r.Body).Decode(&got); err != nil || r.StatusCode != 200 {
					t.Fatalf("status %d, %v", r.StatusCode, err)
				}
				var labels []string
				for i, d := range got.Data {
					if d.Index != i || d.N != 2 {
						t.Errorf("%+v", d)
					}
					labels = append(labels, d.Label)
				}
				if !reflect.DeepEqual(labels, tt.labels) || !reflect.DeepEqual(got.Data[0].Probs, tt.probs) || got.Object != "list" || got.Model != classModel || got.Usage["total_tokens"] == 0 {
					t.Errorf("%+v", got)
				}
			}
		})
	}
	for body, want := range map[string][2]string{
		`{}`:                          {"missing_required_parameter", "input"},
		`{"input":[]}`:                {"invalid_value", "input"},
		`{"messages":[],"input":"a"}`: {"unsupported_parameter", "messages"},
		`{"input":"a","truncate_prompt_tokens":3}`:   {"unsupported_parameter", "truncate_prompt_tokens"},
		`{"model":"` + embedModel + `","input":"a"}`: {"model_not_supported", "model"},
		`{"model":"` + chatModel + `","input":"a"}`:  {"model_not_supported", "model"},
	} {
		wantFailure(t, post(t, s, "/v1/classify", body), 400, want[0], want[1])
	}
}
