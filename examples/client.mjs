// The client of the examples. It reads OPENAI_BASE_URL and OPENAI_API_KEY.
import OpenAI from 'openai';

export default new OpenAI({
  baseURL: process.env.OPENAI_BASE_URL ?? 'http://127.0.0.1:8080/v1',
  apiKey: process.env.OPENAI_API_KEY ?? 'none',
});
