import { guardModelCall } from 'reprise';
import { estimateMessagesTokens } from 'reprise/context';
import type { AnthropicMessage } from 'reprise/transcript';

/** Stands in for your client: refuses what is too long, in the words of the provider. */
async function create(messages: readonly AnthropicMessage[]): Promise<AnthropicMessage> {
  const tokens = estimateMessagesTokens(messages);
  if (tokens > 2000) throw new Error(`prompt is too long: ${tokens} tokens > 2000 maximum`);
  return {
    role: 'assistant',
    content: `I was sent ${messages.length} messages. ${'So it goes. '.repeat(20)}`,
  };
}

// Your own loop, array and client. The guard wraps only the model call: if the context overflows, it shortens
// large tool results, then replaces the oldest messages with a summary, and retries.
const messages: AnthropicMessage[] = [];
for (let turn = 1; turn <= 40; turn++) {
  messages.push({ role: 'user', content: `Question ${turn}: what comes after ${turn}?` });
  const answer = await guardModelCall({
    messages,
    call: create,
    onStep: ({ step, tokensBefore, tokensAfter }) =>
      console.log(`turn ${turn}: ${step}, ${tokensBefore} -> ${tokensAfter} tokens`),
  });
  messages.push(answer);
}
console.log(
  `40 turns, ${messages.length} messages left, the first begins: ${String(messages[0]?.content).split('\n')[0]}`,
);
