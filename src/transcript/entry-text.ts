import { contentText } from './content.ts';
import type { Entry } from './entry.ts';
import { isObject, type JsonObject } from './json.ts';

/** The text of an entry for people; empty if it has no text. */
export function entryText(entry: Entry): string {
  const { message, summary, customType, modelId, provider, thinkingLevel, name, label, content, data } =
    entry;
  if (isObject(message)) return messageText(message);
  switch (entry.type) {
    case 'compaction':
    case 'branch_summary':
      return String(summary ?? '');
    case 'model_change':
      return `${String(provider)}/${String(modelId)}`;
    case 'thinking_level_change':
      return String(thinkingLevel);
    case 'session_info':
      return String(name ?? '');
    case 'label':
      return String(label ?? '(removed)');
    case 'custom':
      return customType === 'reprise.lost' ? lostText(data) : String(customType);
    case 'custom_message':
      return contentText(content);
    default:
      return '';
  }
}

function messageText(message: JsonObject): string {
  if (message['role'] !== 'bashExecution') return contentText(message['content']);
  return `$ ${String(message['command'])}\n${String(message['output'] ?? '')}`;
}

function lostText(data: unknown): string {
  const { firstSeq, lastSeq, reason } = isObject(data) ? data : {};
  return `lines ${String(firstSeq)} to ${String(lastSeq)} are lost: ${String(reason)}`;
}
