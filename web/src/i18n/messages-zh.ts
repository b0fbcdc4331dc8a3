import type { MessageTable } from 'reprise/client';
import { CHINESE_CLI } from './messages-zh-cli.ts';
import { CHINESE_CLIENT } from './messages-zh-client.ts';
import { CHINESE_COMMANDS } from './messages-zh-commands.ts';
import { CHINESE_CONVERSATIONS } from './messages-zh-conversations.ts';
import { CHINESE_COPIES } from './messages-zh-copies.ts';
import { CHINESE_INTEROP } from './messages-zh-interop.ts';
import { CHINESE_KEYS } from './messages-zh-keys.ts';
import { CHINESE_MODELS } from './messages-zh-models.ts';
import { CHINESE_POSTGRES } from './messages-zh-postgres.ts';
import { CHINESE_REQUESTS } from './messages-zh-requests.ts';
import { CHINESE_SETTINGS } from './messages-zh-settings.ts';
import { CHINESE_STORES } from './messages-zh-stores.ts';
import { CHINESE_TOOLS } from './messages-zh-tools.ts';
import { CHINESE_TURNS } from './messages-zh-turns.ts';

/** The one table of Chinese texts for what a server reports. Its type makes it complete. */
export const CHINESE: MessageTable = {
  ...CHINESE_COMMANDS,
  ...CHINESE_CONVERSATIONS,
  ...CHINESE_INTEROP,
  ...CHINESE_KEYS,
  ...CHINESE_MODELS,
  ...CHINESE_SETTINGS,
  ...CHINESE_TOOLS,
  ...CHINESE_TURNS,
  ...CHINESE_REQUESTS,
  ...CHINESE_CLIENT,
  ...CHINESE_CLI,
  ...CHINESE_STORES,
  ...CHINESE_COPIES,
  ...CHINESE_POSTGRES,
};
