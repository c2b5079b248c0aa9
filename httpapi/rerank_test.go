package httpapi_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"quern/engine"
	"quern/httpapi"
)

// Rerank scores a document by the share of its words the query has.
func (f *fake) Rerank(ctx context.Context, r engine.RerankRequest) (engine.RerankResult, error) {
	var res engine.RerankResult
	for i, d := range r.Documents {
		words := strings.Fields(d)
		found := 0
		for _, w := range words {
			if strings.Contains(" "+r.QueryOf(i)+" ", " "+w+" ") {
				found++
			}
		}
		res.Scores = append(res.Scores, float32(found)/float32(max(1, len(words))))
		res.PromptTokens += len(words) + len(strings.Fields(r.QueryOf(i)))
	}
	if !r.Truncate {
		res.Scores[0] = 9 // tells the test
	}
	return res, ctx.Err()
}

func TestRerank(t *testing.T) {
	s := newServer(t, httpapi.Options{Engine: &fake{}})
	type result struct {
		Index    int
		Score    float32 `json:"relevance_score"`
		Document *struct{ Text string }
	}
	for i, tt := range []struct {
		name, body string
		order      []int
		scores     []float32
		texts      []string
	}{
		{"the best first", `{"query":"red panda","documents":["a bicycle","red panda","a panda"]}`, []int{1, 2, 0}, []float32{1, 0.5, 0}, nil},
		{"the best two", `{"query":"red panda","documents":["a bicycle","red panda","a panda"],"top_n":2}`, []int{1, 2}, []float32{1, 0.5}, nil},
		{"more than there are", `{"query":"red","documents":["red"],"top_n":20}`, []int{0}, []float32{1}, nil},
		{"equal ones as they came", `{"query":"x","documents":["b","a","c"]}`, []int{0, 1, 2}, []float32{0, 0, 0}, nil},
		{"objects, with their texts", `{"model":"stub-embed","query":"panda","documents":[{"text":"a panda","id":7},"panda"],"return_documents":true}`, []int{1, 0}, []float32{1, 0.5}, []string{"panda", "a panda"}},
		{"not cut", `{"query":"x","documents":["b"],"truncate":false}`, []int{0}, []float32{9}, nil},
		{"what asks for nothing", `{"query":"x","documents":["x"],"rank_fields":[],"return_embeddings":false,"truncate_prompt_tokens":-1,"use_activation":true}`, []int{0}, []float32{1}, nil},
		{"nulls are absent", `{"query":"x","documents":["x"],"top_n":null,"return_documents":null,"model":null,"max_tokens_per_doc":9}`, []int{0}, []float32{1}, nil},
	} {
		paths := []string{"/v1/rerank", "/rerank", "/v1/reranking", "/reranking"}
		t.Run(tt.name, func(t *testing.T) {
			resp := post(t, s, paths[i%len(paths)], tt.body)
			var got struct {
				ID, Model string
				Results   []result
				Usage     map[string]int
			}
			if err := json.NewDecoder(resp.Body).Decode(&got); err != nil || resp.StatusCode != 200 {
				t.Fatalf("status %d, %v", resp.StatusCode, err)
			}
			if !strings.HasPrefix(got.ID, "rerank-") || got.Model != embedModel || got.Usage["total_tokens"] == 0 {
				t.Errorf("id %q, model %q, usage %v", got.ID, got.Model, got.Usage)
			}
			var order []int
			var scores []float32
			var texts []string
			for _, r := range got.Results {
				order, scores = append(order, r.Index), append(scores, r.Score)
				if r.Document != nil {
					texts = append(texts, r.Document.Text)
				}
			}
			if !reflect.DeepEqual(order, tt.order) || !reflect.DeepEqual(scores, tt.scores) || !reflect.DeepEqual(texts, tt.texts) {
				t.Errorf("got %v %v %q, want %v %v %q", order, scores, texts, tt.order, tt.scores, tt.texts)
			}
		})
	}
}

