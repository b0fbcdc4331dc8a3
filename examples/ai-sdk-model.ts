import { createAnthropic } from '@ai-sdk/anthropic';
import { openReprise } from 'reprise';
import { openAnthropicServer } from 'reprise/testing';

// A server on the loopback interface that speaks Anthropic's format, so that this runs without a key or a network.
// It refuses requests that break the rules of the real one. With a key, leave it and `baseURL` out.
await using server = await openAnthropicServer({
  script: [{ blocks: [{ type: 'text', text: 'Hello from the wire.' }], usage: { input: 12, output: 5 } }],
});

// Any AI SDK model object is a model.
const model = createAnthropic({ apiKey: 'not-a-key', baseURL: server.url })('claude-sonnet-4-5');
await using reprise = await openReprise({ store: 'memory', model });
const session = await reprise.session('agent:main:main');
const { text, usage } = await session.send('Hello?').result;
console.log(text, `(${usage.input} tokens in, ${usage.output} out)`);
