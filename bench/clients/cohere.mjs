// Ranking, scores and classes by clients of Cohere, of Vercel's provider for it, and by what the
// documents of Jina and vLLM send. RERANK_MODEL ranks; where it is not served only refusals are
// looked at.
import { createCohere } from '@ai-sdk/cohere';
import { rerank } from 'ai';
import { CohereClient, CohereClientV2, CohereError } from 'cohere-ai';

import { BASE, KEY, MODEL, assert, check, done } from './check.mjs';

const root = BASE.replace(/\/v1$/, '');
const served = await (await fetch(`${BASE}/models`, { headers: { authorization: `Bearer ${KEY}` } })).json();
const model = served.data.find((m) => m.id === process.env.RERANK_MODEL)?.id;
const query = 'capital of France';
const documents = ['bread', 'the capital of France is Paris', 'a bicycle'];
const v2 = new CohereClientV2({ token: KEY, environment: root });
const v1 = new CohereClient({ token: KEY, environment: root });

// ask sends what a document shows.
async function ask(path, body) {
  const r = await fetch(root + path, {
    method: 'POST', body: JSON.stringify(body), headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
  });
  return { status: r.status, body: await r.json() };
}

await check('cohere: a model that is not there is an error with a message', async () => {
  await assert.rejects(v2.rerank({ model: 'rerank-none', query, documents }), (err) => {
    assert(err instanceof CohereError);
    assert.equal(err.statusCode, 404);
    assert.match(err.body.message, /rerank-none/);
    return true;
  });
});
await check('cohere: nothing to rank is refused', async () => {
  await assert.rejects(v2.rerank({ model: model ?? 'any', query, documents: [] }), (err) => err.statusCode === 400 && /documents/.test(err.body.message));
});
await check('vLLM: classes need a classifier', async () => {
  const r = await ask('/v1/classify', { model: MODEL, input: 'What a lovely day.' });
  assert.equal(r.status, 400);
  assert.match(r.body.error.message, /classification/);
});

if (model) {
  await check('cohere: the second version', async () => {
    const r = await v2.rerank({ model, query, documents, topN: 2 });
    assert.deepEqual(r.results.map((x) => x.index).slice(0, 1), [1]);
    assert.equal(r.results.length, 2);
    assert(r.results[0].relevanceScore > r.results[1].relevanceScore);
    assert.equal(r.meta.apiVersion.version, '2');
  });
  await check('cohere: the first version, with documents', async () => {
    const r = await v1.rerank({ model, query, documents: documents.map((text) => ({ text })), returnDocuments: true, topN: 1 });
    assert.equal(r.results[0].document.text, documents[1]);
  });
  await check('vercel: rerank by its provider for Cohere', async () => {
    const cohere = createCohere({ baseURL: `${root}/v2`, apiKey: KEY });
    const r = await rerank({ model: cohere.reranking(model), query, documents, topN: 2 });
    assert.equal(r.ranking[0].document, documents[1]);
    assert.equal(r.ranking.length, 2);
  });
  await check('jina: what its documents send', async () => {
    const r = await ask('/v1/rerank', { model, query, documents, top_n: 1, return_documents: true });
    assert.equal(r.status, 200);
    assert.deepEqual(r.body.results.map((x) => [x.index, x.document.text]), [[1, documents[1]]]);
    assert(r.body.usage.total_tokens > 0);
  });
  await check('vLLM: scores of pairs, as what is ranked', async () => {
    const ranked = await v2.rerank({ model, query, documents });
    const r = await ask('/v1/score', { model, text_1: query, text_2: documents });
    assert.deepEqual(r.body.data.map((d) => d.index), [0, 1, 2]);
    for (const x of ranked.results) assert(Math.abs(r.body.data[x.index].score - x.relevanceScore) < 1e-6);
    const pairs = await ask('/score', { model, text_1: [query, query], text_2: documents.slice(0, 2) });
    assert.deepEqual(pairs.body.data.map((d) => d.score), r.body.data.slice(0, 2).map((d) => d.score));
  });
}
done();
