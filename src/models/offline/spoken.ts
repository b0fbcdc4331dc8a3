import type { ProjectedMessage } from '../../transcript/conversation.ts';

/** The words of a message, of whoever said it. */
export function spokenText(message: ProjectedMessage): string {
  if (message.role === 'tool') return '';
  return message.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n\n');
}
