import type { MessageTable } from 'reprise/client';
import { CHINESE_COMMANDS } from './messages-zh-commands.ts';
import { CHINESE_CONVERSATIONS } from './messages-zh-conversations.ts';
import { CHINESE_REQUESTS } from './messages-zh-requests.ts';

/** The one table of Chinese texts for what a server reports. Its type makes it complete. */
export const CHINESE: MessageTable = { ...CHINESE_COMMANDS, ...CHINESE_CONVERSATIONS, ...CHINESE_REQUESTS };
