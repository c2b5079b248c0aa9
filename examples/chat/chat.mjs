// Prints a reply piece by piece, as the model writes it.
import client from '../client.mjs';

const stream = await client.chat.completions.create({
  model: 'quern-tiny',
  messages: [{ role: 'user', content: 'What is the capital of France?' }],
  temperature: 0,
  stream: true,
});
for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta.content ?? '');
process.stdout.write('\n');
