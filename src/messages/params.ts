import type { CliMessages } from './params/params-cli.ts';
import type { ClientMessages } from './params/params-client.ts';
import type { CommandMessages } from './params/params-commands.ts';
import type { ConversationMessages } from './params/params-conversations.ts';
import type { InteropMessages } from './params/params-interop.ts';
import type { KeyMessages } from './params/params-keys.ts';
import type { ModelMessages } from './params/params-models.ts';
import type { RequestMessages } from './params/params-requests.ts';
import type { SettingMessages } from './params/params-settings.ts';
import type { CopyMessages, PostgresMessages, StoreMessages } from './params/params-stores.ts';
import type { ToolMessages } from './params/params-tools.ts';
import type { TurnMessages } from './params/params-turns.ts';

/** Every code with the parameters of its text. A new parameter is optional: clients of other versions do not send it. */
export interface MessageParams
  extends CommandMessages,
    ConversationMessages,
    InteropMessages,
    KeyMessages,
    ModelMessages,
    SettingMessages,
    ToolMessages,
    TurnMessages,
    RequestMessages,
    ClientMessages,
    CliMessages,
    StoreMessages,
    CopyMessages,
    PostgresMessages {}

/** A code without parameters. */
export type None = Readonly<Record<never, never>>;
