import { conversation } from '../conversation/open-conversations.ts';
import { channelOf, nameOf } from '../conversation/session-keys.ts';
import { shortTime } from '../i18n/format.ts';
import { type StringName, t } from '../i18n/strings.ts';
import { dialog } from '../shell/dialogs.ts';
import { go } from '../shell/route.ts';
import { setTheme, theme } from '../shell/theme.ts';
import { sessions } from '../sidebar/sessions.ts';
import type { IconName } from '../ui/icon.tsx';

/** A session to open or a command to run. */
export interface Offer {
  readonly id: string;
  readonly label: string;
  readonly icon: IconName;
  readonly note?: string | undefined;
  readonly run: () => void;
}

const MAX_SESSIONS = 6;

/** What matches the typed text, sessions first. Without a text: the newest sessions and all commands. */
export function paletteOffers(text: string): readonly Offer[] {
  const wanted = text.trim().replace(/^[/>]/, '').toLowerCase();
  const isCommand = /^\s*[/>]/.test(text);
  const fits = (label: string): boolean => label.toLowerCase().includes(wanted);
  const named = sessions.value.filter((session) => fits(nameOf(session)));
  const open = named.slice(0, MAX_SESSIONS).map(
    (session): Offer => ({
      id: `session ${session.id}`,
      label: nameOf(session),
      icon: 'send',
      note: [channelOf(session), shortTime(session.lastAt)].filter(Boolean).join(' · '),
      run: () => go({ view: 'session', agentId: session.agentId, sessionId: session.id }),
    }),
  );
  const commands = pageCommands().filter(({ label }) => fits(label));
  return isCommand ? commands : [...open, ...commands];
}

function pageCommands(): readonly Offer[] {
  const current = conversation.value;
  const command = (name: StringName, icon: IconName, run: () => void): Offer => ({
    id: `command ${name}`,
    label: t(name),
    icon,
    run,
  });
  const ofSession =
    current === undefined || current.state.value !== 'ready'
      ? []
      : (['rename', 'tree', 'compact'] as const).map((kind) =>
          command(kind, kind === 'rename' ? 'edit' : kind === 'tree' ? 'tree' : 'fold', () => {
            dialog.value = { kind, conversation: current };
          }),
        );
  return [
    command('newChat', 'plus', () => go({ view: 'new' })),
    ...ofSession,
    command('chats', 'chats', () => go({ view: 'chats' })),
    command('stats', 'stats', () => go({ view: 'stats' })),
    command('theme', 'sun', () => setTheme(nextTheme())),
    command('settings', 'eye', () => {
      dialog.value = { kind: 'settings' };
    }),
    command('helpTitle', 'more', () => {
      dialog.value = { kind: 'help' };
    }),
    command('keys', 'keys', () => {
      dialog.value = { kind: 'keys' };
    }),
  ];
}

function nextTheme(): 'light' | 'dark' {
  const isDark =
    theme.value === 'auto' ? matchMedia('(prefers-color-scheme: dark)').matches : theme.value === 'dark';
  return isDark ? 'light' : 'dark';
}
