// Prints how near each text is to the first, from -1 to 1.
import client from '../client.mjs';

const texts = ['What is the capital of France?', 'What is the capital of Italy?', 'Tell me a story about a cat.'];
const { data } = await client.embeddings.create({ model: 'quern-tiny', input: texts });

// Vectors have length 1, so the cosine is the sum of products.
const first = data[0].embedding;
texts.forEach((text, i) => {
  const near = data[i].embedding.reduce((sum, x, j) => sum + x * first[j], 0);
  console.log(`${near.toFixed(2)}  ${text}`);
});
