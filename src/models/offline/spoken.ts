import type { ProjectedMessage } from '../../transcript/render/conversation.ts';

/** The text of a message in any role. */
export function spokenText(message: ProjectedMessage): string {
  if (message.role === 'tool') return '';
  return message.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n\n');
}

/**
 * The speaker of a message. A summary counts as the user's text in any role; the model's statements about itself are
 * not facts.
 */
export function speakerOf(message: ProjectedMessage): ProjectedMessage['role'] {
  const carried = message.role === 'assistant' && /^\[[^\]\n]{0,80}summary/i.test(spokenText(message));
  return carried ? 'user' : message.role;
}
