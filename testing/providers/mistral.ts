import { judgeChat, judgeToolIds } from './openai-chat.ts';
import { judgeRequest, type Violation } from './violation.ts';

/** OpenAI's chat format with Mistral's tool ids, and no user message before the assistant has read the results. */
export function validateMistral(messages: readonly unknown[]): Violation[] {
  return judgeRequest(messages, (list, report) => {
    const turns = judgeChat(list, report);
    judgeToolIds(turns, report, {
      fits: (id) => /^[a-zA-Z0-9]{9}$/.test(id),
      wanted: 'exactly 9 of [a-zA-Z0-9]',
    });
    let previous: string | undefined;
    for (const { role, at } of turns) {
      if (role === 'user' && previous === 'tool') {
        report('user-after-tool', at, "Unexpected role 'user' after role 'tool'");
      }
      previous = role;
    }
  });
}
