import type { ProjectedMessage } from '../../transcript/render/conversation.ts';

/** The words of a message, of whoever said it. */
export function spokenText(message: ProjectedMessage): string {
  if (message.role === 'tool') return '';
  return message.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n\n');
}

/** Whose word it is. A summary is the user's, whoever carries it; what the model said of itself is no fact. */
export function speakerOf(message: ProjectedMessage): ProjectedMessage['role'] {
  const carried = message.role === 'assistant' && /^\[[^\]\n]{0,80}summary/i.test(spokenText(message));
  return carried ? 'user' : message.role;
}