func TestRerankInvalid(t *testing.T) {
	s := newServer(t, httpapi.Options{Engine: &fake{}})
	many := `"a"` + strings.Repeat(`,"a"`, 2048)
	for _, tt := range []struct{ name, body, code, param string }{
		{"no query", `{"documents":["a"]}`, "missing_required_parameter", "query"},
		{"an empty query", `{"query":"","documents":["a"]}`, "invalid_value", "query"},
		{"no documents", `{"query":"a"}`, "missing_required_parameter", "documents"},
		{"none of them", `{"query":"a","documents":[]}`, "invalid_value", "documents"},
		{"Cohere's fields", `{"query":"a","documents":[{"text":"a","title":"b"}],"rank_fields":["title"]}`, "unsupported_parameter", "rank_fields"},
		{"Jina's vectors", `{"query":"a","documents":["a"],"return_embeddings":true}`, "unsupported_parameter", "return_embeddings"},
		{"vLLM's cut", `{"query":"a","documents":["a"],"truncate_prompt_tokens":9}`, "unsupported_parameter", "truncate_prompt_tokens"},
		{"a number", `{"query":"a","documents":["a",5]}`, "invalid_type", "documents[1]"},
		{"an object without text", `{"query":"a","documents":[{"title":"a"}]}`, "missing_required_parameter", "documents[0].text"},
		{"too many", `{"query":"a","documents":[` + many + `]}`, "invalid_value", "documents"},
		{"none wanted", `{"query":"a","documents":["a"],"top_n":0}`, "invalid_value", "top_n"},
		{"a model of another kind", `{"query":"a","documents":["a"],"model":"` + voiceModel + `"}`, "model_not_supported", "model"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			wantFailure(t, post(t, s, "/v1/rerank", tt.body), http.StatusBadRequest, tt.code, tt.param)
		})
	}
}

// FuzzRerank sends any body: the answer is an order of what was sent, or a
// well-formed 4xx.
func FuzzRerank(f *testing.F) {
	for _, seed := range []string{
		`{"query":"red panda","documents":["a bicycle",{"text":"red panda"}],"top_n":2,"return_documents":true}`,
		`{"query":"a","documents":[{"text":null}],"top_n":0}`, `{"query":"","documents":[]}`, `{"documents":"a"}`, `{"query":"a","documents":[[]]}`, `[`, "\xff",
	} {
		f.Add(seed)
	}
	a := newAPI(f, httpapi.Options{Engine: &fake{}})
	f.Fuzz(func(t *testing.T, body string) {
		w := httptest.NewRecorder()
		a.ServeHTTP(w, httptest.NewRequest("POST", "http://localhost/v1/rerank", strings.NewReader(body)))
		switch {
		case w.Code == 200:
			var got struct{ Results []struct{ Index int } }
			seen := map[int]bool{}
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || len(got.Results) == 0 {
				t.Fatalf("%s: %v", w.Body, err)
			}
			for _, r := range got.Results {
				if seen[r.Index] {
					t.Errorf("document %d comes twice: %s", r.Index, w.Body)
				}
				seen[r.Index] = true
			}
		case w.Code >= 400 && w.Code < 500:
			var b failure
			if err := json.Unmarshal(w.Body.Bytes(), &b); err != nil || b.Error.Message == "" || b.Error.Code == nil {
				t.Errorf("%d %s: %v", w.Code, w.Body, err)
			}
		default:
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
}

// Cohere's second version has another answer, and errors with a message at the top.
func TestRerankV2(t *testing.T) {
	f := &reranked{fake: &fake{}}
	a := newAPI(t, httpapi.Options{Engine: f})
	w := onTape(t, a, jsonRequest("/v2/rerank", `{"model":"stub-embed","query":"red panda","documents":["a bicycle","red panda","a panda"],"top_n":2,"max_tokens_per_doc":7,"priority":3}`))
	var got struct {
		ID      string
		Results []map[string]any
		Meta    struct {
			Version map[string]string `json:"api_version"`
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != 200 {
		t.Fatalf("%d %v %s", w.Code, err, w.Body)
	}
	want := []map[string]any{{"index": 1.0, "relevance_score": 1.0}, {"index": 2.0, "relevance_score": 0.5}}
	if !reflect.DeepEqual(got.Results, want) || got.ID == "" || got.Meta.Version["version"] != "2" {
		t.Errorf("got %s", w.Body)
	}
	if f.seen.DocumentTokens != 7 || !f.seen.Truncate {
		t.Errorf("asked %+v", f.seen)
	}
	w = onTape(t, a, jsonRequest("/v2/rerank", `{"query":"x"}`))
	var e struct {
		Message string
		Error   struct{ Code, Param string }
	}
	if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || w.Code != 400 || !strings.Contains(e.Message, "documents") || e.Error.Param != "documents" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

type reranked struct {
	*fake
	seen engine.RerankRequest
}

func (f *reranked) Open(ctx context.Context, name string, kinds ...engine.Kind) (engine.Lease, error) {
	return f.lend(ctx, f, name, kinds)
}

func (f *reranked) Rerank(ctx context.Context, r engine.RerankRequest) (engine.RerankResult, error) {
	f.seen = r
	return f.fake.Rerank(ctx, r)
}
